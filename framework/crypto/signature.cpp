#include "crypto/signature.h"

#include <openssl/evp.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "crypto/openssl_bytes.h"

namespace turnpike::crypto {
namespace {

using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
using Context = std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)>;

// Operations that fail only without memory or without OpenSSL's own provider: the process cannot
// continue.
void require(bool done) noexcept {
  if (!done) abort();
}

Key private_key(const Ed25519Seed& seed) noexcept {
  Key key(EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr, seed.data(), seed.size()),
          &EVP_PKEY_free);
  require(key != nullptr);
  return key;
}

}  // namespace

Ed25519PublicKey ed25519_public_key(const Ed25519Seed& seed) noexcept {
  Ed25519PublicKey key;
  std::size_t size = key.size();
  require(EVP_PKEY_get_raw_public_key(private_key(seed).get(), key.data(), &size) == 1);
  return key;
}

Ed25519Signature ed25519_sign(const Ed25519Seed& seed, std::string_view bytes) noexcept {
  const Key key = private_key(seed);
  const Context context(EVP_MD_CTX_new(), &EVP_MD_CTX_free);
  Ed25519Signature signature;
  std::size_t size = signature.size();
  require(context != nullptr &&
          EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, key.get()) == 1 &&
          EVP_DigestSign(context.get(), signature.data(), &size, bytes_of(bytes), bytes.size()) ==
              1);
  return signature;
}

bool ed25519_verify(const Ed25519PublicKey& public_key, std::string_view bytes,
                    const Ed25519Signature& signature) noexcept {
  const Key key(
      EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, public_key.data(), public_key.size()),
      &EVP_PKEY_free);
  const Context context(EVP_MD_CTX_new(), &EVP_MD_CTX_free);
  if (key == nullptr) return false;
  require(context != nullptr);
  return EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, key.get()) == 1 &&
         EVP_DigestVerify(context.get(), signature.data(), signature.size(), bytes_of(bytes),
                          bytes.size()) == 1;
}

std::string ed25519_pem(const Ed25519PublicKey& key) {
  // SubjectPublicKeyInfo with id-Ed25519 and no parameters: the same 12 bytes before every key.
  std::array<unsigned char, 44> der{0x30, 0x2a, 0x30, 0x05, 0x06, 0x03,
                                    0x2b, 0x65, 0x70, 0x03, 0x21, 0x00};
  std::copy(key.begin(), key.end(), der.begin() + 12);
  std::array<unsigned char, 61> text{};  // 60 characters and a final 0
  const int size = EVP_EncodeBlock(text.data(), der.data(), der.size());
  return "-----BEGIN PUBLIC KEY-----\n" +
         std::string(reinterpret_cast<const char*>(text.data()), static_cast<std::size_t>(size)) +
         "\n-----END PUBLIC KEY-----\n";
}

}  // namespace turnpike::crypto
