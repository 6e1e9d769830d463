#include "registry/no_charge.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include "base/limits.h"
#include "registry/reader.h"
#include "text/canonical_json.h"

namespace turnpike::registry {
namespace {

constexpr std::size_t conditions_max = 16;
constexpr std::string_view shape = "`empty_body`, {empty_at: POINTER} or {upstream_over_ms: N}";

std::optional<NoCharge> read_pointer(const Cursor& value) {
  const auto text = value.text(0, text::JsonPointer::bytes_max);
  if (!text) return std::nullopt;
  if (auto pointer = text::JsonPointer::parse(*text)) return EmptyAt{*std::move(pointer)};
  value.report(Rule::bad_pointer, {*text});
  return std::nullopt;
}

std::optional<NoCharge> read_condition(const Cursor& item) {
  if (item.kind() == NodeKind::scalar) {
    constexpr std::string_view names[] = {"empty_body"};
    if (!item.one_of(names)) return std::nullopt;
    return EmptyBody{};
  }
  if (!item.expect(NodeKind::map, shape) || !item.map_of({"empty_at", "upstream_over_ms"})) {
    return std::nullopt;
  }
  const auto pointer = item.find("empty_at");
  const auto over = item.find("upstream_over_ms");
  if ((pointer && over) || item.fields().empty()) {
    item.report(Rule::no_charge_shape, {shape});
    return std::nullopt;
  }
  if (pointer) return read_pointer(*pointer);
  if (!over) return std::nullopt;  // an unknown key was reported
  const auto ms = over->integer({1, base::limits::upstream_deadline_ms_max});
  if (!ms) return std::nullopt;
  return UpstreamOver{static_cast<std::uint32_t>(*ms)};
}

std::string words_of(const NoCharge& condition) {
  if (const auto* at = std::get_if<EmptyAt>(&condition)) return "empty_at: " + at->pointer.text();
  if (const auto* over = std::get_if<UpstreamOver>(&condition)) {
    return "upstream_over_ms: " + std::to_string(over->ms);
  }
  return "empty_body";
}

}  // namespace

void append_canonical(std::string& out, const NoCharge& condition) {
  if (const auto* at = std::get_if<EmptyAt>(&condition)) {
    out += R"({"kind":"empty_at","pointer":)";
    text::append_canonical_string(out, at->pointer.text());
  } else if (const auto* over = std::get_if<UpstreamOver>(&condition)) {
    out += R"({"kind":"upstream_over","ms":)";
    text::append_canonical_integer(out, over->ms);
  } else {
    out += R"({"kind":"empty_body")";
  }
  out += '}';
}

NoCharges joined(const NoCharges& left, const NoCharges& right) {
  NoCharges all;
  std::set_union(left.begin(), left.end(), right.begin(), right.end(), std::back_inserter(all));
  return all;
}

NoCharges read_no_charge(const Cursor& list) {
  NoCharges conditions;
  if (!list.list_of(conditions_max, "a list of conditions")) return conditions;
  for (const Cursor& item : list.items()) {
    auto condition = read_condition(item);
    if (!condition) continue;
    const auto at = std::lower_bound(conditions.begin(), conditions.end(), *condition);
    if (at != conditions.end() && *at == *condition) {
      item.report(Rule::duplicate_item, {words_of(*condition)});
    } else {
      conditions.insert(at, *std::move(condition));
    }
  }
  return conditions;
}

}  // namespace turnpike::registry
