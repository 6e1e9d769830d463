#include "crypto/jwks.h"

#include <cjose/cjose.h>

#include <algorithm>
#include <memory>

#include "crypto/quiet_errors.h"
#include "text/encoding.h"
#include "text/json_text.h"

namespace turnpike::crypto {
namespace {

using text::text_member;
using nlohmann::json;
using LibraryKey = std::unique_ptr<cjose_jwk_t, decltype(&cjose_jwk_release)>;
using LibraryToken = std::unique_ptr<cjose_jws_t, decltype(&cjose_jws_release)>;

constexpr std::string_view algorithm_names[] = {"RS256", "PS256", "ES256"};
constexpr std::size_t modulus_bytes_min = 256;
constexpr std::size_t modulus_bytes_max = 1'024;
constexpr std::size_t exponent_bytes_max = 4;
constexpr std::size_t coordinate_bytes = 32;
constexpr std::size_t id_bytes_max = 256;
constexpr std::size_t header_bytes_max = 4'096;
// Headers are flat except for a certificate chain; the library parses JSON recursively.
constexpr std::ptrdiff_t header_brackets_max = 8;
constexpr std::size_t tries_max = 8;  // keys tried when the token names none

// The member as a big-endian number without leading zero bytes; empty: invalid.
std::string number_of(const json& object, const char* name) {
  auto bytes = text::from_base64url(text_member(object, name).value_or(""));
  if (!bytes) return {};
  return bytes->substr(std::min(bytes->find_first_not_of('\0'), bytes->size()));
}

LibraryKey import_key(const std::string& text) {
  return {cjose_jwk_import(text.data(), text.size(), nullptr), &cjose_jwk_release};
}

// The public members of an RSA key of acceptable strength, and of a size that cannot exhaust the
// CPU; or empty.
std::string rsa_json(const json& member) {
  const std::string modulus = number_of(member, "n");
  const std::string exponent = number_of(member, "e");
  const bool is_sound = modulus.size() >= modulus_bytes_min &&
                        modulus.size() <= modulus_bytes_max && (modulus.back() & 1) == 1 &&
                        !exponent.empty() && exponent.size() <= exponent_bytes_max &&
                        (exponent.back() & 1) == 1 && exponent != std::string(1, '\1');
  if (!is_sound) return {};
  return json{
      {"kty", "RSA"}, {"n", text::base64url(modulus)}, {"e", text::base64url(exponent)}}
      .dump();
}

std::string ec_json(const json& member) {
  const auto x = text::from_base64url(text_member(member, "x").value_or(""));
  const auto y = text::from_base64url(text_member(member, "y").value_or(""));
  if (text_member(member, "crv") != "P-256" || !x || !y) return {};
  if (x->size() != coordinate_bytes || y->size() != coordinate_bytes) return {};
  return json{{"kty", "EC"},
              {"crv", "P-256"},
              {"x", text::base64url(*x)},
              {"y", text::base64url(*y)}}
      .dump();
}

std::optional<KeySet::Key> read_key(const json& member) {
  if (!member.is_object()) return std::nullopt;
  for (const char* name : {"kid", "alg", "use"}) {
    if (member.contains(name) && !text_member(member, name)) return std::nullopt;
  }
  if (text_member(member, "use").value_or("sig") != "sig") return std::nullopt;
  const auto type = text_member(member, "kty");
  KeySet::Key key;
  key.id = text_member(member, "kid").value_or("");
  key.algorithm = text_member(member, "alg").value_or("");
  key.is_rsa = type == "RSA";
  if (key.id.size() > id_bytes_max || (type != "RSA" && type != "EC")) return std::nullopt;
  key.json = key.is_rsa ? rsa_json(member) : ec_json(member);
  key.signature_bytes = key.is_rsa ? number_of(member, "n").size() : 2 * coordinate_bytes;
  const QuietErrors quiet;
  if (key.json.empty() || import_key(key.json) == nullptr) return std::nullopt;
  return key;
}

// An empty `id`: the token names no key.
bool fits(const KeySet::Key& key, JwsAlgorithm algorithm, std::string_view id) {
  if (key.is_rsa != (algorithm != JwsAlgorithm::es256)) return false;
  if (!key.algorithm.empty() && key.algorithm != name_of(algorithm)) return false;
  return id.empty() || key.id == id;
}

// The length of the signature of a token with three parts in canonical base64url, since the library
// would accept other forms; nullopt: not such a token.
std::optional<std::size_t> signature_bytes_of(std::string_view token) {
  if (token.size() > KeySet::token_bytes_max) return std::nullopt;
  const std::size_t first = std::min(token.find('.'), token.size());
  const std::size_t last = token.rfind('.');
  if (first == token.size() || first == last) return std::nullopt;
  const auto payload = text::from_base64url(token.substr(first + 1, last - first - 1));
  const auto signature = text::from_base64url(token.substr(last + 1));
  if (!payload || !signature) return std::nullopt;
  return signature->size();
}

// The members of a token's header that are used.
struct Header {
  JwsAlgorithm algorithm = JwsAlgorithm::rs256;
  std::string key_id;  // empty: no key named
};

Result<Header, JwsFault> read_header(std::string_view encoded,
                                     std::span<const JwsAlgorithm> allowed) {
  const auto text = text::from_base64url(encoded);
  if (!text || text->size() > header_bytes_max) return JwsFault::malformed;
  const auto opens = [](char c) { return c == '{' || c == '['; };
  if (std::count_if(text->begin(), text->end(), opens) > header_brackets_max) {
    return JwsFault::malformed;
  }
  const json header = text::parse_json(*text);
  if (!header.is_object() || header.contains("crit")) return JwsFault::malformed;
  const auto name = text_member(header, "alg");
  if (!name) return JwsFault::malformed;
  const auto chosen = std::find_if(allowed.begin(), allowed.end(), [&](JwsAlgorithm algorithm) {
    return name_of(algorithm) == *name;
  });
  if (chosen == allowed.end()) return JwsFault::algorithm;
  if (header.contains("kid") && !text_member(header, "kid")) return JwsFault::malformed;
  return Header{*chosen, text_member(header, "kid").value_or("")};
}

// The library parses the header itself: for a duplicate member it must have read the same value.
bool reads_the_same(cjose_jws_t* token, const Header& header) {
  cjose_header_t* const read = cjose_jws_get_protected(token);
  if (read == nullptr) return false;
  const char* const name = cjose_header_get(read, CJOSE_HDR_ALG, nullptr);
  return name != nullptr && name == name_of(header.algorithm);
}

std::optional<std::string> payload_of(cjose_jws_t* token) {
  std::uint8_t* bytes = nullptr;  // owned by the token
  std::size_t size = 0;
  if (!cjose_jws_get_plaintext(token, &bytes, &size, nullptr)) return std::nullopt;
  return std::string(reinterpret_cast<const char*>(bytes), size);
}

}  // namespace

std::string_view name_of(JwsAlgorithm algorithm) noexcept {
  return algorithm_names[static_cast<std::size_t>(algorithm)];
}

std::optional<KeySet> KeySet::parse(std::string_view text) {
  const json whole = text::parse_json(text);
  if (!whole.is_object()) return std::nullopt;
  const auto members = whole.find("keys");
  if (members == whole.end() || !members->is_array() || members->size() > keys_max) {
    return std::nullopt;
  }
  KeySet keys;
  for (const json& member : *members) {
    if (auto key = read_key(member)) keys.keys_.push_back(*std::move(key));
  }
  return keys;
}

Result<std::string, JwsFault> KeySet::verify(std::string_view token,
                                             std::span<const JwsAlgorithm> allowed) const {
  const auto signature_bytes = signature_bytes_of(token);
  if (!signature_bytes) return JwsFault::malformed;
  const auto header = read_header(token.substr(0, token.find('.')), allowed);
  if (!header.ok()) return header.error();
  const QuietErrors quiet;
  JwsFault fault = JwsFault::key;
  std::size_t tries = 0;
  for (const Key& key : keys_) {
    if (!fits(key, header->algorithm, header->key_id) || ++tries > tries_max) continue;
    fault = JwsFault::signature;
    // The library does not check the length of a pair of numbers: it would read past a short one
    // and ignore the end of a long one.
    if (*signature_bytes != key.signature_bytes) continue;
    // Imported anew for each key: the library stores in the token that it was verified.
    const LibraryToken read(cjose_jws_import(token.data(), token.size(), nullptr),
                            &cjose_jws_release);
    if (read == nullptr || !reads_the_same(read.get(), *header)) return JwsFault::malformed;
    const LibraryKey library_key = import_key(key.json);
    if (library_key == nullptr || !cjose_jws_verify(read.get(), library_key.get(), nullptr)) {
      continue;
    }
    auto payload = payload_of(read.get());
    if (!payload) return JwsFault::malformed;
    return *std::move(payload);
  }
  return fault;
}

}  // namespace turnpike::crypto
