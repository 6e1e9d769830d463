#include "wire/address.h"

#include <arpa/inet.h>
#include <netdb.h>

#include <array>
#include <charconv>
#include <cstring>

#include "text/http_field.h"
#include "wire/grammar.h"
#include "wire/target.h"

namespace turnpike::wire {
namespace {

struct Block4 {
  std::uint32_t network;
  int bits;
  Reach reach;
};

constexpr std::uint32_t v4(unsigned a, unsigned b, unsigned c, unsigned d) {
  return a << 24 | b << 16 | c << 8 | d;
}

constexpr Block4 special_v4[] = {
    {v4(0, 0, 0, 0), 8, Reach::never},         // this network
    {v4(10, 0, 0, 0), 8, Reach::nearby},       // private
    {v4(100, 64, 0, 0), 10, Reach::nearby},    // shared by carriers
    {v4(127, 0, 0, 0), 8, Reach::nearby},      // loopback
    {v4(169, 254, 0, 0), 16, Reach::nearby},   // link-local, cloud metadata
    {v4(172, 16, 0, 0), 12, Reach::nearby},    // private
    {v4(192, 0, 0, 0), 24, Reach::nearby},     // protocol assignments
    {v4(192, 0, 2, 0), 24, Reach::nearby},     // documentation
    {v4(192, 88, 99, 0), 24, Reach::nearby},   // 6to4 relays
    {v4(192, 168, 0, 0), 16, Reach::nearby},   // private
    {v4(198, 18, 0, 0), 15, Reach::nearby},    // benchmarking
    {v4(198, 51, 100, 0), 24, Reach::nearby},  // documentation
    {v4(203, 0, 113, 0), 24, Reach::nearby},   // documentation
    {v4(224, 0, 0, 0), 4, Reach::never},       // multicast
    {v4(240, 0, 0, 0), 4, Reach::never},       // reserved, broadcast
};

Reach reach_of_v4(std::uint32_t address) noexcept {
  for (const Block4& block : special_v4) {
    if ((address ^ block.network) >> (32 - block.bits) == 0) return block.reach;
  }
  return Reach::everywhere;
}

bool begins_with(const in6_addr& address, std::initializer_list<unsigned> bytes) noexcept {
  std::size_t at = 0;
  for (const unsigned byte : bytes) {
    if (address.s6_addr[at++] != byte) return false;
  }
  return true;
}

Reach reach_of_v6(const in6_addr& address) noexcept {
  if (IN6_IS_ADDR_MULTICAST(&address) || IN6_IS_ADDR_UNSPECIFIED(&address)) return Reach::never;
  if (IN6_IS_ADDR_V4MAPPED(&address)) {
    std::uint32_t embedded = 0;
    std::memcpy(&embedded, address.s6_addr + 12, 4);
    return reach_of_v4(ntohl(embedded)) == Reach::never ? Reach::never : Reach::nearby;
  }
  // Global unicast is 2000::/3; all other addresses (loopback, unique local, link-local, NAT64) are
  // nearby.
  if ((address.s6_addr[0] & 0xE0) != 0x20) return Reach::nearby;
  const bool is_special = begins_with(address, {0x20, 0x01, 0x0D, 0xB8}) ||  // documentation
                          begins_with(address, {0x20, 0x02}) ||              // 6to4
                          begins_with(address, {0x3F, 0xFF}) ||              // documentation
                          (begins_with(address, {0x20, 0x01}) && address.s6_addr[2] < 2);  // /23
  return is_special ? Reach::nearby : Reach::everywhere;
}

bool starts_with_scheme(std::string_view url, std::string_view scheme) noexcept {
  return url.size() >= scheme.size() && same_text(url.substr(0, scheme.size()), scheme);
}

}  // namespace

socklen_t Address::size() const noexcept {
  return value.any.sa_family == AF_INET6 ? sizeof(value.v6) : sizeof(value.v4);
}

Reach reach_of(const Address& address) noexcept {
  if (address.value.any.sa_family == AF_INET) {
    return reach_of_v4(ntohl(address.value.v4.sin_addr.s_addr));
  }
  if (address.value.any.sa_family == AF_INET6) return reach_of_v6(address.value.v6.sin6_addr);
  return Reach::never;
}

std::optional<Address> parse_address(const std::string& text, std::uint16_t port) noexcept {
  Address address;
  if (inet_pton(AF_INET, text.c_str(), &address.value.v4.sin_addr) == 1) {
    address.value.v4.sin_family = AF_INET;
    address.value.v4.sin_port = htons(port);
    return address;
  }
  address = {};
  if (inet_pton(AF_INET6, text.c_str(), &address.value.v6.sin6_addr) == 1) {
    address.value.v6.sin6_family = AF_INET6;
    address.value.v6.sin6_port = htons(port);
    return address;
  }
  return std::nullopt;
}

std::vector<Address> resolve(const std::string& name, std::uint16_t port) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_ADDRCONFIG;
  addrinfo* found = nullptr;
  std::vector<Address> addresses;
  if (getaddrinfo(name.c_str(), nullptr, &hints, &found) != 0) return addresses;
  for (const addrinfo* entry = found; entry != nullptr; entry = entry->ai_next) {
    if (entry->ai_addrlen > sizeof(Address::value)) continue;
    Address address;
    std::memcpy(&address.value, entry->ai_addr, entry->ai_addrlen);
    if (entry->ai_family == AF_INET) {
      address.value.v4.sin_port = htons(port);
    } else {
      address.value.v6.sin6_port = htons(port);
    }
    addresses.push_back(address);
  }
  freeaddrinfo(found);
  return addresses;
}

std::optional<UpstreamUrl> parse_upstream_url(std::string_view url) noexcept {
  UpstreamUrl parsed;
  if (starts_with_scheme(url, "https://")) {
    parsed.is_tls = true;
    url.remove_prefix(8);
  } else if (starts_with_scheme(url, "http://")) {
    url.remove_prefix(7);
  } else {
    return std::nullopt;
  }
  if (!text::is_visible_ascii(url) || url.find('#') != url.npos) return std::nullopt;
  const std::size_t end = std::min(url.find_first_of("/?"), url.size());
  parsed.authority = url.substr(0, end);
  parsed.target = end == url.size() ? std::string_view("/") : url.substr(end);
  if (parsed.authority.empty() || parsed.target.front() == '?' ||
      !is_valid_authority(parsed.authority)) {
    return std::nullopt;
  }
  const bool is_bracketed = parsed.authority.front() == '[';
  const std::size_t host_end =
      is_bracketed ? parsed.authority.find(']') + 1 : std::min(parsed.authority.find(':'), end);
  parsed.host = is_bracketed ? parsed.authority.substr(1, host_end - 2)
                             : parsed.authority.substr(0, host_end);
  parsed.port = parsed.is_tls ? 443 : 80;
  const std::string_view port =
      host_end < end ? parsed.authority.substr(host_end + 1) : std::string_view();
  if (!port.empty()) std::from_chars(port.data(), port.data() + port.size(), parsed.port);
  if (parsed.host.empty() || parsed.host.size() > 253 || parsed.port == 0) return std::nullopt;
  return parsed;
}

}  // namespace turnpike::wire
