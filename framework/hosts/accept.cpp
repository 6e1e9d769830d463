#include "hosts/accept.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>

#include "text/http_field.h"

namespace turnpike::hosts {

namespace {

// "q=0", "q=0.", "q=0.000": the client refuses the coding.
bool is_zero_weight(std::string_view parameters) noexcept {
  const std::size_t at = parameters.find("q=");
  if (at == parameters.npos) return false;
  const std::string_view weight = text::trimmed(parameters.substr(at + 2));
  return weight.starts_with('0') && weight.find_first_not_of("0.") == weight.npos;
}

// ---- Accept

// Weights in thousandths. Of several equally specific ranges the highest weight counts. Parameters
// of media types are ignored, since each form of a page has only one media type.
using Weight = std::optional<std::uint32_t>;

struct Ranges {
  Weight html;
  Weight markdown;
  Weight text;
  Weight all;
  bool are_there = false;  // at least one range, of any type
};

// Returns the part of a field before `mark`, unless `mark` is within quotes (RFC 9110 section
// 5.6.4); sets `rest` to the text behind `mark`.
std::string_view take_until(char mark, std::string_view& rest) noexcept {
  bool is_quoted = false;
  std::size_t at = 0;
  for (; at < rest.size(); ++at) {
    const char c = rest[at];
    if (is_quoted && c == '\\') {
      ++at;
    } else if (c == '"') {
      is_quoted = !is_quoted;
    } else if (c == mark && !is_quoted) {
      break;
    }
  }
  at = std::min(at, rest.size());
  const std::string_view part = rest.substr(0, at);
  rest = rest.substr(std::min(at + 1, rest.size()));
  return part;
}

bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

// Reads a weight such as "0.5"; also accepts ".5" and more than three digits. Nothing: `text` is
// not a weight.
Weight weight_of(std::string_view text) noexcept {
  if (text.empty()) return std::nullopt;
  std::uint32_t weight = 0;
  if (text.front() == '0' || text.front() == '1') {
    weight = text.front() == '1' ? 1'000 : 0;
    text.remove_prefix(1);
    if (text.empty()) return weight;
  }
  if (text.front() != '.') return std::nullopt;
  text.remove_prefix(1);
  std::uint32_t worth = 100;
  for (const char c : text) {
    if (!is_digit(c)) return std::nullopt;
    weight += static_cast<std::uint32_t>(c - '0') * worth;
    worth /= 10;
  }
  return weight <= 1'000 ? Weight(weight) : std::nullopt;
}

// Returns the weight among the parameters of a range; nothing: the weight is malformed. Parameters
// behind the weight do not belong to the range.
Weight weight_among(std::string_view parameters) noexcept {
  while (!parameters.empty()) {
    const std::string_view one = text::trimmed(take_until(';', parameters));
    const std::size_t equals = one.find('=');
    if (equals == one.npos) continue;
    if (same_header_name(one.substr(0, equals), "q")) return weight_of(one.substr(equals + 1));
  }
  return 1'000;
}

void keep_most(Weight& known, Weight found) noexcept {
  known = std::max(known.value_or(0), *found);
}

void read_range(std::string_view element, Ranges& ranges) noexcept {
  const std::string_view type = text::trimmed(take_until(';', element));
  const Weight weight = weight_among(element);
  const std::size_t slash = type.find('/');
  if (!weight || slash == type.npos || !text::is_field_name(type.substr(0, slash)) ||
      !text::is_field_name(type.substr(slash + 1))) {
    return;
  }
  ranges.are_there = true;
  if (same_header_name(type, "text/html")) keep_most(ranges.html, weight);
  if (same_header_name(type, "text/markdown")) keep_most(ranges.markdown, weight);
  if (same_header_name(type, "text/*")) keep_most(ranges.text, weight);
  if (type == "*/*") keep_most(ranges.all, weight);
}

void read_ranges(std::string_view field, Ranges& ranges) noexcept {
  while (!field.empty()) read_range(take_until(',', field), ranges);
}

}  // namespace

bool takes_brotli(Headers headers) noexcept {
  for (const HeaderField& field : headers) {
    if (!same_header_name(field.name, "Accept-Encoding")) continue;
    std::string_view rest = field.value;
    while (!rest.empty()) {
      const std::size_t comma = rest.find(',');
      const std::string_view one = rest.substr(0, comma);
      rest = comma == rest.npos ? std::string_view() : rest.substr(comma + 1);
      const std::size_t semicolon = one.find(';');
      if (text::trimmed(one.substr(0, semicolon)) != "br") continue;
      return semicolon == one.npos || !is_zero_weight(one.substr(semicolon));
    }
  }
  return false;
}

bool choose_brotli(Headers headers, std::string_view brotli, ReplyFields& more) {
  if (brotli.empty() || !takes_brotli(headers)) return false;
  more.add("Content-Encoding", "br");
  return true;
}

PageForm page_form(Headers headers) noexcept {
  Ranges ranges;
  for (const HeaderField& field : headers) {
    if (same_header_name(field.name, "Accept")) read_ranges(field.value, ranges);
  }
  if (!ranges.are_there) return PageForm::html;
  const std::uint32_t by_wildcard = ranges.text.value_or(ranges.all.value_or(0));
  const std::uint32_t html = ranges.html.value_or(by_wildcard);
  const std::uint32_t markdown = ranges.markdown.value_or(by_wildcard);
  const bool names_markdown = ranges.markdown.has_value() && markdown > 0;
  if (names_markdown && markdown >= html) return PageForm::markdown;
  if (html > 0) return PageForm::html;
  return markdown > 0 ? PageForm::markdown : PageForm::neither;
}

}  // namespace turnpike::hosts
