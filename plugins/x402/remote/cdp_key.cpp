#include "x402/remote/cdp_key.h"

#include <botan/ed25519.h>
#include <botan/mem_ops.h>
#include <botan/pubkey.h>
#include <botan/rng.h>

#include <algorithm>
#include <array>
#include <utility>

#include <turnpike/helpers/mistakes.h>

#include "x402/protocol/encoding.h"
#include "x402/protocol/json.h"
#include "x402/remote/endpoint.h"

namespace turnpike::x402 {
namespace {

constexpr std::int64_t lifetime_s = 120;
constexpr std::size_t seed_bytes = 32;
constexpr std::size_t secret_bytes = 64;  // the seed, then its public key

}  // namespace

struct CdpKey::Seed {
  explicit Seed(std::string_view bytes) : key({bytes.begin(), bytes.end()}) {}
  const Botan::Ed25519_PrivateKey key;
};

CdpKey::CdpKey(std::string id, std::unique_ptr<const Seed> seed)
    : id_(std::move(id)), seed_(std::move(seed)) {}
CdpKey::~CdpKey() = default;

Result<std::shared_ptr<const CdpKey>> CdpKey::read(const Settings& settings) {
  const std::shared_ptr<const CdpKey> none;
  Mistakes mistakes;
  mistakes.only(settings, {"id", "secret"});
  if (!may_have_fields(settings)) return mistakes.failure();
  const Settings* id = settings.find("id");
  if (id == nullptr || id->kind != Settings::Kind::scalar || (id->text.empty() && !id->is_secret)) {
    mistakes.add(Settings::wrong("id", "the id of the API key"));
  }
  const Settings* secret = settings.find("secret");
  if (secret == nullptr || !secret->is_secret) {
    mistakes.add(Settings::wrong("secret", "the secret of the API key, as {secret: ...}"));
  }
  if (!mistakes.none()) return mistakes.failure();
  if (id->text.empty() || secret->text.empty()) return none;
  const std::string text = secret->text.substr(0, secret->text.find_last_not_of("\r\n") + 1);
  auto bytes = base64_decode(text, secret_bytes);
  if (!bytes || bytes->size() != secret_bytes) {
    return Settings::wrong("secret", "the base64 of an Ed25519 key, 64 bytes");
  }
  auto seed = std::make_unique<const Seed>(std::string_view(*bytes).substr(0, seed_bytes));
  const auto& point = seed->key.get_public_key();
  const bool is_pair = std::equal(
      point.begin(), point.end(), bytes->begin() + seed_bytes,
      [](std::uint8_t left, char right) { return left == static_cast<std::uint8_t>(right); });
  Botan::secure_scrub_memory(bytes->data(), bytes->size());
  if (!is_pair) return Settings::wrong("secret", "a seed with its own public key");
  return std::shared_ptr<const CdpKey>(new CdpKey(id->text, std::move(seed)));
}

std::string CdpKey::bearer(std::string_view method, std::string_view url, std::int64_t now_s,
                           Random& random) const {
  std::array<std::uint8_t, 16> nonce;
  random.fill(nonce);
  std::string header = R"({"alg":"EdDSA","kid":)";
  append_json_string(header, id_);
  header.append(R"(,"typ":"JWT","nonce":")").append(hex_encode(bytes_of(nonce)).substr(2)) += "\"}";
  std::string claims = R"({"sub":)";
  append_json_string(claims, id_);
  claims += R"(,"iss":"cdp","uris":[)";
  append_json_string(claims,
                     std::string(method) + " " + std::string(url.substr(url.find("://") + 3)));
  const std::string now = std::to_string(now_s);
  claims.append(R"(],"iat":)").append(now).append(R"(,"nbf":)").append(now);
  claims.append(R"(,"exp":)").append(std::to_string(now_s + lifetime_s)) += '}';
  const std::string signed_text = base64url_encode(header) + '.' + base64url_encode(claims);
  Botan::Null_RNG none;  // Ed25519 draws nothing
  Botan::PK_Signer signer(seed_->key, none, "Pure");
  const auto signature = signer.sign_message(
      reinterpret_cast<const std::uint8_t*>(signed_text.data()), signed_text.size(), none);
  return "Bearer " + signed_text + '.' +
         base64url_encode({reinterpret_cast<const char*>(signature.data()), signature.size()});
}

}  // namespace turnpike::x402
