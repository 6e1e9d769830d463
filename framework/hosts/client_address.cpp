#include "hosts/client_address.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>

#include "hosts/origins.h"
#include "text/http_field.h"

namespace turnpike::hosts {

namespace {

constexpr std::size_t ipv4_offset = 12;  // of an IPv4 address within an IPv4-mapped one
constexpr std::size_t ipv4_prefix_bits = 8 * ipv4_offset;
constexpr std::size_t address_text_max = 45;

// Some proxies add ports, and brackets around IPv6 addresses.
std::string_view without_port(std::string_view text) noexcept {
  if (text.starts_with('[')) {
    const std::size_t close = text.find(']');
    return close == text.npos ? text : text.substr(1, close - 1);
  }
  const bool has_one_colon = std::count(text.begin(), text.end(), ':') == 1;
  return has_one_colon ? text.substr(0, text.find(':')) : text;
}

// The elements of all X-Forwarded-For fields, in their order (RFC 9110 section 5.3).
std::vector<std::string_view> forwarded_for(Headers headers) {
  std::vector<std::string_view> elements;
  for (const HeaderField& field : headers) {
    if (!same_header_name(field.name, "X-Forwarded-For")) continue;
    std::string_view rest = field.value;
    for (bool more = true; more;) {
      const std::size_t comma = rest.find(',');
      elements.push_back(without_port(text::trimmed(rest.substr(0, comma))));
      more = comma != rest.npos;
      if (more) rest.remove_prefix(comma + 1);
    }
  }
  return elements;
}

}  // namespace

std::optional<AddressRange::Bytes> AddressRange::read_address(std::string_view text) noexcept {
  char terminated[address_text_max + 1] = {};
  if (text.size() > address_text_max) return std::nullopt;
  std::copy(text.begin(), text.end(), terminated);
  Bytes bytes{};
  if (inet_pton(AF_INET6, terminated, bytes.data()) == 1) return bytes;
  bytes[ipv4_offset - 2] = bytes[ipv4_offset - 1] = 0xFF;
  if (inet_pton(AF_INET, terminated, bytes.data() + ipv4_offset) == 1) return bytes;
  return std::nullopt;
}

std::optional<AddressRange> AddressRange::read(std::string_view text) {
  const std::size_t slash = text.find('/');
  const std::string_view address = text.substr(0, slash);
  const auto bytes = read_address(address);
  if (!bytes) return std::nullopt;
  AddressRange range;
  range.first_ = *bytes;
  if (slash == text.npos) return range;
  const std::string_view digits = text.substr(slash + 1);
  const bool is_v4 = address.find(':') == address.npos;
  std::size_t bits = 0;
  const char* const end = digits.data() + digits.size();
  const auto [rest, problem] = std::from_chars(digits.data(), end, bits);
  if (problem != std::errc() || rest != end || bits > (is_v4 ? 32u : 128u)) return std::nullopt;
  range.bits_ = bits + (is_v4 ? ipv4_prefix_bits : 0);
  for (std::size_t bit = range.bits_; bit < 128; ++bit) {
    if ((range.first_[bit / 8] >> (7 - bit % 8) & 1) != 0) return std::nullopt;
  }
  return range;
}

bool AddressRange::has(std::string_view address) const noexcept {
  const auto bytes = read_address(address);
  if (!bytes) return false;
  const std::size_t whole = bits_ / 8;
  if (!std::equal(first_.begin(), first_.begin() + static_cast<std::ptrdiff_t>(whole),
                  bytes->begin())) {
    return false;
  }
  const std::size_t rest = bits_ % 8;
  return rest == 0 || ((first_[whole] ^ (*bytes)[whole]) >> (8 - rest)) == 0;
}

std::string ClientAddress::of(std::string_view peer, Headers headers) const {
  std::string client = behind_proxy(peer, headers);
  return client.empty() ? std::string(without_port(peer)) : client;
}

std::string ClientAddress::behind_proxy(std::string_view peer, Headers headers) const {
  if (proxies_.empty() || !is_proxy(without_port(peer))) return {};
  const std::vector<std::string_view> elements = forwarded_for(headers);
  std::string_view last = without_port(peer);
  for (auto element = elements.rbegin(); element != elements.rend(); ++element) {
    if (!AddressRange::read(*element) || element->find('/') != element->npos) break;
    last = *element;
    if (!is_proxy(last)) break;
  }
  return std::string(last);
}

bool ClientAddress::is_proxy(std::string_view address) const noexcept {
  return std::any_of(proxies_.begin(), proxies_.end(),
                     [&](const AddressRange& range) { return range.has(address); });
}

}  // namespace turnpike::hosts
