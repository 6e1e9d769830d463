#include "registry/reader.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace turnpike::registry {
namespace {

constexpr std::string_view name_of(NodeKind kind) noexcept {
  constexpr std::string_view names[] = {"nothing", "text", "a list", "a map"};
  return names[static_cast<std::size_t>(kind)];
}

constexpr bool is_name(std::string_view text) noexcept {
  constexpr std::size_t name_bytes_max = 64;
  if (text.empty() || text.size() > name_bytes_max) return false;
  const auto is_word = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  if (!is_word(text.front()) || !is_word(text.back())) return false;
  for (const char c : text) {
    if (!is_word(c) && c != '.' && c != '_' && c != '-') return false;
  }
  return true;
}

}  // namespace

std::optional<std::int64_t> decimal_integer(std::string_view text) noexcept {
  std::string_view digits = text;
  if (digits.starts_with('-')) digits.remove_prefix(1);
  if (digits.empty() || (digits.front() == '0' && text.size() > 1)) return std::nullopt;
  std::int64_t value = 0;
  const auto [rest, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc{} || rest != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<double> decimal_number(std::string_view text) noexcept {
  // Rejects what from_chars accepts beyond JSON: "inf", "nan", ".5", "5." and leading zeros.
  constexpr std::string_view digits = "0123456789";
  std::string_view rest = text;
  if (rest.starts_with('-')) rest.remove_prefix(1);
  const std::size_t whole = std::min(rest.find_first_not_of(digits), rest.size());
  if (whole == 0 || (rest.front() == '0' && whole > 1)) return std::nullopt;
  rest.remove_prefix(whole);
  if (rest.starts_with('.') && rest.find_first_not_of(digits, 1) == 1) return std::nullopt;
  if (rest == ".") return std::nullopt;
  double value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string listed(std::span<const std::string_view> names) {
  std::string out;
  for (const std::string_view name : names) {
    if (!out.empty()) out += ", ";
    out += name;
  }
  return out;
}

std::string Cursor::path() const {
  if (parent_ == nullptr) return std::string(base_);
  std::string out = parent_->path();
  if (key_node_ == nullptr) return out + "[" + std::to_string(index_) + "]";
  if (!out.empty()) out.push_back('.');
  return out.append(key_);
}

void Cursor::report(Rule rule, Names arguments) const {
  problems_->add(rule, place(), path(), arguments);
}

void Cursor::report_key(Rule rule, Names arguments) const {
  problems_->add(rule, tree_->place(key_node_ == nullptr ? *node_ : *key_node_), path(), arguments);
}

bool Cursor::expect(NodeKind kind, std::string_view expected) const {
  if (node_->kind == kind) return true;
  report(Rule::wrong_kind, {expected, name_of(node_->kind)});
  return false;
}

bool Cursor::list_of(std::size_t most, std::string_view expected) const {
  if (!expect(NodeKind::list, expected)) return false;
  std::size_t count = 0;
  for (std::uint32_t at = node_->first_child; at != no_node; at = tree_->at(at).next) ++count;
  if (count <= most) return true;
  report(Rule::too_many_items, {std::to_string(count), std::to_string(most)});
  return false;
}

// A key that could be a lane's name may hold the terms of a lane that is not loaded.
void Cursor::report_unknown(const Node& key, std::span<const std::string_view> known,
                            bool may_be_terms) const {
  const std::string_view text = tree_->text(key);
  const std::string meant = problems_->full() ? std::string() : suggestion(text, known);
  if (may_be_terms && meant.empty() && is_name(text)) {
    return problems_->add(Rule::unclaimed_key, tree_->place(key), path(), {text, listed(known)});
  }
  problems_->add(Rule::unknown_key, tree_->place(key), path(), {text, meant, listed(known)});
}

bool Cursor::map_of(Names known, std::string_view lane, bool takes_terms) const {
  std::vector<std::string_view> names(known);
  if (!lane.empty()) {
    if (std::find(known.begin(), known.end(), lane) != known.end()) {
      report(Rule::lane_name_taken, {lane});
    }
    names.push_back(lane);
  }
  if (node_->kind != NodeKind::map) {
    report(Rule::wrong_kind, {"a map with the keys " + listed(names), name_of(node_->kind)});
    return false;
  }
  for (std::uint32_t at = node_->first_child; at != no_node;) {
    const Node& key = tree_->at(at);
    if (std::find(names.begin(), names.end(), tree_->text(key)) == names.end()) {
      report_unknown(key, names, takes_terms && lane.empty());
    }
    at = tree_->at(key.next).next;
  }
  return true;
}

std::optional<Cursor> Cursor::find(std::string_view key) const {
  if (node_->kind != NodeKind::map) return std::nullopt;
  for (std::uint32_t at = node_->first_child; at != no_node;) {
    const Node& name = tree_->at(at);
    const Node& value = tree_->at(name.next);
    if (tree_->text(name) == key) {
      Cursor found(*this, value);
      found.key_node_ = &name;
      found.key_ = tree_->text(name);
      return found;
    }
    at = value.next;
  }
  return std::nullopt;
}

std::optional<Cursor> Cursor::need(std::string_view key, std::string_view expected) const {
  std::optional<Cursor> found = find(key);
  if (!found) report(Rule::missing_key, {key, expected});
  return found;
}

std::vector<Cursor> Cursor::fields() const {
  std::vector<Cursor> out;
  if (node_->kind != NodeKind::map) return out;
  for (std::uint32_t at = node_->first_child; at != no_node;) {
    const Node& name = tree_->at(at);
    const Node& value = tree_->at(name.next);
    Cursor field(*this, value);
    field.key_node_ = &name;
    field.key_ = tree_->text(name);
    out.push_back(field);
    at = value.next;
  }
  return out;
}

std::vector<Cursor> Cursor::items() const {
  std::vector<Cursor> out;
  if (node_->kind != NodeKind::list) return out;
  std::uint32_t index = 0;
  for (std::uint32_t at = node_->first_child; at != no_node; at = tree_->at(at).next) {
    Cursor item(*this, tree_->at(at));
    item.index_ = index++;
    out.push_back(item);
  }
  return out;
}

std::optional<std::string_view> Cursor::text(std::size_t minimum_bytes,
                                             std::size_t maximum_bytes) const {
  if (!expect(NodeKind::scalar, "text")) return std::nullopt;
  const std::string_view value = raw_text();
  if (value.size() < minimum_bytes || value.size() > maximum_bytes) {
    report(Rule::text_length, {std::to_string(minimum_bytes), std::to_string(maximum_bytes),
                               std::to_string(value.size())});
    return std::nullopt;
  }
  return value;
}

std::optional<std::int64_t> Cursor::integer(Bounds bounds) const {
  if (!expect(NodeKind::scalar, "an integer")) return std::nullopt;
  const std::optional<std::int64_t> value = decimal_integer(raw_text());
  if (node_->quoted || !value || *value < bounds.minimum || *value > bounds.maximum) {
    report(Rule::not_integer,
           {std::to_string(bounds.minimum), std::to_string(bounds.maximum), raw_text()});
    return std::nullopt;
  }
  return value;
}

std::optional<bool> Cursor::boolean() const {
  if (!expect(NodeKind::scalar, "true or false")) return std::nullopt;
  const std::string_view value = raw_text();
  if (node_->quoted || (value != "true" && value != "false")) {
    report(Rule::not_boolean, {value});
    return std::nullopt;
  }
  return value == "true";
}

std::optional<Bounds> Cursor::range(Bounds bounds) const {
  if (!expect(NodeKind::scalar, "MIN..MAX")) return std::nullopt;
  const std::string_view value = raw_text();
  const std::size_t dots = value.find("..");
  if (dots != value.npos) {
    const auto minimum = decimal_integer(value.substr(0, dots));
    const auto maximum = decimal_integer(value.substr(dots + 2));
    if (minimum && maximum && bounds.minimum <= *minimum && *minimum <= *maximum &&
        *maximum <= bounds.maximum) {
      return Bounds{*minimum, *maximum};
    }
  }
  report(Rule::not_range, {std::to_string(bounds.minimum), std::to_string(bounds.maximum), value});
  return std::nullopt;
}

std::optional<NumberBounds> Cursor::number_range() const {
  if (!expect(NodeKind::scalar, "MIN..MAX")) return std::nullopt;
  const std::string_view value = raw_text();
  const std::size_t dots = value.find("..");
  if (dots != value.npos) {
    const auto minimum = decimal_number(value.substr(0, dots));
    const auto maximum = decimal_number(value.substr(dots + 2));
    if (minimum && maximum && *minimum <= *maximum) return NumberBounds{*minimum, *maximum};
  }
  report(Rule::not_number_range, {value});
  return std::nullopt;
}

std::optional<std::size_t> Cursor::one_of(std::span<const std::string_view> choices) const {
  if (!expect(NodeKind::scalar, "one of " + listed(choices))) return std::nullopt;
  for (std::size_t at = 0; at < choices.size(); ++at) {
    if (raw_text() == choices[at]) return at;
  }
  report(Rule::not_one_of, {raw_text(), listed(choices), suggestion(raw_text(), choices)});
  return std::nullopt;
}

std::optional<std::string> Cursor::checked_name(std::string_view text, bool of_key) const {
  if (is_name(text)) return std::string(text);
  constexpr std::string_view form =
      "1 to 64 lower-case letters and digits, with . _ - between them";
  if (of_key) {
    report_key(Rule::bad_name, {text, form});
  } else {
    report(Rule::bad_name, {text, form});
  }
  return std::nullopt;
}

std::optional<std::string> Cursor::name() const {
  if (!expect(NodeKind::scalar, "a name")) return std::nullopt;
  return checked_name(raw_text(), false);
}

std::optional<std::string> Cursor::key_name() const { return checked_name(key_, true); }

}  // namespace turnpike::registry
