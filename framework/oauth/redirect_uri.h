// Redirect URIs: where the answer to an authorization request may be sent. One rule decides what a
// client may register, another which of its registered URIs a request may use.
//
// Pure functions; any Thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "oauth/client.h"

namespace turnpike::oauth {

inline constexpr std::size_t redirect_uri_bytes_max = 1'024;

// Returns a sentence on why no client may register this URI; nothing: it is allowed. Allowed are
// https, http on loopback by the names localhost, 127.0.0.1 and [::1] only (RFC 8252 section 7.3),
// and private-use schemes; without fragment, user information, or characters outside of URIs (RFC
// 9700 section 2.1, OAuth 2.1 section 2.3).
std::optional<std::string> fault_in_redirect_uri(std::string_view uri, const RedirectRules& rules);

// Whether a client that registered `registered` may request `asked`: equal bytes, except for the
// port of an http URI on loopback, which a program learns only when it listens. REQUIRES:
// `registered` has no fault.
bool matches_redirect_uri(std::string_view registered, std::string_view asked) noexcept;

// Returns the target in terms that a person can judge: "app.example.org", "this computer", or "the
// program for cursor: links". REQUIRES: `uri` has no fault.
std::string redirect_target(std::string_view uri);

// A URI with parameters appended to its query; values are encoded.
class RedirectAnswer {
 public:
  explicit RedirectAnswer(std::string_view uri) : text_(uri) {}
  // An empty value is not added.
  RedirectAnswer& add(std::string_view name, std::string_view value);
  [[nodiscard]] const std::string& text() const noexcept { return text_; }

 private:
  std::string text_;
};

}  // namespace turnpike::oauth
