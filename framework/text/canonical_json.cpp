#include "text/canonical_json.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <vector>

namespace turnpike::text {
namespace {

using nlohmann::json;

// Ranks lead bytes in the order of their UTF-16 code units: the supplementary planes (lead bytes F0
// to F4) are surrogates D800 to DFFF and so come before U+E000 to U+FFFF (EE, EF).
constexpr unsigned utf16_rank(unsigned char byte) noexcept {
  if (byte >= 0xF0) return byte - 2u;
  if (byte >= 0xEE) return byte + 5u;
  return byte;
}

bool append(std::string& out, const json& value, int depth);

// ECMA-262 Number::toString: the shortest digits; the exponent's size decides the position of the
// point.
void append_digits(std::string& out, std::string_view digits, int point) {
  const int count = static_cast<int>(digits.size());
  if (count <= point && point <= 21) {
    out.append(digits).append(static_cast<std::size_t>(point - count), '0');
  } else if (0 < point && point <= 21) {
    out.append(digits.substr(0, static_cast<std::size_t>(point))).push_back('.');
    out.append(digits.substr(static_cast<std::size_t>(point)));
  } else if (-6 < point && point <= 0) {
    out.append("0.").append(static_cast<std::size_t>(-point), '0').append(digits);
  } else {
    out.push_back(digits.front());
    if (count > 1) out.append(".").append(digits.substr(1));
    out.push_back('e');
    out.push_back(point > 0 ? '+' : '-');
    out.append(std::to_string(std::abs(point - 1)));
  }
}

template <class Integer>
bool append_exact(std::string& out, Integer value) {
  const double number = static_cast<double>(value);
  // At 2^63 and 2^64 the conversion back would overflow.
  const double limit = std::is_signed_v<Integer> ? 9223372036854775808.0 : 18446744073709551616.0;
  if (number >= limit || static_cast<Integer>(number) != value) return false;
  return append_canonical_number(out, number);
}

bool append_object(std::string& out, const json& value, int depth) {
  std::vector<const json::object_t::value_type*> members;
  members.reserve(value.size());
  for (const auto& member : value.get_ref<const json::object_t&>()) members.push_back(&member);
  std::sort(members.begin(), members.end(), [](const auto* left, const auto* right) {
    return canonical_key_less(left->first, right->first);
  });
  out.push_back('{');
  for (const auto* member : members) {
    if (member != members.front()) out.push_back(',');
    if (!is_utf8(member->first)) return false;
    append_canonical_string(out, member->first);
    out.push_back(':');
    if (!append(out, member->second, depth + 1)) return false;
  }
  out.push_back('}');
  return true;
}

bool append_array(std::string& out, const json& value, int depth) {
  out.push_back('[');
  bool first = true;
  for (const json& item : value) {
    if (!first) out.push_back(',');
    first = false;
    if (!append(out, item, depth + 1)) return false;
  }
  out.push_back(']');
  return true;
}

bool append(std::string& out, const json& value, int depth) {
  if (depth > canonical_json_depth_max) return false;
  switch (value.type()) {
    case json::value_t::null:
      out.append("null");
      return true;
    case json::value_t::boolean:
      out.append(value.get<bool>() ? "true" : "false");
      return true;
    case json::value_t::number_integer:
      return append_exact(out, value.get<std::int64_t>());
    case json::value_t::number_unsigned:
      return append_exact(out, value.get<std::uint64_t>());
    case json::value_t::number_float:
      return append_canonical_number(out, value.get<double>());
    case json::value_t::string: {
      const std::string& text = value.get_ref<const std::string&>();
      if (!is_utf8(text)) return false;
      append_canonical_string(out, text);
      return true;
    }
    case json::value_t::array:
      return append_array(out, value, depth);
    case json::value_t::object:
      return append_object(out, value, depth);
    case json::value_t::binary:
    case json::value_t::discarded:
      return false;
  }
  return false;
}

void append_escape(std::string& out, unsigned char byte) {
  constexpr char hex_digits[] = "0123456789abcdef";
  constexpr std::string_view short_bytes = "\"\\\b\f\n\r\t";
  constexpr std::string_view short_names = "\"\\bfnrt";
  out.push_back('\\');
  if (const std::size_t found = short_bytes.find(static_cast<char>(byte));
      found != short_bytes.npos) {
    out.push_back(short_names[found]);
  } else {
    out.append("u00").push_back(hex_digits[byte >> 4]);
    out.push_back(hex_digits[byte & 15]);
  }
}

}  // namespace

bool canonical_key_less(std::string_view left, std::string_view right) noexcept {
  const std::size_t shared = std::min(left.size(), right.size());
  for (std::size_t at = 0; at < shared; ++at) {
    const auto left_byte = static_cast<unsigned char>(left[at]);
    const auto right_byte = static_cast<unsigned char>(right[at]);
    if (left_byte != right_byte) return utf16_rank(left_byte) < utf16_rank(right_byte);
  }
  return left.size() < right.size();
}

void append_canonical_string(std::string& out, std::string_view text) {
  out.push_back('"');
  std::size_t plain = 0;  // start of the run of unescaped characters
  for (std::size_t at = 0; at < text.size(); ++at) {
    const auto byte = static_cast<unsigned char>(text[at]);
    if (byte >= 0x20 && byte != '"' && byte != '\\') continue;
    out.append(text, plain, at - plain);
    append_escape(out, byte);
    plain = at + 1;
  }
  out.append(text, plain);
  out.push_back('"');
}

void append_canonical_integer(std::string& out, std::int64_t value) {
  char digits[24];
  const auto [end, problem] = std::to_chars(digits, digits + sizeof(digits), value);
  out.append(digits, end);
}

bool append_canonical_number(std::string& out, double value) {
  if (!std::isfinite(value)) return false;
  if (value == 0) {  // also -0
    out.push_back('0');
    return true;
  }
  if (value < 0) out.push_back('-');
  char text[32];
  const auto [end, problem] =
      std::to_chars(text, text + sizeof(text), std::fabs(value), std::chars_format::scientific);
  const std::string_view written(text, static_cast<std::size_t>(end - text));
  const std::size_t mark = written.find('e');
  std::string digits(written.substr(0, 1));
  if (mark > 2) digits.append(written.substr(2, mark - 2));
  const char* exponent_text = text + mark + 1;
  if (*exponent_text == '+') ++exponent_text;
  int exponent = 0;
  std::from_chars(exponent_text, end, exponent);
  append_digits(out, digits, exponent + 1);
  return true;
}

bool is_utf8(std::string_view text) noexcept {
  const auto* at = reinterpret_cast<const unsigned char*>(text.data());
  const unsigned char* const end = at + text.size();
  const auto continues = [](unsigned char byte) { return (byte & 0xC0) == 0x80; };
  while (at != end) {
    const unsigned char lead = *at;
    const std::ptrdiff_t left = end - at;
    if (lead < 0x80) {
      ++at;
    } else if (lead >= 0xC2 && lead < 0xE0) {
      if (left < 2 || !continues(at[1])) return false;
      at += 2;
    } else if ((lead & 0xF0) == 0xE0) {
      if (left < 3 || !continues(at[1]) || !continues(at[2])) return false;
      if ((lead == 0xE0 && at[1] < 0xA0) || (lead == 0xED && at[1] > 0x9F)) return false;
      at += 3;
    } else if (lead >= 0xF0 && lead <= 0xF4) {
      if (left < 4 || !continues(at[1]) || !continues(at[2]) || !continues(at[3])) return false;
      if ((lead == 0xF0 && at[1] < 0x90) || (lead == 0xF4 && at[1] > 0x8F)) return false;
      at += 4;
    } else {
      return false;
    }
  }
  return true;
}

std::optional<std::string> canonical_json(const nlohmann::json& value) {
  std::string out;
  if (!append(out, value, 0)) return std::nullopt;
  return out;
}

}  // namespace turnpike::text
