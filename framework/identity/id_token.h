// ID tokens: validates the claims that an OpenID provider makes about a person (OpenID Connect Core
// 1.0 section 3.1.3.7). crypto/jwks.h checks the signature; this file checks the signed claims.
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

// The values that the claims must match.
struct IdTokenRules {
  std::string_view issuer;     // compared byte for byte
  std::string_view client_id;  // our client id at the issuer
  std::string_view nonce;      // sent with the browser to the issuer
  std::int64_t now_ms = 0;     // ms since 1970 UTC
  // Earliest acceptable time of the person's authentication at the issuer; nullopt: any time.
  std::optional<std::int64_t> authenticated_since_ms = {};
};

// Accepted difference between the issuer's clock and ours, in either direction.
inline constexpr std::int64_t id_token_leeway_ms = 30'000;

struct IdTokenClaims {
  std::string subject;         // 1 to 255 printable ASCII characters
  std::string email;           // empty: absent or malformed
  bool is_email_verified = false;  // as claimed by the issuer
  std::string name;            // unchanged; empty: absent
};

// The error is a sentence that names the wrong claim.
[[nodiscard]] Result<IdTokenClaims, std::string> judge_id_token(std::string_view claims_json,
                                                                const IdTokenRules& rules);

// True if the address is verified and its domain is one of `domains`, ignoring case. A subdomain
// does not match.
[[nodiscard]] bool is_of_domains(const IdTokenClaims& claims,
                                 const std::vector<std::string>& domains);

}  // namespace turnpike::identity
