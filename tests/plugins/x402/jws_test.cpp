#include "x402/offers/jws.h"

#include <gtest/gtest.h>
#include <openssl/core_names.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>

#include <algorithm>

#include "plugins/x402/offers_fixture.h"
#include "plugins/x402/parsed.h"
#include "plugins/x402/vectors.h"

namespace turnpike::x402 {
namespace {

constexpr Algorithm algorithms[] = {Algorithm::es256k, Algorithm::eddsa};

std::string hex_of(const Signature& signature) { return hex_encode(bytes_of(signature)); }

// The public key of private key 1 is the curve's generator. The signature is from the published RFC
// 6979 vectors for secp256k1.
TEST(Sign, Es256kIsDeterministicByRfc6979WithTheLowS) {
  const PrivateKey one = key_of_hex(
      Algorithm::es256k, "0x0000000000000000000000000000000000000000000000000000000000000001");
  EXPECT_EQ(hex_of(one.sign("Satoshi Nakamoto")),
            "0x934b1ea10a4b3c1757e2b0c017d0b6143ce3c9a7e6a4a49860d7a6ab210ee3d8"
            "2442ce9d2b916064108014783e923ec36b49743e2ffa1c4496f01a512aafd9e5");
}

TEST(Sign, EddsaIsThatOfRfc8032) {  // section 7.1, test 1
  const PrivateKey key = key_of_hex(
      Algorithm::eddsa, "0x9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60");
  EXPECT_EQ(hex_encode(bytes_of(key.public_key().bytes).substr(0, 32)),
            "0xd75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a");
  EXPECT_EQ(hex_of(key.sign("")),
            "0xe5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bac"
            "c61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b");
}

using OpenSslKey = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;

OpenSslKey openssl_key(const PublicKey& key) {
  if (key.algorithm == Algorithm::eddsa) {
    return {EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, key.bytes.data(), 32),
            &EVP_PKEY_free};
  }
  std::array<std::uint8_t, 65> point{4};
  std::copy(key.bytes.begin(), key.bytes.end(), point.begin() + 1);
  OSSL_PARAM_BLD* build = OSSL_PARAM_BLD_new();
  OSSL_PARAM_BLD_push_utf8_string(build, OSSL_PKEY_PARAM_GROUP_NAME, "secp256k1", 0);
  OSSL_PARAM_BLD_push_octet_string(build, OSSL_PKEY_PARAM_PUB_KEY, point.data(), point.size());
  OSSL_PARAM* parameters = OSSL_PARAM_BLD_to_param(build);
  EVP_PKEY_CTX* context = EVP_PKEY_CTX_new_from_name(nullptr, "EC", nullptr);
  EVP_PKEY* made = nullptr;
  EVP_PKEY_fromdata_init(context);
  EVP_PKEY_fromdata(context, &made, EVP_PKEY_PUBLIC_KEY, parameters);
  EVP_PKEY_CTX_free(context);
  OSSL_PARAM_free(parameters);
  OSSL_PARAM_BLD_free(build);
  return {made, &EVP_PKEY_free};
}

bool openssl_verifies(const PublicKey& key, const std::string& message,
                      const Signature& signature) {
  const OpenSslKey opened = openssl_key(key);
  std::vector<std::uint8_t> bytes(signature.begin(), signature.end());
  if (key.algorithm == Algorithm::es256k) {
    ECDSA_SIG* pair = ECDSA_SIG_new();
    ECDSA_SIG_set0(pair, BN_bin2bn(signature.data(), 32, nullptr),
                   BN_bin2bn(signature.data() + 32, 32, nullptr));
    unsigned char* der = nullptr;
    const int size = i2d_ECDSA_SIG(pair, &der);
    bytes.assign(der, der + size);
    OPENSSL_free(der);
    ECDSA_SIG_free(pair);
  }
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  EVP_DigestVerifyInit(context, nullptr,
                       key.algorithm == Algorithm::es256k ? EVP_sha256() : nullptr, nullptr,
                       opened.get());
  const int verdict =
      EVP_DigestVerify(context, bytes.data(), bytes.size(),
                       reinterpret_cast<const unsigned char*>(message.data()), message.size());
  EVP_MD_CTX_free(context);
  return verdict == 1;
}

TEST(Sign, OpenSslAgreesOnGoodAndBadSignatures) {
  for (const Algorithm algorithm : algorithms) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      const PrivateKey key = any_key(algorithm, seed);
      const std::string message(seed * 7, static_cast<char>('a' + seed));
      Signature signature = key.sign(message);
      EXPECT_TRUE(key.public_key().verifies(message, signature));
      EXPECT_TRUE(openssl_verifies(key.public_key(), message, signature));
      EXPECT_FALSE(key.public_key().verifies(message + "!", signature));
      EXPECT_FALSE(openssl_verifies(key.public_key(), message + "!", signature));
      signature[seed] ^= 1;
      EXPECT_FALSE(key.public_key().verifies(message, signature));
      EXPECT_FALSE(openssl_verifies(key.public_key(), message, signature));
    }
  }
}

// -s also verifies mathematically, but a signature must have only one encoding.
TEST(Verify, RefusesTheHighS) {
  const PrivateKey key = any_key(Algorithm::es256k);
  Signature signature = key.sign("text");
  BIGNUM* order = nullptr;
  BN_hex2bn(&order, "FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141");
  BIGNUM* s = BN_bin2bn(signature.data() + 32, 32, nullptr);
  BN_sub(s, order, s);
  BN_bn2binpad(s, signature.data() + 32, 32);
  BN_free(s);
  BN_free(order);
  EXPECT_TRUE(openssl_verifies(key.public_key(), "text", signature));
  EXPECT_FALSE(key.public_key().verifies("text", signature));
}

TEST(PrivateKey, IsBelowTheOrderOfTheCurveAndNotZero) {
  SeededRandom random;
  PrivateKey::Secret secret{};
  EXPECT_FALSE(PrivateKey::from_secret(Algorithm::es256k, secret, random));
  ASSERT_TRUE(hex_decode_exactly(
      "0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141", secret));
  EXPECT_FALSE(PrivateKey::from_secret(Algorithm::es256k, secret, random));
  secret.back() -= 1;
  EXPECT_TRUE(PrivateKey::from_secret(Algorithm::es256k, secret, random));
}

TEST(Jwk, IsReadAsItWasWritten) {
  for (const Algorithm algorithm : algorithms) {
    const PublicKey key = any_key(algorithm).public_key();
    const JsonText jwk = parsed("{" + jwk_members(key) + R"(,"use":"sig"})");
    const auto read = public_key_of_jwk(jwk.root());
    ASSERT_TRUE(read.ok()) << read.error();
    EXPECT_EQ(*read, key);
  }
}

TEST(Jwk, OfAnotherKindOrOffTheCurveIsRefused) {
  const std::string x = "X7NX_hUp49mBgSKfD_uouAQdJkYskgNWZ1C8Qg63Ncw";
  const std::string y = "c6X2STphClowreUM8g73BDkEwOmA6n_q_NSm7R6LbIw";
  const auto refused = [](const std::string& text, const std::string& why) {
    const JsonText jwk = parsed(text);
    const auto read = public_key_of_jwk(jwk.root());
    ASSERT_FALSE(read.ok()) << text;
    EXPECT_NE(read.error().find(why), std::string::npos) << read.error();
  };
  const std::string es256k = R"({"kty":"EC","crv":"secp256k1","x":")";
  EXPECT_TRUE(public_key_of_jwk(parsed(es256k + x + R"(","y":")" + y + "\"}").root()).ok());
  refused(es256k + x + R"(","y":")" + x + "\"}", "no point");
  refused(es256k + x + "\"}", "no point");
  refused(es256k + x + R"(","y":")" + y + "=\"}", "no point");
  refused(es256k + x + R"(","y":"AQ"})", "no point");
  refused(R"({"kty":"EC","crv":"P-256","x":"AQ","y":"AQ"})", "neither");
  refused(R"({"kty":"OKP","crv":"X25519","x":")" + x + "\"}", "neither");
  refused(R"({"kty":"OKP","crv":"Ed25519","x":"AQ"})", "32 bytes");
  refused(R"({"kty":"oct","k":"AQ"})", "neither");
  refused("[]", "neither");
}

TEST(Jws, HasExactlyTheHeaderAndThePayloadThatWereSigned) {
  for (const Algorithm algorithm : algorithms) {
    const PrivateKey key = any_key(algorithm);
    const std::string text = sign_jws(key, "did:web:a.example#k", R"({"a":1})");
    EXPECT_EQ(text.substr(0, text.find('.')),
              base64url_encode(R"({"alg":")" + std::string(name_of(algorithm)) +
                               R"(","kid":"did:web:a.example#k"})"));
    const auto jws = parse_jws(text);
    ASSERT_TRUE(jws.ok()) << jws.error();
    EXPECT_EQ(jws->algorithm, algorithm);
    EXPECT_EQ(jws->kid, "did:web:a.example#k");
    EXPECT_EQ(jws->payload, R"({"a":1})");
    EXPECT_TRUE(verify_jws(*jws, key.public_key()));
    EXPECT_FALSE(verify_jws(*jws, any_key(algorithm, 2).public_key()));
    for (const Algorithm other : algorithms) {
      EXPECT_EQ(verify_jws(*jws, any_key(other).public_key()), other == algorithm);
    }
  }
}

TEST(Jws, EveryChangedCharacterIsNoticed) {
  const PrivateKey key = any_key(Algorithm::es256k);
  const std::string text = sign_jws(key, "did:web:a.example#k", R"({"a":1})");
  for (std::size_t at = 0; at < text.size(); ++at) {
    std::string changed = text;
    changed[at] = changed[at] == 'A' ? 'B' : 'A';
    const auto jws = parse_jws(changed);
    EXPECT_FALSE(jws.ok() && verify_jws(*jws, key.public_key())) << at;
  }
}

TEST(Jws, ThatIsNotWellFormedIsRefusedWithASentence) {
  const std::string header = base64url_encode(R"({"alg":"ES256K","kid":"kk"})");
  const std::string signature = base64url_encode(std::string(64, 's'));
  const auto refused = [](const std::string& text, const std::string& why) {
    const auto jws = parse_jws(text);
    ASSERT_FALSE(jws.ok()) << text;
    EXPECT_NE(jws.error().find(why), std::string::npos) << jws.error();
  };
  const auto with_header = [&](std::string_view json) {
    return base64url_encode(json) + "." + base64url_encode("{}") + "." + signature;
  };
  EXPECT_TRUE(parse_jws(header + ".e30." + signature).ok());
  EXPECT_TRUE(parse_jws(with_header(R"({"alg":"EdDSA","kid":"k","jwk":{}})")).ok());
  refused("", "three parts");
  refused(header + ".e30", "three parts");
  refused(header + ".e30." + signature + ".", "base64url");
  refused(header + ".e30=." + signature, "base64url");
  refused(header + ".e3 ." + signature, "base64url");
  refused(header + ".e31." + signature, "base64url");  // unused bits are set
  refused(header + ".e30." + signature.substr(4), "64 bytes");
  refused(with_header("{"), "no JSON object");
  refused(with_header("[]"), "no JSON object");
  refused(with_header(R"({"alg":"ES256K","alg":"ES256K","kid":"k"})"), "no JSON object");
  refused(with_header(R"({"alg":"none","kid":"k"})"), "neither ES256K nor EdDSA");
  refused(with_header(R"({"alg":"ES256","kid":"k"})"), "neither ES256K nor EdDSA");
  refused(with_header(R"({"kid":"k"})"), "neither ES256K nor EdDSA");
  refused(with_header(R"({"alg":"EdDSA"})"), "names no key");
  refused(with_header(R"({"alg":"EdDSA","kid":7})"), "names no key");
  refused(with_header(R"({"alg":"EdDSA","kid":"k","crit":["b64"],"b64":false})"), "crit");
  const std::size_t rest = jws_bytes_max - header.size() - signature.size() - 2;
  EXPECT_TRUE(parse_jws(header + "." + std::string(rest, 'A') + "." + signature).ok());
  refused(header + "." + std::string(rest + 1, 'A') + "." + signature, "32 KiB");
}

TEST(Vectors, AreSignedToTheByteAndVerified) {
  TURNPIKE_VECTORS(file, "offer-receipt-jws.json");
  const auto& keys = file["keys"];
  ASSERT_EQ(file["vectors"].size(), 6u);
  for (const auto& vector : file["vectors"]) {
    const Algorithm algorithm = algorithm_named(vector["alg"].get<std::string>()).value();
    const bool is_es256k = algorithm == Algorithm::es256k;
    const PrivateKey key = key_of_hex(
        algorithm, (is_es256k ? keys["es256k"]["privateKeyHex"] : keys["ed25519"]["seedHex"])
                       .get<std::string>());
    const JsonText jwk = parsed(keys[is_es256k ? "es256k" : "ed25519"]["publicJwk"].dump());
    const auto public_key = public_key_of_jwk(jwk.root());
    ASSERT_TRUE(public_key.ok());
    EXPECT_EQ(key.public_key(), *public_key);

    const std::string text = vector["artifact"]["signature"];
    EXPECT_EQ(sign_jws(key, vector["kid"].get<std::string>(),
                       vector["canonicalPayload"].get<std::string>()),
              text);
    const auto jws = parse_jws(text);
    ASSERT_TRUE(jws.ok()) << jws.error();
    EXPECT_EQ(jws->signing_input, vector["signingInput"].get<std::string>());
    EXPECT_TRUE(verify_jws(*jws, *public_key)) << vector["id"];
    const auto tampered = parse_jws(vector["tampered"].get<std::string>());
    ASSERT_TRUE(tampered.ok()) << tampered.error();
    EXPECT_FALSE(verify_jws(*tampered, *public_key)) << vector["id"];
  }
}

}  // namespace
}  // namespace turnpike::x402
