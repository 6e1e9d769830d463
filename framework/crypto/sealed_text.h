// A text that only holders of a secret can read: AES-256-GCM (NIST SP 800-38D) under a key that
// HKDF with SHA-256 (RFC 5869) derives from the secret, as base64url(nonce, ciphertext, tag). The
// secret must have 256 random bits itself, so a password is not suitable. Pure functions; any
// Thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <turnpike/host.h>

namespace turnpike::crypto {

// `context` separates different uses of one secret.
std::string seal(std::string_view text, std::string_view secret, std::string_view context,
                 Random& random);

// nullopt: sealed with another secret or context, or altered.
std::optional<std::string> unseal(std::string_view sealed, std::string_view secret,
                                  std::string_view context);

}  // namespace turnpike::crypto
