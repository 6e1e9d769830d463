// The cookies of the web host: the session; the browser in which a sign-in began; the device of
// people who signed in with a password, so that wrong passwords are counted per device; and the
// browser's round trip to an external identity provider. Browsers reject Secure cookies from a host
// without TLS (Safari even on loopback), so on http the cookies are not Secure and lack the prefix
// that promises it.
//
// Made at start, immutable; any Thread.
#pragma once

#include <string>
#include <string_view>

#include "hosts/cookie.h"

namespace turnpike::hosts::web {

struct Cookies {
  // `origin`: of the host's own pages.
  explicit Cookies(std::string_view origin)
      : session(facts("turnpike_session", origin)),
        browser(facts("turnpike_browser", origin)),
        device(facts("turnpike_device", origin)),
        provider(facts("turnpike_provider", origin)),
        session_cleared(session.clear()) {}

  const Cookie session;
  const Cookie browser;
  const Cookie device;
  const Cookie provider;
  const std::string session_cleared;

 private:
  static CookieFacts facts(std::string_view name, std::string_view origin) {
    const bool is_secure = origin.starts_with("https://");
    return {.name = (is_secure ? "__Host-" : "") + std::string(name), .is_secure = is_secure};
  }
};

}  // namespace turnpike::hosts::web
