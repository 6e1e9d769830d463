#include "crypto/sealed_text.h"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <new>

#include "crypto/digest.h"
#include "crypto/openssl_bytes.h"
#include "text/encoding.h"

namespace turnpike::crypto {
namespace {

constexpr std::size_t nonce_bytes = 12;
constexpr std::size_t tag_bytes = 16;

using Cipher = std::unique_ptr<EVP_CIPHER_CTX, decltype(&EVP_CIPHER_CTX_free)>;

std::string_view text_of(const Sha256& digest) noexcept {
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

// RFC 5869 with a salt of zeros and one block of output, which is a key of AES-256.
Sha256 key_of(std::string_view secret, std::string_view context) {
  const std::string salt(32, '\0');
  const Sha256 pseudorandom_key = hmac_sha256(salt, secret);
  return hmac_sha256(text_of(pseudorandom_key), std::string(context) + '\x01');
}

// Fails only when out of memory.
Cipher new_cipher() {
  Cipher cipher(EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_free);
  if (cipher == nullptr) throw std::bad_alloc();
  return cipher;
}

}  // namespace

std::string seal(std::string_view text, std::string_view secret, std::string_view context,
                 Random& random) {
  std::array<std::uint8_t, nonce_bytes> nonce{};
  random.fill(nonce);
  const Sha256 key = key_of(secret, context);
  std::string sealed(nonce_bytes + text.size() + tag_bytes, '\0');
  std::copy(nonce.begin(), nonce.end(), sealed.begin());
  auto* const out = reinterpret_cast<unsigned char*>(sealed.data()) + nonce_bytes;
  const Cipher cipher = new_cipher();
  int written = 0;
  int last = 0;
  const bool is_sealed =
      EVP_EncryptInit_ex(cipher.get(), EVP_aes_256_gcm(), nullptr, key.data(), nonce.data()) == 1 &&
      EVP_EncryptUpdate(cipher.get(), out, &written, bytes_of(text),
                        static_cast<int>(text.size())) == 1 &&
      EVP_EncryptFinal_ex(cipher.get(), out + written, &last) == 1 &&
      EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_GCM_GET_TAG, tag_bytes, out + text.size()) == 1;
  if (!is_sealed) throw std::bad_alloc();
  return text::base64url(sealed);
}

std::optional<std::string> unseal(std::string_view sealed, std::string_view secret,
                                  std::string_view context) {
  auto bytes = text::from_base64url(sealed);
  if (!bytes || bytes->size() < nonce_bytes + tag_bytes) return std::nullopt;
  const std::size_t text_bytes = bytes->size() - nonce_bytes - tag_bytes;
  const Sha256 key = key_of(secret, context);
  auto* const nonce = reinterpret_cast<unsigned char*>(bytes->data());
  unsigned char* const in = nonce + nonce_bytes;
  std::string text(text_bytes + tag_bytes, '\0');
  auto* const out = reinterpret_cast<unsigned char*>(text.data());
  const Cipher cipher = new_cipher();
  int written = 0;
  int last = 0;
  const bool is_whole =
      EVP_DecryptInit_ex(cipher.get(), EVP_aes_256_gcm(), nullptr, key.data(), nonce) == 1 &&
      EVP_DecryptUpdate(cipher.get(), out, &written, in, static_cast<int>(text_bytes)) == 1 &&
      EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_GCM_SET_TAG, tag_bytes, in + text_bytes) == 1 &&
      EVP_DecryptFinal_ex(cipher.get(), out + written, &last) == 1;
  if (!is_whole) return std::nullopt;
  text.resize(text_bytes);
  return text;
}

}  // namespace turnpike::crypto
