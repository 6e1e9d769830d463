#include "crypto/password_hash.h"

#include <sodium.h>

#include <array>
#include <cstdio>
#include <stdexcept>

namespace turnpike::crypto {
namespace {

// Detects the processor's instructions; further calls have no effect.
void prepare_sodium() {
  if (sodium_init() < 0) throw std::runtime_error("libsodium cannot be initialised");
}

using Salt = std::array<unsigned char, crypto_pwhash_SALTBYTES>;
using Digest = std::array<unsigned char, 32>;

struct HashParts {
  PasswordCost cost;
  Salt salt;
  Digest digest;
};

template <std::size_t size>
bool from_digits(const char* digits, std::array<unsigned char, size>& bytes) {
  std::size_t length = 0;
  return sodium_base642bin(bytes.data(), size, digits, std::char_traits<char>::length(digits),
                           nullptr, &length, nullptr, sodium_base64_VARIANT_ORIGINAL_NO_PADDING) ==
             0 &&
         length == size;
}

// Parses the text form of libsodium; nullopt: malformed.
std::optional<HashParts> read_hash(const std::string& hash) {
  unsigned memory_kib = 0;
  unsigned passes = 0;
  char salt[23];
  char digest[44];
  int length = 0;
  std::sscanf(hash.c_str(),
              "$argon2id$v=19$m=%9u,t=%9u,p=1$%22[A-Za-z0-9+/]$%43[A-Za-z0-9+/]%n", &memory_kib,
              &passes, salt, digest, &length);
  HashParts parts{{passes, std::size_t{memory_kib} << 10}, {}, {}};
  if (length == 0 || static_cast<std::size_t>(length) != hash.size()) return std::nullopt;
  if (!from_digits(salt, parts.salt) || !from_digits(digest, parts.digest)) return std::nullopt;
  return parts;
}

}  // namespace

std::optional<std::string> hash_password(const std::string& password, const PasswordCost& cost) {
  prepare_sodium();
  char text[crypto_pwhash_STRBYTES];
  if (crypto_pwhash_str_alg(text, password.data(), password.size(), cost.passes, cost.memory_bytes,
                            crypto_pwhash_ALG_ARGON2ID13) != 0) {
    return std::nullopt;
  }
  return std::string(text);
}

// crypto_pwhash_str_verify() also reports a mismatch when there is no memory for the hash.
PasswordMatch compare_password(const std::string& password, const std::string& hash) {
  prepare_sodium();
  const auto parts = read_hash(hash);
  if (!parts) return PasswordMatch::wrong;
  Digest digest{};
  if (crypto_pwhash(digest.data(), digest.size(), password.data(), password.size(),
                    parts->salt.data(), parts->cost.passes, parts->cost.memory_bytes,
                    crypto_pwhash_ALG_ARGON2ID13) != 0) {
    return PasswordMatch::not_compared;
  }
  return sodium_memcmp(digest.data(), parts->digest.data(), digest.size()) == 0
             ? PasswordMatch::right
             : PasswordMatch::wrong;
}

bool needs_rehash(const std::string& hash, const PasswordCost& cost) {
  prepare_sodium();
  return crypto_pwhash_str_needs_rehash(hash.c_str(), cost.passes, cost.memory_bytes) != 0;
}

std::string hash_of_nobody(const PasswordCost& cost) {
  constexpr std::size_t salt_digits = 22;    // 16 zero bytes in base64
  constexpr std::size_t digest_digits = 43;  // 32 zero bytes
  return "$argon2id$v=19$m=" + std::to_string(cost.memory_bytes / 1'024) +
         ",t=" + std::to_string(cost.passes) + ",p=1$" + std::string(salt_digits, 'A') + "$" +
         std::string(digest_digits, 'A');
}

}  // namespace turnpike::crypto
