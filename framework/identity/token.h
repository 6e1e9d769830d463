// Tokens: `turnpike_<kind>_v1_<env>_<43 base62 of 256 random bits><6 base62 of CRC-32>`, where the
// kind is `sk` for API keys, `op` for operators, `ss` for sessions of people, `ln` for single-use
// links, and `ac`, `at`, `rt` for the codes, access tokens and refresh tokens of OAuth clients. The
// checksum covers everything before it, so a mistyped or truncated token is refused without a
// look-up. Pure functions; safe on any Thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <turnpike/host.h>

#include "identity/account.h"

namespace turnpike::identity {

inline constexpr std::size_t token_bytes = 68;
inline constexpr std::size_t token_prefix_bytes = 24;

enum class TokenKind : std::uint8_t {
  api_key,
  operator_credential,
  session,
  link,
  code,
  access,
  refresh,
};

std::string make_token(Environment environment, Random& random,
                       TokenKind kind = TokenKind::api_key);

// True if the token has this kind's prefix.
bool starts_as(std::string_view token, TokenKind kind) noexcept;

// The environment of a well-formed token of this kind; nullopt for anything else. Does not
// allocate.
std::optional<Environment> token_environment(std::string_view token,
                                             TokenKind kind = TokenKind::api_key) noexcept;

}  // namespace turnpike::identity
