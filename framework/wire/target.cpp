#include "wire/target.h"

#include <algorithm>
#include <array>

namespace turnpike::wire {
namespace {

enum : std::uint8_t { host_character = 1, hex_digit = 2 };

constexpr std::array<std::uint8_t, 256> make_table() {
  std::array<std::uint8_t, 256> table{};
  const auto add = [&table](std::string_view characters, int classes) {
    for (const char c : characters) {
      auto& entry = table[static_cast<unsigned char>(c)];
      entry = static_cast<std::uint8_t>(entry | classes);
    }
  };
  add("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~!$&'()*+,;=",
      host_character);
  add("0123456789abcdefABCDEF", hex_digit);
  return table;
}

constexpr auto table = make_table();

bool is_of(char c, std::uint8_t character_class) noexcept {
  return (table[static_cast<unsigned char>(c)] & character_class) != 0;
}

// reg-name of RFC 3986.
bool is_registered_name(std::string_view text) noexcept {
  const std::size_t size = text.size();
  std::size_t at = 0;
  while (at < size) {
    if (is_of(text[at], host_character)) {
      ++at;
      continue;
    }
    if (text[at] != '%' || size - at < 3 || !is_of(text[at + 1], hex_digit) ||
        !is_of(text[at + 2], hex_digit)) {
      return false;
    }
    at += 3;
  }
  return true;
}

void split_query(std::string_view text, Target& target) noexcept {
  const std::size_t mark = text.find('?');
  target.path = text.substr(0, mark);
  if (mark != std::string_view::npos) {
    target.has_query = true;
    target.query = text.substr(mark + 1);
  }
}

// The length of "http://" or "https://" (schemes are case-insensitive), or 0.
std::size_t scheme_length(std::string_view text) noexcept {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (text.size() < scheme.size()) continue;
    bool same = true;
    for (std::size_t at = 0; at < scheme.size(); ++at) {
      const char c = text[at] >= 'A' && text[at] <= 'Z' ? char(text[at] + 32) : text[at];
      same = same && c == scheme[at];
    }
    if (same) return scheme.size();
  }
  return 0;
}

bool is_port(std::string_view text) noexcept {
  if (text.size() > 5) return false;
  std::uint32_t port = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return false;
    port = port * 10 + static_cast<std::uint32_t>(c - '0');
  }
  return port <= 65'535;
}

}  // namespace

std::optional<Target> split_target(std::string_view text) noexcept {
  Target target;
  if (text.empty()) return std::nullopt;
  if (text.front() == '/') {
    split_query(text, target);
    return target;
  }
  if (text == "*") {
    target.form = TargetForm::asterisk;
    target.path = text;
    return target;
  }
  if (const std::size_t scheme = scheme_length(text); scheme != 0) {
    target.form = TargetForm::absolute;
    const std::string_view rest = text.substr(scheme);
    const std::size_t end = std::min(rest.find_first_of("/?"), rest.size());
    target.authority = rest.substr(0, end);
    if (target.authority.empty() || !is_valid_authority(target.authority)) return std::nullopt;
    split_query(rest.substr(end), target);
    if (target.path.empty()) target.path = "/";
    return target;
  }
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0 || colon + 1 == text.size() ||
      !is_valid_authority(text)) {
    return std::nullopt;
  }
  target.form = TargetForm::authority;
  target.authority = text;
  return target;
}

bool is_valid_authority(std::string_view authority) noexcept {
  if (!authority.empty() && authority.front() == '[') {
    const std::size_t end = authority.find(']');
    if (end == std::string_view::npos || end == 1) return false;
    for (const char c : authority.substr(1, end - 1)) {
      if (!is_of(c, hex_digit) && c != ':' && c != '.') return false;
    }
    const std::string_view rest = authority.substr(end + 1);
    return rest.empty() || (rest.front() == ':' && is_port(rest.substr(1)));
  }
  const std::size_t colon = std::min(authority.find(':'), authority.size());
  if (colon < authority.size() && !is_port(authority.substr(colon + 1))) return false;
  return is_registered_name(authority.substr(0, colon));
}

}  // namespace turnpike::wire
