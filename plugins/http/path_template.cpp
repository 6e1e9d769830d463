#include "http/path_template.h"

#include <algorithm>

namespace turnpike::http {

namespace {

bool is_alphanumeric(char letter) noexcept {
  return (letter >= '0' && letter <= '9') || (letter >= 'a' && letter <= 'z') ||
         (letter >= 'A' && letter <= 'Z');
}

bool is_hex_digit(char letter) noexcept {
  return (letter >= '0' && letter <= '9') || (letter >= 'a' && letter <= 'f') ||
         (letter >= 'A' && letter <= 'F');
}

bool is_unreserved(char letter) noexcept {
  return is_alphanumeric(letter) || std::string_view("-._~").find(letter) != std::string_view::npos;
}

// RFC 3986, section 3.3, without the percent-encoded form.
bool is_segment_byte(char letter) noexcept {
  return is_unreserved(letter) ||
         std::string_view("!$&'()*+,;=:@").find(letter) != std::string_view::npos;
}

bool is_escape_at(std::string_view text, std::size_t at) noexcept {
  return text[at] == '%' && at + 2 < text.size() && is_hex_digit(text[at + 1]) &&
         is_hex_digit(text[at + 2]);
}

void append_escaped(std::string& out, char letter) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  const auto byte = static_cast<unsigned char>(letter);
  out += '%';
  out += digits[byte >> 4];
  out += digits[byte & 15];
}

// "." or "..", each dot plain or percent-encoded.
bool is_dot_segment(std::string_view raw) noexcept {
  std::size_t dots = 0;
  for (std::size_t at = 0; at < raw.size(); ++dots) {
    if (raw[at] == '.') {
      at += 1;
    } else if (is_escape_at(raw, at) && raw[at + 1] == '2' && (raw[at + 2] | 0x20) == 'e') {
      at += 3;
    } else {
      return false;
    }
  }
  return dots == 1 || dots == 2;
}

void append_segment(std::string& out, std::string_view raw) {
  for (std::size_t at = 0; at < raw.size(); ++at) {
    if (is_segment_byte(raw[at]) || is_escape_at(raw, at)) {
      out += raw[at];
    } else {
      append_escaped(out, raw[at]);
    }
  }
}

// What is expected instead of this literal text; empty if the text is valid.
std::string problem_of_literal(std::string_view text) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char letter = text[at];
    if (is_segment_byte(letter) || letter == '/' || is_escape_at(text, at)) continue;
    if (letter == '?') return "a path without `?`: the caller's query is appended to it";
    return "a path of URL bytes (RFC 3986); percent-encode the others";
  }
  return {};
}

}  // namespace

std::string percent_encoded(std::string_view text) {
  std::string encoded;
  for (const char letter : text) {
    if (is_unreserved(letter)) {
      encoded += letter;
    } else {
      append_escaped(encoded, letter);
    }
  }
  return encoded;
}

Result<PathTemplate, std::string> PathTemplate::parse(
    std::string_view text, std::span<const std::string_view> parameter_names) {
  if (!text.starts_with('/')) return std::string("a path that begins with `/`");
  PathTemplate parsed;
  while (!text.empty()) {
    const std::size_t open = std::min(text.find('{'), text.size());
    const std::string_view literal = text.substr(0, open);
    std::string problem = problem_of_literal(literal);
    if (!problem.empty()) return problem;
    if (!literal.empty()) parsed.parts_.push_back({false, std::string(literal)});
    text.remove_prefix(open);
    if (text.empty()) break;
    const std::size_t close = text.find('}');
    if (close == std::string_view::npos) return std::string("a `}` for each `{`");
    const std::string_view name = text.substr(1, close - 1);
    if (std::find(parameter_names.begin(), parameter_names.end(), name) == parameter_names.end()) {
      return "parameters of the route's own path; it has no {" + std::string(name) + "}";
    }
    parsed.parts_.push_back({true, std::string(name)});
    text.remove_prefix(close + 1);
  }
  return parsed;
}

// Whether the decoded value contains a dot segment between slashes or backslashes. An upstream that
// decodes a path before it normalises it would then leave the template's path.
static bool climbs(std::string_view value) {
  while (!value.empty()) {
    const std::string_view piece = value.substr(0, value.find_first_of("/\\"));
    if (piece == "." || piece == "..") return true;
    value.remove_prefix(std::min(value.size(), piece.size() + 1));
  }
  return false;
}

bool PathTemplate::append_to(std::string& out, std::span<const PathParameter> values) const {
  for (const Part& part : parts_) {
    if (!part.is_parameter) {
      out += part.text;
      continue;
    }
    const auto value = std::find_if(values.begin(), values.end(), [&](const PathParameter& one) {
      return one.name == part.text;
    });
    if (value == values.end() || is_dot_segment(value->raw) || climbs(value->value)) return false;
    append_segment(out, value->raw);
  }
  return true;
}

}  // namespace turnpike::http
