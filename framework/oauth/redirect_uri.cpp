#include "oauth/redirect_uri.h"

#include <algorithm>
#include <array>

#include "text/uri.h"

namespace turnpike::oauth {
namespace {

constexpr std::string_view https = "https";
constexpr std::string_view http = "http";
constexpr std::array<std::string_view, 3> loopback_hosts = {"localhost", "127.0.0.1", "[::1]"};

struct Parts {
  std::string_view scheme;
  bool has_authority = false;
  std::string_view host;  // with the brackets of an IPv6 address
  bool has_port = false;
  std::string_view port;
  std::string_view rest;  // path and query
};

bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }
bool is_lower(char c) noexcept { return c >= 'a' && c <= 'z'; }

Parts parts_of(std::string_view uri) noexcept {
  Parts parts;
  const std::size_t colon = std::min(uri.find(':'), uri.size());
  parts.scheme = uri.substr(0, colon);
  uri.remove_prefix(std::min(colon + 1, uri.size()));
  parts.has_authority = uri.starts_with("//");
  if (!parts.has_authority) {
    parts.rest = uri;
    return parts;
  }
  uri.remove_prefix(2);
  const std::size_t end = std::min(uri.find_first_of("/?"), uri.size());
  const std::string_view authority = uri.substr(0, end);
  parts.rest = uri.substr(end);
  // The colon that follows the brackets of an IPv6 address, if there are any.
  const std::size_t port = authority.find(':', std::min(authority.find(']'), authority.size()));
  const std::size_t plain = authority.starts_with('[') ? port : authority.find(':');
  parts.has_port = plain != authority.npos;
  parts.host = authority.substr(0, plain);
  if (parts.has_port) parts.port = authority.substr(plain + 1);
  return parts;
}

// The characters of URIs (RFC 3986 section 2), except '#', which begins a fragment.
bool is_uri_text(std::string_view text) noexcept {
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    const bool is_letter = is_lower(c) || (c >= 'A' && c <= 'Z');
    if (is_letter || is_digit(c)) continue;
    if (c != '%') {
      if (std::string_view("-._~:/?[]@!$&'()*+,;=").find(c) == std::string_view::npos) return false;
      continue;
    }
    const auto is_hex = [](char d) {
      return is_digit(d) || (d >= 'a' && d <= 'f') || (d >= 'A' && d <= 'F');
    };
    if (at + 2 >= text.size() || !is_hex(text[at + 1]) || !is_hex(text[at + 2])) return false;
    at += 2;
  }
  return true;
}

bool is_scheme(std::string_view text) noexcept {
  return !text.empty() && is_lower(text.front()) &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return is_lower(c) || is_digit(c) || c == '+' || c == '-' || c == '.';
         });
}

bool is_port(std::string_view text) noexcept {
  if (text.empty() || text.size() > 5 || text.front() == '0') return false;
  if (!std::all_of(text.begin(), text.end(), is_digit)) return false;
  unsigned port = 0;
  for (const char c : text) port = port * 10 + static_cast<unsigned>(c - '0');
  return port <= 65'535;
}

// Accepts a name, an IPv4 address, or an IPv6 address in brackets.
bool is_host(std::string_view host) noexcept {
  const bool is_address = host.starts_with('[');
  if (is_address) {
    if (host.size() < 4 || !host.ends_with(']')) return false;
    host = host.substr(1, host.size() - 2);
    return std::all_of(host.begin(), host.end(), [](char c) {
      return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F') || c == ':' ||
             c == '.';
    });
  }
  return !host.empty() && std::all_of(host.begin(), host.end(), [](char c) {
    return is_lower(c) || is_digit(c) || (c >= 'A' && c <= 'Z') || c == '-' || c == '.' || c == '_';
  });
}

bool is_loopback(std::string_view host) noexcept {
  return std::find(loopback_hosts.begin(), loopback_hosts.end(), host) != loopback_hosts.end();
}

bool is_on_loopback(const Parts& parts) noexcept {
  return parts.scheme == http && is_loopback(parts.host);
}

std::optional<std::string> fault_in_web_uri(const Parts& parts) {
  if (!parts.has_authority || !is_host(parts.host)) {
    return "it has no host, or one with characters that no host has";
  }
  if (parts.has_port && !is_port(parts.port)) return "its port is none";
  if (parts.scheme == http && !is_loopback(parts.host)) {
    return "http is for localhost, 127.0.0.1 and [::1] alone; use https";
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> fault_in_redirect_uri(std::string_view uri, const RedirectRules& rules) {
  if (uri.empty() || uri.size() > redirect_uri_bytes_max) {
    return "it is empty, or longer than " + std::to_string(redirect_uri_bytes_max) + " bytes";
  }
  if (uri.find('#') != uri.npos) return "it has a fragment";
  if (!is_uri_text(uri)) return "it holds a character or an escape that no URI has";
  if (uri.find('*') != uri.npos) return "it has a *, and is compared byte for byte";
  const Parts parts = parts_of(uri);
  if (parts.scheme.size() == uri.size() || !is_scheme(parts.scheme)) {
    return "it has no scheme in lower case";
  }
  if (parts.scheme == https || parts.scheme == http) return fault_in_web_uri(parts);
  const auto& listed = rules.private_schemes;
  const bool is_private = parts.scheme.find('.') != parts.scheme.npos ||
                          std::find(listed.begin(), listed.end(), parts.scheme) != listed.end();
  if (!is_private) {
    return "its scheme is not https, nor one of a program's own (with a dot, or listed in "
           "oauth.private_schemes)";
  }
  if (parts.rest.empty() && parts.host.empty()) return "it has nothing behind its scheme";
  if (parts.host.find('@') != parts.host.npos || parts.port.find('@') != parts.port.npos) {
    return "it names a user";
  }
  return std::nullopt;
}

bool matches_redirect_uri(std::string_view registered, std::string_view asked) noexcept {
  if (registered == asked) return true;
  if (asked.size() > redirect_uri_bytes_max || !is_uri_text(asked)) return false;
  const Parts left = parts_of(registered);
  const Parts right = parts_of(asked);
  return is_on_loopback(left) && is_on_loopback(right) && left.has_authority &&
         right.has_authority && left.host == right.host && left.rest == right.rest &&
         (!right.has_port || is_port(right.port));
}

std::string redirect_target(std::string_view uri) {
  const Parts parts = parts_of(uri);
  if (is_on_loopback(parts)) return "this computer";
  if (parts.scheme != https) return "the program for " + std::string(parts.scheme) + ": links";
  std::string target(parts.host);
  if (parts.has_port) target.append(":").append(parts.port);
  return target;
}

RedirectAnswer& RedirectAnswer::add(std::string_view name, std::string_view value) {
  if (value.empty()) return *this;
  const bool has_query = text_.find('?') != std::string::npos;
  if (!has_query) {
    text_ += '?';
  } else if (!text_.ends_with('?') && !text_.ends_with('&')) {
    text_ += '&';
  }
  text_.append(name).append("=");
  text::append_percent_encoded(text_, value);
  return *this;
}

}  // namespace turnpike::oauth
