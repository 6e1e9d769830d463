// Origins: the web origins ("https://app.example", RFC 6454) whose pages may use a host. Immutable;
// any Thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <turnpike/message.h>

namespace turnpike::hosts {

class Origins {
 public:
  enum class Loopback : bool { as_listed, always };  // http pages of this machine, any port

  // Allows exactly the listed origins; "*" in the list allows all.
  Origins(std::vector<std::string> listed, Loopback loopback = Loopback::as_listed);

  [[nodiscard]] bool allows(std::string_view origin) const noexcept;
  [[nodiscard]] bool allows_all() const noexcept { return allows_all_; }
  [[nodiscard]] bool allows_none() const noexcept {
    return listed_.empty() && loopback_ == Loopback::as_listed;
  }

 private:
  std::vector<std::string> listed_;
  Loopback loopback_;
  bool allows_all_;
};

// Whether a page of the origin `own` sent this request that changes something. Browsers tell by
// Origin or, where that is missing, by Sec-Fetch-Site. "same-site" is not enough: it also covers
// another port of the same host, which gets the same cookies.
bool is_from_own_page(Headers headers, std::string_view own) noexcept;

// Returns the origin of an http or https URL as browsers write it: lower case, without a default
// port. Empty: the URL has no origin, or has user information.
std::string origin_of(std::string_view url);

// The authority of an origin: "mcp.example.com", "127.0.0.1:8403", "[::1]:8403".
constexpr std::string_view authority_of(std::string_view origin) noexcept {
  const std::size_t end = origin.find("://");
  return end == origin.npos ? std::string_view() : origin.substr(end + 3);
}

// Host and port of an authority; the brackets of an IPv6 address are part of the host.
struct HostPort {
  std::string_view host;
  std::string_view port;  // empty: no port
};
constexpr HostPort split_authority(std::string_view authority) noexcept {
  const std::size_t bracket = authority.find(']');
  const std::size_t colon = authority.find(':', bracket == authority.npos ? 0 : bracket);
  if (colon == authority.npos) return {authority, {}};
  return {authority.substr(0, colon), authority.substr(colon + 1)};
}

}  // namespace turnpike::hosts
