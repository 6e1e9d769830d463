// Redirect URIs: where an answer to an authorization request may be sent. One rule for what a
// client may register, and one for which of what it registered it may ask for.
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

// Why no client may be answered there, as a sentence; nothing: one may. Allowed are https, http on
// loopback by the names localhost, 127.0.0.1 and [::1] alone (RFC 8252 section 7.3), and private
// schemes; without fragment, user information, or anything that is no URI character (RFC 9700
// section 2.1, OAuth 2.1 section 2.3).
std::optional<std::string> fault_in_redirect_uri(std::string_view uri, const RedirectRules& rules);

// Whether a client that registered one may ask for the other: byte for byte, but for the port of an
// http URI on loopback, which a program learns only when it listens. REQUIRES: `registered` has no
// fault.
bool matches_redirect_uri(std::string_view registered, std::string_view asked) noexcept;

// Where it leads, as a person can judge it: "app.example.org", "this computer", or
// "the program for cursor: links". REQUIRES: `uri` has no fault.
std::string redirect_target(std::string_view uri);

// The URI with members added to its query, behind what it has; values are encoded.
class RedirectAnswer {
 public:
  explicit RedirectAnswer(std::string_view uri) : text_(uri) {}
  // Adds nothing where the value is empty.
  RedirectAnswer& add(std::string_view name, std::string_view value);
  [[nodiscard]] const std::string& text() const noexcept { return text_; }

 private:
  std::string text_;
};

}  // namespace turnpike::oauth
