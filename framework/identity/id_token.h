// ID tokens: what an OpenID provider says of a person, judged (OpenID Connect Core 1.0 section
// 3.1.3.7). The signature is crypto/jwks.h's to check; here is what the signed claims must hold.
//
// Values and pure functions; safe on any Thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <turnpike/result.h>

namespace turnpike::identity {

// What the claims must agree with.
struct IdTokenRules {
  std::string_view issuer;     // byte for byte
  std::string_view client_id;  // that we have at the issuer
  std::string_view nonce;      // that the browser was sent there with
  std::int64_t now_ms = 0;     // since 1970 UTC
  // Since when the person must have proved to the issuer who they are; nothing: it may be long ago.
  std::optional<std::int64_t> authenticated_since_ms = {};
};

// How far the issuer's clock may be from ours, either way.
inline constexpr std::int64_t id_token_leeway_ms = 30'000;

struct IdTokenClaims {
  std::string subject;         // 1 to 255 printable ASCII characters
  std::string email;           // empty: there is none, or it is not in its form
  bool is_email_verified = false;  // by what the issuer says
  std::string name;            // as it came; empty: there is none
};

// The error says which claim is wrong, as a sentence.
[[nodiscard]] Result<IdTokenClaims, std::string> judge_id_token(std::string_view claims_json,
                                                                const IdTokenRules& rules);

// Whether the address is verified and of one of the domains, whatever their case. An address of a
// domain below one of them is not of it.
[[nodiscard]] bool is_of_domains(const IdTokenClaims& claims,
                                 const std::vector<std::string>& domains);

}  // namespace turnpike::identity
