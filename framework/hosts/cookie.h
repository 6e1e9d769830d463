// Cookie: one cookie of a host: its name, the attributes it is set with, and how it is found in a
// request (RFC 6265; its successor, draft-ietf-httpbis-rfc6265bis, for the prefixes of names).
// Domain is never set, so only this host gets the cookie. Cookies of other names in a request are
// not checked: on a shared host name they belong to other programs.
//
// Made at start, immutable; any Thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <turnpike/message.h>
#include <turnpike/result.h>

#include "base/error.h"

namespace turnpike::hosts {

enum class SameSite : std::uint8_t { lax, strict, none };

struct CookieFacts {
  // The prefix "__Host-" promises Secure and Path=/, "__Secure-" promises Secure: browsers reject a
  // cookie with such a name and other attributes.
  std::string name;
  bool is_secure = true;
  bool is_for_scripts = false;  // false: HttpOnly
  SameSite same_site = SameSite::lax;
  std::string path = "/";
};

class Cookie {
 public:
  // Throws std::invalid_argument for facts that a browser would reject.
  explicit Cookie(CookieFacts facts);

  // Returns the value in a request; nothing: the cookie was not sent. Error request.malformed: the
  // cookie was sent more than once, so another program set one of them, or its value has forbidden
  // characters.
  [[nodiscard]] Result<std::optional<std::string_view>, base::Error> read(Headers headers) const;

  // Returns a value of Set-Cookie. Characters of `value` that are reserved in URIs are
  // percent-encoded, so that `value` cannot add an attribute; tokens have no such characters.
  // Without `max_age_seconds` the cookie ends with the browser session.
  [[nodiscard]] std::string set(std::string_view value,
                                std::optional<std::int64_t> max_age_seconds = {}) const;
  // Returns the Set-Cookie value that deletes the cookie.
  [[nodiscard]] std::string clear() const { return set("", 0); }

 private:
  const CookieFacts facts_;
};

}  // namespace turnpike::hosts
