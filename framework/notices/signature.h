// The signature of a webhook by Standard Webhooks 1.0 ("Signature scheme", "Webhook headers"): an
// HMAC-SHA256 of its id, the time of the try in seconds and the body, separated by full stops. The
// header field lists one signature for each secret, separated by blanks, so that a secret can be
// rotated while receivers accept at all times. People see a secret as "whsec_" and its base64.
//
// Pure functions; any Thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <turnpike/host.h>

namespace turnpike::notices {

inline constexpr std::string_view secret_prefix = "whsec_";
inline constexpr std::size_t secret_bytes = 32;  // the specification requires 24 to 64

// Returns random bytes.
std::string new_secret(Random& random);
// Returns the secret as its owner sees it.
std::string secret_text(std::string_view secret);

// Returns the value of webhook-signature: "v1,<base64> v1,<base64>". REQUIRES: no full stop in
// `id`.
std::string signature_of(std::string_view id, std::int64_t sent_at_s, std::string_view body,
                         std::span<const std::string_view> secrets);

}  // namespace turnpike::notices
