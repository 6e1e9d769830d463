// Cookie: one cookie of a host: what it is called, with which attributes it is set, and how it is
// found in a request (RFC 6265; its successor, draft-ietf-httpbis-rfc6265bis, for the prefixes of
// names). No Domain is ever set, so a cookie is of its host alone. Cookies of other names in a
// request may look as they like: on a shared host name they are other programs'.
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
  // "__Host-" before a name promises Secure and Path=/, "__Secure-" Secure: browsers keep no other
  // cookie of such a name.
  std::string name;
  bool is_secure = true;
  bool is_for_scripts = false;  // else HttpOnly
  SameSite same_site = SameSite::lax;
  std::string path = "/";
};

class Cookie {
 public:
  // Throws std::invalid_argument for facts that a browser would refuse.
  explicit Cookie(CookieFacts facts);

  // Its value in a request; nothing: none came. Error, request.malformed: it came more than once,
  // so one of them was set by somebody else, or its value has characters that none may have.
  [[nodiscard]] Result<std::optional<std::string_view>, base::Error> read(Headers headers) const;

  // Values of Set-Cookie. Characters of `value` that are reserved in URIs are percent-encoded, so
  // that it cannot add an attribute; tokens have none. Without an age it ends with the browser.
  [[nodiscard]] std::string set(std::string_view value,
                                std::optional<std::int64_t> max_age_seconds = {}) const;
  // Makes the browser forget it.
  [[nodiscard]] std::string clear() const { return set("", 0); }

 private:
  const CookieFacts facts_;
};

}  // namespace turnpike::hosts
