// Password hashes: Argon2id (RFC 9106) in its text form, by the reference library. The cost is an
// argument: the default takes about 100 ms and 64 MiB, so callers must bound the number of
// concurrent hashes. Pure functions but for the salt; any plain Thread, never a loop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include <turnpike/host.h>

namespace turnpike::crypto {

// At least the cost that OWASP ASVS 5.0, appendix C, requires.
struct PasswordCost {
  std::uint32_t passes = 2;
  std::size_t memory_bytes = 64u << 20;

  friend bool operator==(const PasswordCost&, const PasswordCost&) = default;
};

// Takes the salt from `random`. nullopt: not enough memory.
[[nodiscard]] std::optional<std::string> hash_password(const std::string& password,
                                                       const PasswordCost& cost, Random& random);

enum class PasswordMatch : std::uint8_t { right, wrong, not_compared };
// `not_compared`: not enough memory.
[[nodiscard]] PasswordMatch compare_password(const std::string& password, const std::string& hash);

// True if the hash was made at another cost, or is malformed.
[[nodiscard]] bool needs_rehash(const std::string& hash, const PasswordCost& cost);

// A hash that matches no password; comparing with it takes as long as with a real one.
[[nodiscard]] std::string hash_of_nobody(const PasswordCost& cost);

}  // namespace turnpike::crypto
