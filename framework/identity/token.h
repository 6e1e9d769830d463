// API tokens: `turnpike_sk_v1_<env>_<43 base62 of 256 random bits><6 base62 of CRC-32>`. The
// checksum covers everything before it, so a mistyped or cut token is refused without a look-up.
// Pure functions; safe on any Thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <turnpike/host.h>

#include "identity/account.h"

namespace turnpike::identity {

inline constexpr std::size_t token_prefix_bytes = 24;

std::string make_token(Environment environment, Random& random);

// The environment a well-formed API token is for; nothing for anything else. No allocation.
std::optional<Environment> token_environment(std::string_view token) noexcept;

}  // namespace turnpike::identity
