// The cookies of the web host: the session, the browser that a sign-in was begun in, the device of
// people who signed in with a password, whose wrong passwords count apart, and the way of a browser
// to another provider of identities and back. Browsers
// keep no Secure cookie of a host without TLS (Safari not even of loopback), so on http they go
// without it and without the prefix that promises it.
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
