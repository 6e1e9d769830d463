// ClientAddress: the client's address when proxies stand in front. A proxy appends to
// X-Forwarded-For the address that it saw, so the list is read from its end: entries of trusted
// proxies are believed, and the first address that is not a trusted proxy's is the client's.
// Entries before that one may be forged.
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
// RFC 4291 section 2.3). IPv4 addresses are held as IPv4-mapped IPv6 addresses.
class AddressRange {
 public:
  // Nothing: `text` is not a range, or has bits set behind its prefix.
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

  // `peer`: the address at the other end of the connection, with its port or without.
  [[nodiscard]] std::string of(std::string_view peer, Headers headers) const;
  // Empty: the peer is no trusted proxy, and so the client itself.
  [[nodiscard]] std::string behind_proxy(std::string_view peer, Headers headers) const;

 private:
  [[nodiscard]] bool is_proxy(std::string_view address) const noexcept;

  const std::vector<AddressRange> proxies_;
};

}  // namespace turnpike::hosts
