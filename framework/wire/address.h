// Address: an IP address and port to connect to, and the policy on addresses of upstreams. Plain
// values; pure functions except resolve(), which blocks; safe on any Thread.
#pragma once

#include <netinet/in.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace turnpike::wire {

struct Address {
  union {
    sockaddr any;
    sockaddr_in v4;
    sockaddr_in6 v6;
  } value{};
  [[nodiscard]] socklen_t size() const noexcept;
};

enum class Reach : std::uint8_t {
  everywhere,  // a public unicast address
  nearby,      // loopback, private, link-local, shared, documentation and the like, v4-mapped
  never,       // unspecified, multicast, broadcast, reserved: cannot be connected to
};

// By the special-purpose registries of IANA (RFC 6890 and its updates).
Reach reach_of(const Address& address) noexcept;

// "192.0.2.1" or "2001:db8::1"; nullopt for a name.
std::optional<Address> parse_address(const std::string& text, std::uint16_t port) noexcept;

// Asks the system's resolver; empty when the name has no address or the resolver failed. Blocks.
std::vector<Address> resolve(const std::string& name, std::uint16_t port);

// The parts of an upstream URL. Views into the URL.
struct UpstreamUrl {
  bool is_tls = false;
  std::string_view authority;  // host and port as given
  std::string_view host;       // without brackets
  std::uint16_t port = 0;
  std::string_view target;  // path and query; "/" if the URL has neither
};

// nullopt when the URL is not absolute http or https, or contains user information, a fragment, or
// a byte that is not allowed in a request line.
std::optional<UpstreamUrl> parse_upstream_url(std::string_view url) noexcept;

}  // namespace turnpike::wire
