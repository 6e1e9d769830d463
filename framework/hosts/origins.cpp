#include "hosts/origins.h"

#include <algorithm>
#include <array>
#include <utility>

#include "text/http_field.h"

namespace turnpike::hosts {

namespace {

bool is_port(std::string_view text) noexcept {
  return !text.empty() && text.size() <= 5 &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

bool is_loopback_origin(std::string_view origin) noexcept {
  constexpr std::array<std::string_view, 3> names = {"http://localhost", "http://127.0.0.1",
                                                     "http://[::1]"};
  return std::any_of(names.begin(), names.end(), [origin](std::string_view name) {
    if (!origin.starts_with(name)) return false;
    const std::string_view rest = origin.substr(name.size());
    return rest.empty() || (rest.front() == ':' && is_port(rest.substr(1)));
  });
}

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

}  // namespace

Origins::Origins(std::vector<std::string> listed, Loopback loopback)
    : listed_(std::move(listed)),
      loopback_(loopback),
      allows_all_(std::find(listed_.begin(), listed_.end(), "*") != listed_.end()) {}

bool Origins::allows(std::string_view origin) const noexcept {
  return allows_all_ || std::find(listed_.begin(), listed_.end(), origin) != listed_.end() ||
         (loopback_ == Loopback::always && is_loopback_origin(origin));
}

bool is_from_own_page(Headers headers, std::string_view own) noexcept {
  std::string_view site;
  bool has_origin = false;
  for (const HeaderField& field : headers) {
    if (same_header_name(field.name, "origin")) {
      if (field.value != own) return false;
      has_origin = true;
    } else if (same_header_name(field.name, "sec-fetch-site")) {
      site = field.value;
    }
  }
  return has_origin || site == "same-origin";
}

std::string origin_of(std::string_view url) {
  const std::size_t scheme_end = url.find("://");
  if (scheme_end == url.npos || !text::is_visible_ascii(url)) return {};
  const std::string scheme = lower_case(url.substr(0, scheme_end));
  if (scheme != "http" && scheme != "https") return {};
  const std::string_view rest = url.substr(scheme_end + 3);
  const std::string_view authority = rest.substr(0, rest.find_first_of("/?#"));
  const auto [host, port] = split_authority(authority);
  const bool has_port = host.size() < authority.size();
  if (host.empty() || authority.find('@') != authority.npos || (has_port && !is_port(port))) {
    return {};
  }
  std::string origin = scheme + "://" + lower_case(host);
  if (has_port && port != (scheme == "https" ? "443" : "80")) (origin += ':') += port;
  return origin;
}

}  // namespace turnpike::hosts
