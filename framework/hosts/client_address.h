// ClientAddress: from where a request comes when proxies stand in front. A proxy adds to
// X-Forwarded-For the address that it saw, so the list is read from its end: what a trusted proxy
// wrote is believed, and the first address that is no trusted proxy's is the client's. What stands
// before it may be anybody's invention.
//
// Immutable; any Thread.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <turnpike/message.h>

namespace turnpike::hosts {

// A range of addresses, such as "10.0.0.0/8", "2001:db8::/32" or one address (RFC 4632 section 3.1,
// RFC 4291 section 2.3). IPv4 addresses are those of IPv4-mapped IPv6.
class AddressRange {
 public:
  // Nothing: it is no such text, or has bits behind its prefix.
  [[nodiscard]] static std::optional<AddressRange> read(std::string_view text);
  [[nodiscard]] bool has(std::string_view address) const noexcept;

 private:
  using Bytes = std::array<std::uint8_t, 16>;
  [[nodiscard]] static std::optional<Bytes> read_address(std::string_view text) noexcept;

  Bytes first_{};
  std::size_t bits_ = 128;
};

class ClientAddress {
 public:
  explicit ClientAddress(std::vector<AddressRange> proxies) : proxies_(std::move(proxies)) {}

  // `peer`: the address at the other end of the connection, without a port.
  [[nodiscard]] std::string of(std::string_view peer, Headers headers) const;

 private:
  [[nodiscard]] bool is_proxy(std::string_view address) const noexcept;

  const std::vector<AddressRange> proxies_;
};

}  // namespace turnpike::hosts
