// Password hashes: Argon2id (RFC 9106) in its text form, by libsodium, which picks the salt. What
// one costs is an argument: the default takes about 120 ms and 64 MiB, so callers bound how many
// run at once. Pure functions but for the salt; any plain Thread, never a loop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace turnpike::crypto {

// At least what OWASP ASVS 5.0, appendix C, asks for.
struct PasswordCost {
  std::uint64_t passes = 2;
  std::size_t memory_bytes = 64u << 20;
};

// Nothing: there is no memory for it.
[[nodiscard]] std::optional<std::string> hash_password(const std::string& password,
                                                       const PasswordCost& cost);

enum class PasswordMatch : std::uint8_t { right, wrong, not_compared };
// `not_compared`: there is no memory for it.
[[nodiscard]] PasswordMatch compare_password(const std::string& password, const std::string& hash);

// The hash was made at another cost.
[[nodiscard]] bool needs_rehash(const std::string& hash, const PasswordCost& cost);

// A hash that is no password's, and takes as long to compare with as one that is.
[[nodiscard]] std::string hash_of_nobody(const PasswordCost& cost);

}  // namespace turnpike::crypto
