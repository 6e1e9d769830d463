// The signature of a webhook by Standard Webhooks 1.0 ("Signature scheme", "Webhook headers"): an
// HMAC-SHA256 of its id, the second of the try and the body, divided by full stops. The header
// field lists one signature for each secret, divided by blanks, so that a secret can be replaced
// without a moment in which receivers refuse. People see a secret as "whsec_" and its base64.
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
inline constexpr std::size_t secret_bytes = 32;  // the specification wants 24 to 64

// Random bytes.
std::string new_secret(Random& random);
// As its owner is shown it.
std::string secret_text(std::string_view secret);

// The value of webhook-signature: "v1,<base64> v1,<base64>". REQUIRES: no full stop in `id`.
std::string signature_of(std::string_view id, std::int64_t sent_at_s, std::string_view body,
                         std::span<const std::string_view> secrets);

}  // namespace turnpike::notices
