#include "hosts/cookie.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "text/http_field.h"
#include "text/uri.h"

namespace turnpike::hosts {

namespace {

// cookie-octet (RFC 6265 section 4.1.1)
bool is_cookie_octet(char c) noexcept {
  return c > 0x20 && c < 0x7F && c != '"' && c != ',' && c != ';' && c != '\\';
}

bool is_cookie_value(std::string_view text) noexcept {
  return std::all_of(text.begin(), text.end(), is_cookie_octet);
}

bool is_cookie_path(std::string_view path) noexcept {
  return path.starts_with('/') && text::path_fault(path) == path.npos &&
         path.find(';') == path.npos;
}

// Browsers compare these prefixes case-insensitively.
bool has_prefix(std::string_view name, std::string_view prefix) noexcept {
  return name.size() >= prefix.size() && same_header_name(name.substr(0, prefix.size()), prefix);
}

std::string_view name_of(SameSite same_site) noexcept {
  constexpr std::string_view names[] = {"Lax", "Strict", "None"};
  return names[static_cast<std::size_t>(same_site)];
}

base::Error rejected(const std::string& name, std::string problem) {
  return {base::ErrorCode::request_malformed,
          "A cookie is not as this host sets it.",
          0,
          {{"header.cookie." + name, std::move(problem),
            "Remove the cookies of this site, and repeat the request."}}};
}

}  // namespace

Cookie::Cookie(CookieFacts facts) : facts_(std::move(facts)) {
  const bool is_of_host = has_prefix(facts_.name, "__Host-");
  const bool needs_secure =
      is_of_host || has_prefix(facts_.name, "__Secure-") || facts_.same_site == SameSite::none;
  if (!text::is_field_name(facts_.name) || !is_cookie_path(facts_.path) ||
      (needs_secure && !facts_.is_secure) || (is_of_host && facts_.path != "/")) {
    throw std::invalid_argument("no browser keeps a cookie '" + facts_.name +
                                "' with these attributes");
  }
}

Result<std::optional<std::string_view>, base::Error> Cookie::read(Headers headers) const {
  std::optional<std::string_view> found;
  for (const HeaderField& field : headers) {
    if (!same_header_name(field.name, "cookie")) continue;
    for (std::string_view rest = field.value; !rest.empty();) {
      const std::size_t end = std::min(rest.find(';'), rest.size());
      const std::string_view pair = text::trimmed(rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
      const std::size_t equals = pair.find('=');
      if (equals == pair.npos || pair.substr(0, equals) != facts_.name) continue;
      if (found) return rejected(facts_.name, "it comes more than once");
      found = pair.substr(equals + 1);
    }
  }
  if (found && !is_cookie_value(*found)) {
    return rejected(facts_.name, "its value has characters that it may not have");
  }
  return found;
}

std::string Cookie::set(std::string_view value, std::optional<std::int64_t> max_age_seconds) const {
  std::string field = facts_.name + "=";
  text::append_percent_encoded(field, value);
  field.append("; Path=").append(facts_.path);
  if (max_age_seconds) field.append("; Max-Age=").append(std::to_string(*max_age_seconds));
  if (facts_.is_secure) field.append("; Secure");
  if (!facts_.is_for_scripts) field.append("; HttpOnly");
  return field.append("; SameSite=").append(name_of(facts_.same_site));
}

}  // namespace turnpike::hosts
