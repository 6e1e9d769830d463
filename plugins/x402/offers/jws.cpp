#include "x402/offers/jws.h"

#include <botan/ed25519.h>
#include <botan/mem_ops.h>
#include <botan/pubkey.h>
#include <botan/rng.h>
#include <secp256k1.h>

#include <algorithm>

#include "x402/protocol/digest.h"
#include "x402/protocol/encoding.h"

namespace turnpike::x402 {
namespace {

const std::uint8_t* unsigned_of(std::string_view text) noexcept {
  return reinterpret_cast<const std::uint8_t*>(text.data());
}

// The static context can verify, parse and serialize, but not sign.
bool parse_point(const std::array<std::uint8_t, 64>& point, secp256k1_pubkey& parsed) noexcept {
  std::array<std::uint8_t, 65> uncompressed{4};  // SEC 1 section 2.3.3
  std::copy(point.begin(), point.end(), uncompressed.begin() + 1);
  return secp256k1_ec_pubkey_parse(secp256k1_context_static, &parsed, uncompressed.data(),
                                   uncompressed.size()) == 1;
}

bool verifies_es256k(const PublicKey& key, std::string_view message, const Signature& signature) {
  secp256k1_pubkey point;
  secp256k1_ecdsa_signature parsed;
  return parse_point(key.bytes, point) &&
         secp256k1_ecdsa_signature_parse_compact(secp256k1_context_static, &parsed,
                                                 signature.data()) == 1 &&
         secp256k1_ecdsa_verify(secp256k1_context_static, &parsed, sha256(message).data(),
                                &point) == 1;
}

bool verifies_eddsa(const PublicKey& key, std::string_view message, const Signature& signature) {
  const Botan::Ed25519_PublicKey point(key.bytes.data(), 32);
  Botan::PK_Verifier verifier(point, "Pure");
  return verifier.verify_message(unsigned_of(message), message.size(), signature.data(),
                                 signature.size());
}

// Reads the 32 bytes that a JWK's member holds in base64url.
bool read_coordinate(JsonValue member, std::uint8_t* to) {
  const auto bytes = base64url_decode(member.plain(), 32);
  if (!bytes || bytes->size() != 32) return false;
  std::copy(bytes->begin(), bytes->end(), to);
  return true;
}

struct DestroyContext {
  void operator()(secp256k1_context* context) const noexcept { secp256k1_context_destroy(context); }
};

}  // namespace

std::string_view name_of(Algorithm algorithm) noexcept {
  return algorithm == Algorithm::es256k ? "ES256K" : "EdDSA";
}

std::optional<Algorithm> algorithm_named(std::string_view name) noexcept {
  for (const Algorithm algorithm : {Algorithm::es256k, Algorithm::eddsa}) {
    if (name == name_of(algorithm)) return algorithm;
  }
  return std::nullopt;
}

bool PublicKey::verifies(std::string_view message, const Signature& signature) const {
  return algorithm == Algorithm::es256k ? verifies_es256k(*this, message, signature)
                                        : verifies_eddsa(*this, message, signature);
}

std::string jwk_members(const PublicKey& key) {
  const std::string_view bytes = bytes_of(key.bytes);
  const std::string x = base64url_encode(bytes.substr(0, 32));
  if (key.algorithm == Algorithm::eddsa) return R"("crv":"Ed25519","kty":"OKP","x":")" + x + '"';
  return R"("crv":"secp256k1","kty":"EC","x":")" + x + R"(","y":")" +
         base64url_encode(bytes.substr(32)) + '"';
}

Result<PublicKey, std::string> public_key_of_jwk(JsonValue jwk) {
  PublicKey key;
  if (jwk["kty"].equals("OKP") && jwk["crv"].equals("Ed25519")) {
    key.algorithm = Algorithm::eddsa;
    if (read_coordinate(jwk["x"], key.bytes.data())) return key;
    return std::string("the JWK's x is not the 32 bytes of an Ed25519 key");
  }
  if (!jwk["kty"].equals("EC") || !jwk["crv"].equals("secp256k1")) {
    return std::string(
        "the JWK is neither for ES256K (EC, secp256k1) nor for EdDSA (OKP, Ed25519)");
  }
  secp256k1_pubkey point;
  if (!read_coordinate(jwk["x"], key.bytes.data()) ||
      !read_coordinate(jwk["y"], key.bytes.data() + 32) || !parse_point(key.bytes, point)) {
    return std::string("the JWK's x and y are no point of secp256k1");
  }
  return key;
}

struct PrivateKey::Parts {
  PublicKey public_key;
  Secret secret{};
  std::unique_ptr<secp256k1_context, DestroyContext>
      context;                                    // ES256K: blinded, for this key alone
  std::optional<Botan::Ed25519_PrivateKey> seed;  // EdDSA: wiped by Botan

  ~Parts() { Botan::secure_scrub_memory(secret.data(), secret.size()); }

  bool derive_es256k(Random& random) {
    context.reset(secp256k1_context_create(SECP256K1_CONTEXT_NONE));
    Secret blinding;
    random.fill(blinding);
    const bool is_blinded = secp256k1_context_randomize(context.get(), blinding.data()) == 1;
    Botan::secure_scrub_memory(blinding.data(), blinding.size());
    secp256k1_pubkey point;
    if (!is_blinded || secp256k1_ec_pubkey_create(context.get(), &point, secret.data()) != 1) {
      return false;
    }
    std::array<std::uint8_t, 65> uncompressed;
    std::size_t size = uncompressed.size();
    secp256k1_ec_pubkey_serialize(context.get(), uncompressed.data(), &size, &point,
                                  SECP256K1_EC_UNCOMPRESSED);
    std::copy(uncompressed.begin() + 1, uncompressed.end(), public_key.bytes.begin());
    return true;
  }

  bool derive_eddsa() {
    seed.emplace(Botan::secure_vector<std::uint8_t>(secret.begin(), secret.end()));
    const auto& point = seed->get_public_key();
    std::copy(point.begin(), point.end(), public_key.bytes.begin());
    return true;
  }
};

PrivateKey::PrivateKey(std::unique_ptr<Parts> parts) noexcept : parts_(std::move(parts)) {}
PrivateKey::PrivateKey(PrivateKey&&) noexcept = default;
PrivateKey& PrivateKey::operator=(PrivateKey&&) noexcept = default;
PrivateKey::~PrivateKey() = default;

std::optional<PrivateKey> PrivateKey::from_secret(Algorithm algorithm, const Secret& secret,
                                                  Random& random) {
  auto parts = std::make_unique<Parts>();
  parts->public_key.algorithm = algorithm;
  parts->secret = secret;
  const bool is_key =
      algorithm == Algorithm::es256k ? parts->derive_es256k(random) : parts->derive_eddsa();
  if (!is_key) return std::nullopt;
  return PrivateKey(std::move(parts));
}

std::optional<PrivateKey> PrivateKey::make(Algorithm algorithm, Random& random) {
  constexpr int draws_max = 8;  // about one draw in 2^128 is no key of secp256k1
  std::optional<PrivateKey> key;
  for (int draw = 0; draw < draws_max && !key; ++draw) {
    Secret secret;
    random.fill(secret);
    key = from_secret(algorithm, secret, random);
    Botan::secure_scrub_memory(secret.data(), secret.size());
  }
  return key;
}

const PublicKey& PrivateKey::public_key() const noexcept { return parts_->public_key; }
const PrivateKey::Secret& PrivateKey::secret() const noexcept { return parts_->secret; }

Signature PrivateKey::sign(std::string_view message) const {
  Signature signature;
  if (parts_->seed) {
    Botan::Null_RNG none;  // Ed25519 draws nothing
    Botan::PK_Signer signer(*parts_->seed, none, "Pure");
    const auto made = signer.sign_message(unsigned_of(message), message.size(), none);
    std::copy(made.begin(), made.end(), signature.begin());
  } else {
    secp256k1_ecdsa_signature made;  // low s; the default nonce is RFC 6979's
    secp256k1_ecdsa_sign(parts_->context.get(), &made, sha256(message).data(),
                         parts_->secret.data(), nullptr, nullptr);
    secp256k1_ecdsa_signature_serialize_compact(parts_->context.get(), signature.data(), &made);
  }
  return signature;
}

std::string sign_jws(const PrivateKey& key, std::string_view kid, std::string_view payload) {
  std::string header = R"({"alg":")";
  header.append(name_of(key.public_key().algorithm)).append(R"(","kid":)");
  append_json_string(header, kid);
  header.push_back('}');
  std::string jws = base64url_encode(header) + '.' + base64url_encode(payload);
  const Signature signature = key.sign(jws);
  return jws.append(".").append(base64url_encode(bytes_of(signature)));
}

Result<Jws, std::string> parse_jws(std::string_view text) {
  if (text.size() > jws_bytes_max) return std::string("the JWS is longer than 32 KiB");
  const std::size_t first = text.find('.');
  const std::size_t second = first == text.npos ? first : text.find('.', first + 1);
  if (second == text.npos) {
    return std::string("a compact JWS is three parts with dots between them; this has fewer");
  }
  auto header_text = base64url_decode(text.substr(0, first), jws_bytes_max);
  auto payload = base64url_decode(text.substr(first + 1, second - first - 1), jws_bytes_max);
  const auto signature = base64url_decode(text.substr(second + 1), jws_bytes_max);
  if (!header_text || !payload || !signature) {
    return std::string("a part of the JWS is not base64url without padding");
  }
  const auto header = JsonText::parse(std::move(*header_text));
  if (!header.ok() || !header->root().is(JsonKind::object)) {
    return std::string("the JWS's header is no JSON object");
  }
  if (!header->root()["crit"].is(JsonKind::absent)) {  // RFC 7515 section 4.1.11
    return std::string("the JWS's header has crit: it demands what this does not know");
  }
  const auto algorithm = algorithm_named(header->root()["alg"].string());
  if (!algorithm) return std::string("the JWS's alg is neither ES256K nor EdDSA");
  Jws jws{*algorithm,
          header->root()["kid"].string(),
          std::move(*payload),
          std::string(text.substr(0, second)),
          {}};
  if (jws.kid.empty()) return std::string("the JWS's header names no key (kid)");
  if (signature->size() != jws.signature.size()) {
    return std::string("the JWS's signature is not 64 bytes long");
  }
  std::copy(signature->begin(), signature->end(), jws.signature.begin());
  return jws;
}

bool verify_jws(const Jws& jws, const PublicKey& key) {
  return jws.algorithm == key.algorithm && key.verifies(jws.signing_input, jws.signature);
}

}  // namespace turnpike::x402
