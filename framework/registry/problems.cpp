#include "registry/problems.h"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "base/limits.h"

namespace turnpike::registry {
namespace {

constexpr std::size_t suggestion_bytes_max = 256;
constexpr std::size_t differing_bytes_max = 64;  // longest middle part that is compared
constexpr std::size_t candidates_max = 1'024;

// Levenshtein distance with adjacent transpositions (optimal string alignment); both texts are at
// most differing_bytes_max long.
std::size_t distance(std::string_view left, std::string_view right) {
  using Row = std::array<std::size_t, differing_bytes_max + 1>;
  Row before{}, above{}, row{};
  for (std::size_t column = 0; column <= right.size(); ++column) above[column] = column;
  for (std::size_t line = 1; line <= left.size(); ++line) {
    row[0] = line;
    for (std::size_t column = 1; column <= right.size(); ++column) {
      const bool same = left[line - 1] == right[column - 1];
      row[column] =
          std::min({above[column] + 1, row[column - 1] + 1, above[column - 1] + (same ? 0 : 1)});
      if (line > 1 && column > 1 && left[line - 1] == right[column - 2] &&
          left[line - 2] == right[column - 1]) {
        row[column] = std::min(row[column], before[column - 2] + 1);
      }
    }
    before = above;
    above = row;
  }
  return above[right.size()];
}

// Removes the common prefix and suffix, which does not change the distance.
void trim_alike(std::string_view& left, std::string_view& right) {
  const auto head = std::mismatch(left.begin(), left.end(), right.begin(), right.end());
  const auto same = static_cast<std::size_t>(head.first - left.begin());
  left.remove_prefix(same);
  right.remove_prefix(same);
  const auto tail = std::mismatch(left.rbegin(), left.rend(), right.rbegin(), right.rend());
  const auto also_same = static_cast<std::size_t>(tail.first - left.rbegin());
  left.remove_suffix(also_same);
  right.remove_suffix(also_same);
}

// Replaces characters that are unsafe on an operator's terminal.
void append_printable(std::string& out, std::string_view text) {
  constexpr std::size_t shown_bytes_max = 400;
  constexpr char hex_digits[] = "0123456789abcdef";
  std::size_t shown = std::min(text.size(), shown_bytes_max);
  while (shown < text.size() && (static_cast<unsigned char>(text[shown]) & 0xC0) == 0x80) --shown;
  for (const char character : text.substr(0, shown)) {
    const auto byte = static_cast<unsigned char>(character);
    if (byte >= 0x20 && byte != 0x7F) {
      out.push_back(character);
    } else {
      out.append("\\x");
      out.push_back(hex_digits[byte >> 4]);
      out.push_back(hex_digits[byte & 15]);
    }
  }
  if (shown < text.size()) out.append("...");
}

}  // namespace

std::string fill(std::string_view sentence, std::initializer_list<std::string_view> arguments) {
  std::string out;
  const auto* argument = arguments.begin();
  for (const char character : sentence) {
    if (character == '%' && argument != arguments.end()) {
      append_printable(out, *argument++);
    } else {
      out.push_back(character);
    }
  }
  return out;
}

std::string suggestion(std::string_view name, std::span<const std::string_view> known) {
  if (name.empty() || name.size() > suggestion_bytes_max) return {};
  std::string_view nearest;
  std::size_t least = std::max<std::size_t>(1, name.size() / 3) + 1;
  for (const std::string_view candidate : known.first(std::min(known.size(), candidates_max))) {
    if (candidate.size() > suggestion_bytes_max) continue;
    std::string_view wanted = name;
    std::string_view known_as = candidate;
    trim_alike(wanted, known_as);
    if (std::max(wanted.size(), known_as.size()) > differing_bytes_max) continue;
    const std::size_t apart = distance(wanted, known_as);
    if (apart < least) {
      least = apart;
      nearest = candidate;
    }
  }
  if (nearest.empty()) return {};
  return "; did you mean \"" + std::string(nearest) + "\"?";
}

std::string Problem::text() const {
  std::string out = file;
  if (line > 0) out += ":" + std::to_string(line);
  if (line > 0 && column > 0) out += ":" + std::to_string(column);
  if (!out.empty()) out += ": ";
  if (!path.empty()) out += path + ": ";
  return out + message;
}

bool Problems::full() const noexcept { return kept_.size() >= base::limits::registry_problems_max; }

void Problems::add(Rule rule, const Place& place, std::string path,
                   std::initializer_list<std::string_view> arguments) {
  ++count_;
  if (full()) return;
  const RuleInfo& info = rule_infos[static_cast<std::size_t>(rule)];
  Problem problem;
  problem.rule = info.name;
  if (place.file < sources_.size()) problem.file = sources_[place.file].name;
  problem.line = static_cast<int>(place.line);
  problem.column = static_cast<int>(place.column);
  append_printable(problem.path, path);
  problem.message = fill(info.sentence, arguments);
  kept_.push_back(std::move(problem));
}

std::string Problems::text_of(const Place& place) const {
  return sources_[place.file].name + ":" + std::to_string(place.line);
}

SourcePlace Problems::source_of(const Place& place) const {
  return {sources_[place.file].name, static_cast<int>(place.line), static_cast<int>(place.column)};
}

std::vector<Problem> Problems::take() {
  std::stable_sort(kept_.begin(), kept_.end(), [](const Problem& left, const Problem& right) {
    return std::tie(left.file, left.line, left.column) <
           std::tie(right.file, right.line, right.column);
  });
  if (count_ > kept_.size()) {
    const RuleInfo& info = rule_infos[static_cast<std::size_t>(Rule::more_problems)];
    Problem last;
    last.rule = info.name;
    last.file = kept_.back().file;
    last.message = fill(info.sentence, {std::to_string(count_ - kept_.size())});
    kept_.push_back(std::move(last));
  }
  return std::move(kept_);
}

}  // namespace turnpike::registry
