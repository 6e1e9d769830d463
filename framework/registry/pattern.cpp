#include "registry/pattern.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/limits.h"

namespace turnpike::registry {
namespace {

constexpr bool is_unreserved(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '.' || c == '_' || c == '~';
}

// A pchar of RFC 3986 section 3.3, without escapes.
constexpr bool is_path_character(char c) noexcept {
  return is_unreserved(c) || std::string_view("!$&'()*+,;=:@").find(c) != std::string_view::npos;
}

void append_encoded(std::string& out, std::string_view literal) {
  constexpr char hex_digits[] = "0123456789ABCDEF";
  for (const char character : literal) {
    if (is_path_character(character)) {
      out.push_back(character);
    } else {
      const auto byte = static_cast<unsigned char>(character);
      out.push_back('%');
      out.push_back(hex_digits[byte >> 4]);
      out.push_back(hex_digits[byte & 15]);
    }
  }
}

bool is_parameter_name(std::string_view name) noexcept {
  constexpr std::size_t name_bytes_max = 64;
  if (name.empty() || name.size() > name_bytes_max) return false;
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  if (!is_letter(name.front())) return false;
  for (const char c : name) {
    if (!is_letter(c) && (c < '0' || c > '9') && c != '_' && c != '-') return false;
  }
  return true;
}

// The fault of a literal segment as written, or empty. `decoded` gets its value.
std::string_view fault_of_literal(std::string_view raw, std::string& decoded) {
  if (raw.empty()) return "an empty segment";
  for (const char character : raw) {
    if (character == '{' || character == '}') return "a parameter that is not a whole segment";
    if (character != '%' && !is_path_character(character)) {
      return "a character that must be written as %XX";
    }
  }
  decoded.resize(raw.size());
  const std::optional<std::size_t> length = decode_segment(raw, decoded.data());
  if (!length) return "a bad escape";
  decoded.resize(*length);
  if (decoded == "." || decoded == "..") return "a dot segment";
  if (decoded.find_first_of("/\\") != decoded.npos) return "an encoded slash in a literal";
  return {};
}

std::string_view fault_of_parameter(std::string_view name, const Matcher& matcher) {
  if (!is_parameter_name(name))
    return "a parameter name that is not a letter and up to 63 letters, digits, _ and -";
  for (const Segment& segment : matcher.segments) {
    if (segment.is_parameter && segment.text == name) return "the same parameter twice";
  }
  return {};
}

// Escapes a final ":free": at the end of a request's path this suffix selects the free variant and
// never reaches the matcher.
std::string encoded_last(const std::string& literal) {
  constexpr std::string_view suffix = ":free";
  std::string out;
  if (literal.ends_with(suffix)) {
    append_encoded(out, std::string_view(literal).substr(0, literal.size() - suffix.size()));
    return out + "%3Afree";
  }
  append_encoded(out, literal);
  return out;
}

void write_pattern(Matcher& matcher) {
  for (std::size_t at = 0; at < matcher.segments.size(); ++at) {
    const Segment& segment = matcher.segments[at];
    matcher.pattern.push_back('/');
    if (segment.is_parameter) {
      matcher.pattern.append("{").append(segment.text).append("}");
    } else if (at + 1 == matcher.segments.size()) {
      matcher.pattern += encoded_last(segment.text);
    } else {
      append_encoded(matcher.pattern, segment.text);
    }
  }
}

bool within_limits(const Matcher& matcher, std::size_t path_bytes, const Cursor& where) {
  namespace limits = base::limits;
  std::size_t parameters = 0;
  for (const Segment& segment : matcher.segments) parameters += segment.is_parameter ? 1 : 0;
  const auto check = [&](std::size_t count, std::size_t most, std::string_view what) {
    if (count <= most) return true;
    where.report(Rule::path_too_long, {std::to_string(count), what, std::to_string(most)});
    return false;
  };
  return check(path_bytes, limits::request_path_bytes_max, "bytes") &&
         check(matcher.segments.size(), limits::route_segments_max, "segments") &&
         check(parameters, limits::route_parameters_max, "parameters");
}

}  // namespace

std::optional<Matcher> read_pattern(std::string_view path, const Cursor& where) {
  if (!path.starts_with(gateway_prefix)) {
    where.report(Rule::path_prefix, {path});
    return std::nullopt;
  }
  Matcher matcher;
  matcher.is_exact = true;
  matcher.segments.reserve(static_cast<std::size_t>(std::count(path.begin(), path.end(), '/')));
  std::string_view rest = path;
  while (!rest.empty()) {
    rest.remove_prefix(1);  // the slash
    const std::string_view raw = rest.substr(0, rest.find('/'));
    rest.remove_prefix(raw.size());
    Segment segment;
    segment.is_parameter = raw.size() > 1 && raw.front() == '{' && raw.back() == '}';
    std::string_view fault;
    if (segment.is_parameter) {
      segment.text = raw.substr(1, raw.size() - 2);
      fault = fault_of_parameter(segment.text, matcher);
      matcher.is_exact = false;
    } else {
      fault = fault_of_literal(raw, segment.text);
      if (fault.empty() && rest.empty() && raw.ends_with(":free")) {
        fault = "the suffix :free, which selects the free variant (write %3Afree for a literal)";
      }
    }
    if (!fault.empty()) {
      where.report(Rule::path_shape, {fault, path});
      return std::nullopt;
    }
    matcher.segments.push_back(std::move(segment));
  }
  if (!within_limits(matcher, path.size(), where)) return std::nullopt;
  write_pattern(matcher);
  return matcher;
}

}  // namespace turnpike::registry
