#include "x402/offers/canonical_json.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>
#include <vector>

namespace turnpike::x402 {
namespace {

// Ranks lead bytes in the order of the UTF-16 units that they stand for. The supplementary planes
// (F0 to F4) are surrogates in UTF-16 and so come before U+E000 to U+FFFF (EE, EF).
constexpr int utf16_rank(char c) noexcept {
  const int byte = static_cast<unsigned char>(c);
  return byte >= 0xF0 ? byte - 2 : byte >= 0xEE ? byte + 5 : byte;
}

bool name_less(const std::string& left, const std::string& right) {
  return std::lexicographical_compare(left.begin(), left.end(), right.begin(), right.end(),
                                      [](char a, char b) { return utf16_rank(a) < utf16_rank(b); });
}

// ECMA-262 Number::toString: the shortest digits that read back as the same double, with an
// exponent from 1e21 up and below 1e-6.
void append_number(std::string& out, double value) {
  if (value == 0) {  // also -0
    out.push_back('0');
    return;
  }
  if (value < 0) out.push_back('-');
  char text[32];
  const char* const end =
      std::to_chars(text, text + sizeof text, std::fabs(value), std::chars_format::scientific).ptr;
  const char* const mark = std::find(static_cast<const char*>(text), end, 'e');
  std::string digits(static_cast<const char*>(text), mark);
  if (digits.size() > 1) digits.erase(1, 1);  // remove the point
  int exponent = 0;
  std::from_chars(mark[1] == '+' ? mark + 2 : mark + 1, end, exponent);
  const int count = static_cast<int>(digits.size());
  const int point = exponent + 1;  // digits before the decimal point
  if (point > 21 || point <= -6) {
    if (count > 1) digits.insert(1, ".");
    out.append(digits).append(exponent > 0 ? "e+" : "e").append(std::to_string(exponent));
  } else if (point >= count) {
    out.append(digits).append(static_cast<std::size_t>(point - count), '0');
  } else if (point > 0) {
    out.append(digits.insert(static_cast<std::size_t>(point), "."));
  } else {
    out.append("0.").append(static_cast<std::size_t>(-point), '0').append(digits);
  }
}

bool append(std::string& out, JsonValue value);

bool append_object(std::string& out, JsonValue object) {
  std::vector<std::pair<std::string, JsonValue>> members;
  for (const auto member : object) members.emplace_back(member.name.string(), member.value);
  std::sort(members.begin(), members.end(),
            [](const auto& left, const auto& right) { return name_less(left.first, right.first); });
  out.push_back('{');
  for (const auto& [name, value] : members) {
    if (out.back() != '{') out.push_back(',');
    append_json_string(out, name);
    out.push_back(':');
    if (!append(out, value)) return false;
  }
  out.push_back('}');
  return true;
}

bool append_array(std::string& out, JsonValue array) {
  out.push_back('[');
  for (const auto item : array) {
    if (out.back() != '[') out.push_back(',');
    if (!append(out, item.value)) return false;
  }
  out.push_back(']');
  return true;
}

bool append(std::string& out, JsonValue value) {
  switch (value.kind()) {
    case JsonKind::absent:
      return false;
    case JsonKind::null:
    case JsonKind::boolean:
      out.append(value.text());
      return true;
    case JsonKind::number:
      if (!std::isfinite(*value.number())) return false;
      append_number(out, *value.number());
      return true;
    case JsonKind::string:
      append_json_string(out, value.string());
      return true;
    case JsonKind::array:
      return append_array(out, value);
    case JsonKind::object:
      return append_object(out, value);
  }
  return false;
}

}  // namespace

std::optional<std::string> canonical_json(JsonValue value) {
  std::string out;
  if (!append(out, value)) return std::nullopt;
  return out;
}

}  // namespace turnpike::x402
