// A text that only who has a secret can read: AES-256-GCM (NIST SP 800-38D) under a key that HKDF
// with SHA-256 (RFC 5869) makes of the secret, as base64url(nonce, ciphertext, tag). For secrets
// that have 256 random bits themselves; a password is none. Pure functions; any Thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <turnpike/host.h>

namespace turnpike::crypto {

// `context` keeps the uses of one secret apart.
std::string seal(std::string_view text, std::string_view secret, std::string_view context,
                 Random& random);

// Nothing: it was sealed with another secret or context, or was changed.
std::optional<std::string> unseal(std::string_view sealed, std::string_view secret,
                                  std::string_view context);

}  // namespace turnpike::crypto
