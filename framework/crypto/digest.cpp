#include "crypto/digest.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <cstdlib>
#include <memory>

#include "crypto/openssl_bytes.h"
#include "text/encoding.h"

namespace turnpike::crypto {
Sha256 sha256(std::string_view bytes) noexcept { return sha256({bytes}); }

Sha256 sha256(std::initializer_list<std::string_view> parts) noexcept {
  // The algorithm is looked up once and the context is made once per Thread: both cost more than a
  // short digest.
  static const EVP_MD* const algorithm = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  thread_local const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(
      EVP_MD_CTX_new(), &EVP_MD_CTX_free);
  Sha256 digest;
  // OpenSSL fails here only when out of memory or without its own provider: the process cannot
  // continue.
  if (context == nullptr || EVP_DigestInit_ex2(context.get(), algorithm, nullptr) != 1) abort();
  for (const std::string_view part : parts) {
    if (EVP_DigestUpdate(context.get(), part.data(), part.size()) != 1) abort();
  }
  if (EVP_DigestFinal_ex(context.get(), digest.data(), nullptr) != 1) abort();
  return digest;
}

Sha256 hmac_sha256(std::string_view key, std::string_view bytes) noexcept {
  Sha256 digest;
  unsigned int length = 0;
  if (HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), bytes_of(bytes), bytes.size(),
           digest.data(), &length) == nullptr) {
    abort();
  }
  return digest;
}

std::string sha256_hex(std::string_view bytes) { return text::hex(sha256(bytes)); }

bool equal_in_constant_time(std::string_view left, std::string_view right) noexcept {
  return left.size() == right.size() && CRYPTO_memcmp(left.data(), right.data(), left.size()) == 0;
}

}  // namespace turnpike::crypto
