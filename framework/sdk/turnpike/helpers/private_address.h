// names_private_address(): whether the host of a URL is an IP address of this machine or of a
// private network, or localhost. Http::call() reaches such a host only with
// HttpOptions::allow_private_addresses. Host names are not resolved. For bind(), to warn of
// settings with which no call can succeed; the gateway checks each call by itself. Pure function;
// any Thread.
//
// Helpers are compiled into the plugin that uses them (see mistakes.h).
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace turnpike {

// The IPv4 address "192.0.2.1" as a number.
inline std::optional<std::uint32_t> v4_address(std::string_view text) {
  std::uint32_t address = 0;
  for (int part = 0; part < 4; ++part) {
    std::uint8_t byte = 0;
    const auto [rest, problem] = std::from_chars(text.data(), text.data() + text.size(), byte);
    if (problem != std::errc{}) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(rest - text.data()));
    address = address << 8 | byte;
    if (part == 3) break;
    if (!text.starts_with('.')) return std::nullopt;
    text.remove_prefix(1);
  }
  return text.empty() ? std::optional(address) : std::nullopt;
}

inline bool names_private_address(std::string_view url) {
  const std::size_t scheme = url.find("://");
  if (scheme == url.npos) return false;
  std::string_view host = url.substr(scheme + 3);
  host = host.substr(0, host.find_first_of("/?#"));
  if (host.starts_with('[')) {
    host = host.substr(1, host.find(']') == host.npos ? 0 : host.find(']') - 1);
    // Global unicast is 2000::/3 (RFC 4291, section 2.4).
    return host.size() < 4 || host.find(':') < 4 || (host.front() != '2' && host.front() != '3');
  }
  host = host.substr(0, host.find(':'));
  std::string name;
  for (const char c : host) name += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  // Special-use names of RFC 6761, section 6.3.
  if (name == "localhost" || name.ends_with(".localhost")) return true;
  const auto address = v4_address(host);
  if (!address) return false;
  const auto is_in = [&](std::uint32_t network, int bits) {
    return (*address ^ network) >> (32 - bits) == 0;
  };
  // RFC 1122, 1918, 6598 and 3927: this network, loopback, private, shared, link-local.
  return is_in(0, 8) || is_in(127u << 24, 8) || is_in(10u << 24, 8) ||
         is_in(172u << 24 | 16u << 16, 12) || is_in(192u << 24 | 168u << 16, 16) ||
         is_in(100u << 24 | 64u << 16, 10) || is_in(169u << 24 | 254u << 16, 16);
}

}  // namespace turnpike
