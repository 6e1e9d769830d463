#include "crypto/passkey_key.h"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/params.h>

#include <algorithm>
#include <array>
#include <bit>
#include <iterator>
#include <memory>

#include "crypto/openssl_bytes.h"
#include "crypto/quiet_errors.h"
#include "text/encoding.h"

namespace turnpike::crypto {
namespace {

using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
using KeyContext = std::unique_ptr<EVP_PKEY_CTX, decltype(&EVP_PKEY_CTX_free)>;
using DigestContext = std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)>;
using Number = std::unique_ptr<BIGNUM, decltype(&BN_free)>;
using NumberContext = std::unique_ptr<BN_CTX, decltype(&BN_CTX_free)>;

struct Algorithm {
  PasskeyAlgorithm id;
  std::string_view name;
  std::int32_t cose_number;
  std::size_t parts_bytes;
};
constexpr Algorithm algorithms[] = {
    {PasskeyAlgorithm::es256, "ES256", -7, 64},
    {PasskeyAlgorithm::eddsa, "EdDSA", -8, 32},
    {PasskeyAlgorithm::rs256, "RS256", -257, 256},
};

const Algorithm& row_of(PasskeyAlgorithm algorithm) noexcept {
  return algorithms[static_cast<std::size_t>(algorithm)];
}

Key from_parameters(const char* type, OSSL_PARAM* parameters) noexcept {
  const KeyContext context(EVP_PKEY_CTX_new_from_name(nullptr, type, nullptr), &EVP_PKEY_CTX_free);
  EVP_PKEY* key = nullptr;
  if (context != nullptr && EVP_PKEY_fromdata_init(context.get()) == 1) {
    EVP_PKEY_fromdata(context.get(), &key, EVP_PKEY_PUBLIC_KEY, parameters);
  }
  return {key, &EVP_PKEY_free};
}

// OpenSSL refuses a point that is not on the curve.
Key es256_key(std::string_view parts) noexcept {
  std::array<unsigned char, 65> point{};
  point[0] = 0x04;  // both coordinates follow (SEC 1 section 2.3.3)
  std::copy(parts.begin(), parts.end(), point.begin() + 1);
  char group[] = "prime256v1";
  OSSL_PARAM parameters[] = {
      OSSL_PARAM_construct_utf8_string(OSSL_PKEY_PARAM_GROUP_NAME, group, 0),
      OSSL_PARAM_construct_octet_string(OSSL_PKEY_PARAM_PUB_KEY, point.data(), point.size()),
      OSSL_PARAM_construct_end()};
  return from_parameters("EC", parameters);
}

Key rs256_key(std::string_view parts) noexcept {
  std::array<unsigned char, 256> modulus{};  // in native byte order, as OpenSSL expects
  static_assert(std::endian::native == std::endian::little);
  std::reverse_copy(parts.begin(), parts.end(), modulus.begin());
  unsigned int exponent = 65537;
  OSSL_PARAM parameters[] = {
      OSSL_PARAM_construct_BN(OSSL_PKEY_PARAM_RSA_N, modulus.data(), modulus.size()),
      OSSL_PARAM_construct_uint(OSSL_PKEY_PARAM_RSA_E, &exponent), OSSL_PARAM_construct_end()};
  return from_parameters("RSA", parameters);
}

Key key_of(PasskeyAlgorithm algorithm, std::string_view parts) noexcept {
  if (parts.size() != row_of(algorithm).parts_bytes) return {nullptr, &EVP_PKEY_free};
  switch (algorithm) {
    case PasskeyAlgorithm::es256:
      return es256_key(parts);
    case PasskeyAlgorithm::rs256:
      return rs256_key(parts);
    case PasskeyAlgorithm::eddsa:
      break;
  }
  return {EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, bytes_of(parts), parts.size()),
          &EVP_PKEY_free};
}

Number number(const char* hex) noexcept {
  BIGNUM* value = nullptr;
  if (BN_hex2bn(&value, hex) == 0) value = nullptr;
  return {value, &BN_free};
}

// The y coordinates of the points of order 8; those of order 1, 2 and 4 are 1, -1 and 0.
constexpr const char* small_order_hex[] = {
    "7A03AC9277FDC74EC6CC392CFA53202A0F67100D760B3CBA4FD84D3D706A17C7",
    "05FC536D880238B13933C6D305ACDFD5F098EFF289F4C345B027B2C28F95E826"};

// True if `y` is a coordinate of a curve point (-x^2 + y^2 = 1 + d x^2 y^2) that is not of small
// order: (y^2 - 1)(d y^2 + 1) must be a square (RFC 8032 section 5.1.3), which OpenSSL checks only
// when it verifies.
bool is_useful_ed25519_y(const BIGNUM* y) noexcept {
  const Number prime = number("7FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFED");
  const Number d = number("52036CEE2B6FFE738CC740797779E89800700A4D4141D8AB75EB4DCA135978A3");
  const Number left(BN_new(), &BN_free);
  const Number right(BN_new(), &BN_free);
  const NumberContext context(BN_CTX_new(), &BN_CTX_free);
  if (prime == nullptr || d == nullptr || left == nullptr || right == nullptr ||
      context == nullptr || BN_cmp(y, prime.get()) >= 0 || BN_is_zero(y)) {
    return false;
  }
  for (const char* hex : small_order_hex) {
    const Number small = number(hex);
    if (small == nullptr || BN_cmp(y, small.get()) == 0) return false;
  }
  if (BN_mod_sqr(left.get(), y, prime.get(), context.get()) != 1 ||
      BN_mod_mul(right.get(), left.get(), d.get(), prime.get(), context.get()) != 1 ||
      BN_sub_word(left.get(), 1) != 1 || BN_add_word(right.get(), 1) != 1 ||
      BN_mod_mul(left.get(), left.get(), right.get(), prime.get(), context.get()) != 1) {
    return false;
  }
  // The symbol is 0 if y is 1 or -1, which are of small order, too.
  return BN_kronecker(left.get(), prime.get(), context.get()) == 1;
}

bool is_useful_ed25519(std::string_view parts) noexcept {
  std::array<unsigned char, 32> bytes{};
  std::copy(parts.begin(), parts.end(), bytes.begin());
  bytes.back() &= 0x7F;  // the highest bit is the sign of x
  const Number y(BN_lebin2bn(bytes.data(), bytes.size(), nullptr), &BN_free);
  return y != nullptr && is_useful_ed25519_y(y.get());
}

bool is_useful(PasskeyAlgorithm algorithm, std::string_view parts) noexcept {
  if (parts.size() != row_of(algorithm).parts_bytes) return false;
  switch (algorithm) {
    case PasskeyAlgorithm::eddsa:
      return is_useful_ed25519(parts);
    case PasskeyAlgorithm::rs256:
      if ((parts.front() & 0x80) == 0 || (parts.back() & 0x01) == 0) return false;
      break;
    case PasskeyAlgorithm::es256:
      break;
  }
  return key_of(algorithm, parts) != nullptr;
}

}  // namespace

std::string_view name_of(PasskeyAlgorithm algorithm) noexcept { return row_of(algorithm).name; }

std::int32_t cose_number_of(PasskeyAlgorithm algorithm) noexcept {
  return row_of(algorithm).cose_number;
}

std::optional<PasskeyKey> PasskeyKey::make(PasskeyAlgorithm algorithm, std::string_view parts) {
  const QuietErrors quiet;
  if (!is_useful(algorithm, parts)) return std::nullopt;
  return PasskeyKey(algorithm, std::string(parts));
}

std::optional<PasskeyKey> PasskeyKey::es256(std::string_view x, std::string_view y) {
  if (x.size() != 32) return std::nullopt;
  return make(PasskeyAlgorithm::es256, std::string(x).append(y));
}

std::optional<PasskeyKey> PasskeyKey::eddsa(std::string_view x) {
  return make(PasskeyAlgorithm::eddsa, x);
}

std::optional<PasskeyKey> PasskeyKey::rs256(std::string_view modulus) {
  return make(PasskeyAlgorithm::rs256, modulus);
}

std::string PasskeyKey::text() const {
  return std::string(name_of(algorithm_)) + ":" + text::base64url(parts_);
}

std::optional<PasskeyKey> PasskeyKey::parse(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == text.npos) return std::nullopt;
  const auto parts = text::from_base64url(text.substr(colon + 1));
  const auto algorithm =
      std::find_if(std::begin(algorithms), std::end(algorithms),
                   [&](const Algorithm& row) { return row.name == text.substr(0, colon); });
  if (!parts || algorithm == std::end(algorithms)) return std::nullopt;
  return make(algorithm->id, *parts);
}

bool verify(const PasskeyKey& key, std::string_view bytes, std::string_view signature) noexcept {
  const QuietErrors quiet;
  const Key evp = key_of(key.algorithm(), key.parts());
  const DigestContext context(EVP_MD_CTX_new(), &EVP_MD_CTX_free);
  if (evp == nullptr || context == nullptr) return false;
  // Ed25519 hashes internally.
  const char* const digest = key.algorithm() == PasskeyAlgorithm::eddsa ? nullptr : "SHA256";
  return EVP_DigestVerifyInit_ex(context.get(), nullptr, digest, nullptr, nullptr, evp.get(),
                                 nullptr) == 1 &&
         EVP_DigestVerify(context.get(), bytes_of(signature), signature.size(), bytes_of(bytes),
                          bytes.size()) == 1;
}

}  // namespace turnpike::crypto
