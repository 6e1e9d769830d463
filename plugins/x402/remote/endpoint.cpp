#include "x402/remote/endpoint.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include <turnpike/helpers/field_rules.h>
#include <turnpike/helpers/mistakes.h>

namespace turnpike::x402 {

namespace {

bool is_alphanumeric(char letter) noexcept {
  return (letter >= '0' && letter <= '9') || (letter >= 'a' && letter <= 'z') ||
         (letter >= 'A' && letter <= 'Z');
}

bool is_set_by_us(std::string_view name) noexcept {
  for (std::string_view own : {"host", "content-type", "accept", "accept-encoding", "expect"}) {
    if (same_header_name(name, own)) return true;
  }
  return is_framing_field(name);
}

// Files with secrets usually end with a line break that is no part of the secret.
std::string without_line_end(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  return text;
}

Failure invalid(std::string_view where, std::string message) {
  return Failure{FailureKind::invalid_settings, std::move(message), std::string(where), false};
}

// Returns what is wrong with a URL, or an empty text.
std::string_view problem_of(std::string_view url, bool may_have_query) noexcept {
  const bool is_https = url.starts_with("https://");
  if (!is_https && !url.starts_with("http://")) {
    return "expected a URL that begins with https:// or http://";
  }
  if (std::any_of(url.begin(), url.end(), [](char letter) {
        return letter <= ' ' || letter == '#' || letter == '"' || letter == '\\' ||
               static_cast<unsigned char>(letter) >= 0x7f;
      })) {
    return "expected a URL of visible ASCII characters without a fragment";
  }
  url.remove_prefix(is_https ? 8 : 7);
  if (!may_have_query && url.find('?') != std::string_view::npos) {
    return "must be scheme, host and path alone, no query";
  }
  const std::string_view authority = url.substr(0, url.find_first_of("/?"));
  if (authority.find('@') != std::string_view::npos) {
    return "must hold no user or password; use `headers`";
  }
  const bool is_host = !authority.empty() && authority.front() != ':' &&
                       std::all_of(authority.begin(), authority.end(), [](char letter) {
                         return is_alphanumeric(letter) ||
                                std::string_view("-._:[]").find(letter) != std::string_view::npos;
                       });
  return is_host ? std::string_view() : "has no valid host";
}

std::string host_of(std::string_view origin) {
  std::string_view host = origin.substr(std::min(origin.find("://"), origin.size() - 3) + 3);
  if (host.starts_with('[')) return std::string(host.substr(1, host.find(']') - 1));
  return std::string(host.substr(0, host.find(':')));
}

bool is_private_ipv4(std::uint32_t address) noexcept {
  const auto is_in = [address](std::uint32_t network, int bits) {
    return address >> (32 - bits) == network >> (32 - bits);
  };
  return is_in(0x00000000, 8) || is_in(0x0A000000, 8) || is_in(0x64400000, 10) ||
         is_in(0x7F000000, 8) || is_in(0xA9FE0000, 16) || is_in(0xAC100000, 12) ||
         is_in(0xC0A80000, 16);
}

// Judges the host as it is written. What a name resolves to is checked when the service is asked.
bool is_private_host(const std::string& host) noexcept {
  if (host == "localhost" || host.ends_with(".localhost")) return true;
  in_addr ipv4{};
  if (inet_pton(AF_INET, host.c_str(), &ipv4) == 1) return is_private_ipv4(ntohl(ipv4.s_addr));
  in6_addr ipv6{};
  if (inet_pton(AF_INET6, host.c_str(), &ipv6) != 1) return false;
  const std::uint8_t* bytes = ipv6.s6_addr;
  if (IN6_IS_ADDR_V4MAPPED(&ipv6)) {
    std::uint32_t inner = 0;
    std::memcpy(&inner, bytes + 12, sizeof(inner));
    return is_private_ipv4(ntohl(inner));
  }
  const bool is_unique_local = (bytes[0] & 0xFE) == 0xFC;
  return IN6_IS_ADDR_LOOPBACK(&ipv6) || IN6_IS_ADDR_UNSPECIFIED(&ipv6) ||
         IN6_IS_ADDR_LINKLOCAL(&ipv6) || is_unique_local;
}

}  // namespace

bool may_have_fields(const Settings& settings) noexcept {
  return settings.kind == Settings::Kind::map || settings.kind == Settings::Kind::null;
}

Result<RemoteUrl> read_url(const Settings& settings, std::string_view key, bool may_be_secret) {
  const Settings* node = settings.find(key);
  if (node == nullptr) return invalid(key, "is required, such as https://service.example");
  if (node->kind != Settings::Kind::scalar || (node->is_secret && !may_be_secret)) {
    return Settings::wrong(key, may_be_secret ? "a URL, or a secret that holds one" : "a URL");
  }
  RemoteUrl url;
  url.text = without_line_end(node->text);
  if (node->is_secret && url.text.empty()) {
    url.lacks_secret = true;
    return url;
  }
  const std::string_view problem = problem_of(url.text, may_be_secret);
  if (!problem.empty()) return invalid(key, std::string(problem));
  if (url.text.find('?') == std::string::npos) {
    while (url.text.ends_with('/')) url.text.pop_back();
  }
  url.origin = url.text.substr(0, url.text.find_first_of("/?", url.text.find("://") + 3));
  return url;
}

Done read_headers(const Settings& headers, std::vector<OwnedHeader>& into, bool& lacks_secret) {
  if (headers.kind == Settings::Kind::null) return Unit{};
  if (headers.kind != Settings::Kind::map) return Settings::wrong({}, "a map of header fields");
  Mistakes mistakes;
  for (const auto& [name, value] : headers.fields) {
    if (!is_token(name)) mistakes.add(name, "is no header name: write letters, digits and `-`");
    if (is_set_by_us(name)) {
      mistakes.add(name, "is a header that the gateway sets itself: leave it out");
    }
    if (value.kind != Settings::Kind::scalar) {
      mistakes.add(Settings::wrong(name, "a string"));
      continue;
    }
    if (value.is_secret && value.text.empty()) {
      lacks_secret = true;
      continue;
    }
    std::string text = without_line_end(value.text);
    if (!is_field_value(text)) {
      mistakes.add(name, "holds bytes that no header may hold: control characters");
    }
    std::erase_if(into, [&name = name](const OwnedHeader& header) {
      return same_header_name(header.name, name);
    });
    into.push_back({name, std::move(text)});
  }
  return mistakes.done();
}

Done read_reach(const Settings& settings, std::string_view key, const RemoteUrl& url, bool& into) {
  auto allow = settings.boolean("allow_private_addresses", false);
  if (!allow.ok()) return std::move(allow).error();
  into = *allow;
  if (into || url.origin.empty() || !is_private_host(host_of(url.origin))) return Unit{};
  return invalid(key,
                 "has an address that is private or of this machine, which is not asked: set "
                 "`allow_private_addresses: true` if it is meant");
}

bool is_in_the_clear(const RemoteUrl& url, bool allows_private_addresses) noexcept {
  return url.origin.starts_with("http://") && !allows_private_addresses;
}

Done read_number(const Settings& settings, std::string_view key, std::uint32_t& into,
                 std::uint32_t minimum, std::uint32_t maximum) {
  auto value = settings.integer(key, into, minimum, maximum);
  if (!value.ok()) return std::move(value).error();
  into = static_cast<std::uint32_t>(*value);
  return Unit{};
}

bool names_network(std::string_view pattern, std::string_view network) noexcept {
  if (!pattern.ends_with(":*")) return pattern == network;
  pattern.remove_suffix(1);
  return network.starts_with(pattern);
}

bool is_network(std::string_view text) noexcept {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos || colon < 3 || colon > 8) return false;
  const std::string_view reference = text.substr(colon + 1);
  return !reference.empty() && reference.size() <= 32 &&
         std::all_of(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(colon),
                     [](char letter) {
                       return letter == '-' || (letter >= '0' && letter <= '9') ||
                              (letter >= 'a' && letter <= 'z');
                     }) &&
         std::all_of(reference.begin(), reference.end(), [](char letter) {
           return letter == '-' || letter == '_' || is_alphanumeric(letter);
         });
}

}  // namespace turnpike::x402
