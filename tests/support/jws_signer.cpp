#include "support/jws_signer.h"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/rsa.h>

#include <stdexcept>

#include "text/encoding.h"

namespace turnpike::support {
namespace {

constexpr std::size_t coordinate_bytes = 32;

EVP_PKEY* key_in(const std::shared_ptr<void>& key) { return static_cast<EVP_PKEY*>(key.get()); }

std::string number(const EVP_PKEY* key, const char* name, std::size_t width = 0) {
  BIGNUM* value = nullptr;
  if (EVP_PKEY_get_bn_param(key, name, &value) != 1) throw std::runtime_error(name);
  const std::unique_ptr<BIGNUM, decltype(&BN_free)> owned(value, &BN_free);
  const std::size_t bytes = width == 0 ? static_cast<std::size_t>(BN_num_bytes(value)) : width;
  std::string text(bytes, '\0');
  BN_bn2binpad(value, reinterpret_cast<unsigned char*>(text.data()), static_cast<int>(bytes));
  return text::base64url(text);
}

// r and s, concatenated (RFC 7518 section 3.4).
std::string as_pair(const std::string& der) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(der.data());
  const std::unique_ptr<ECDSA_SIG, decltype(&ECDSA_SIG_free)> signature(
      d2i_ECDSA_SIG(nullptr, &bytes, static_cast<long>(der.size())), &ECDSA_SIG_free);
  std::string pair(2 * coordinate_bytes, '\0');
  auto* const out = reinterpret_cast<unsigned char*>(pair.data());
  BN_bn2binpad(ECDSA_SIG_get0_r(signature.get()), out, coordinate_bytes);
  BN_bn2binpad(ECDSA_SIG_get0_s(signature.get()), out + coordinate_bytes, coordinate_bytes);
  return pair;
}

}  // namespace

JwsSigner::JwsSigner(crypto::JwsAlgorithm algorithm, std::string kid, unsigned rsa_bits)
    : algorithm_(algorithm),
      kid_(std::move(kid)),
      key_(algorithm == crypto::JwsAlgorithm::es256
               ? EVP_EC_gen("P-256")
               : EVP_RSA_gen(rsa_bits),
           [](void* key) { EVP_PKEY_free(static_cast<EVP_PKEY*>(key)); }) {}

std::string JwsSigner::jwk(std::string_view more) const {
  const EVP_PKEY* const key = key_in(key_);
  std::string text = R"({"kid":")" + kid_ + R"(",)";
  if (algorithm_ == crypto::JwsAlgorithm::es256) {
    text += R"("kty":"EC","crv":"P-256","x":")" +
            number(key, OSSL_PKEY_PARAM_EC_PUB_X, coordinate_bytes) + R"(","y":")" +
            number(key, OSSL_PKEY_PARAM_EC_PUB_Y, coordinate_bytes) + '"';
  } else {
    text += R"("kty":"RSA","n":")" + number(key, OSSL_PKEY_PARAM_RSA_N) + R"(","e":")" +
            number(key, OSSL_PKEY_PARAM_RSA_E) + '"';
  }
  return text.append(more) + '}';
}

std::string JwsSigner::sign(std::string_view payload) const {
  const std::string algorithm(name_of(algorithm_));
  return sign(R"({"alg":")" + algorithm + R"(","kid":")" + kid_ + R"("})", payload);
}

std::string JwsSigner::sign(std::string_view header_json, std::string_view payload) const {
  std::string token = text::base64url(header_json) + '.' + text::base64url(payload);
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(),
                                                                        &EVP_MD_CTX_free);
  EVP_PKEY_CTX* options = nullptr;  // owned by the context
  EVP_DigestSignInit(context.get(), &options, EVP_sha256(), nullptr, key_in(key_));
  if (algorithm_ == crypto::JwsAlgorithm::ps256) {
    EVP_PKEY_CTX_set_rsa_padding(options, RSA_PKCS1_PSS_PADDING);
    EVP_PKEY_CTX_set_rsa_pss_saltlen(options, RSA_PSS_SALTLEN_DIGEST);
  }
  const auto* const bytes = reinterpret_cast<const unsigned char*>(token.data());
  std::size_t size = 0;
  EVP_DigestSign(context.get(), nullptr, &size, bytes, token.size());
  std::string signature(size, '\0');
  EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &size, bytes,
                 token.size());
  signature.resize(size);
  const bool is_pair = algorithm_ == crypto::JwsAlgorithm::es256;
  return token + '.' + text::base64url(is_pair ? as_pair(signature) : signature);
}

}  // namespace turnpike::support
