#include "x402/protocol/binding.h"

#include <algorithm>

#include <botan/mem_ops.h>

#include "x402/protocol/digest.h"
#include "x402/protocol/encoding.h"

namespace turnpike::x402 {
namespace {

constexpr std::string_view version_tag = "turnpike-binding/2";

// Writes the length first, so that two different lists of parts never give the same text.
void append_sized(std::string& out, std::string_view part) {
  out += bytes_of(word_of(part.size())).substr(24);
  out += part;
}

// Everything that is bound except the entry, which comes last.
std::string bound_text(const BoundRequest& request, std::uint64_t expires_s,
                       std::string_view nonce) {
  std::string text;
  text.reserve(256 + request.route_id.size() + request.path.size() + request.query.size());
  append_sized(text, version_tag);
  append_sized(text, request.route_id);
  append_sized(text, request.method);
  append_sized(text, request.path);
  append_sized(text, request.query);
  append_sized(text, bytes_of(request.body_sha256));
  append_sized(text, bytes_of(word_of(expires_s)));
  append_sized(text, nonce);
  return text;
}

std::string mac_of(std::string_view key, const std::string& bound, std::string_view entry) {
  const Word size = word_of(entry.size());
  return base64url_encode(bytes_of(hmac_sha256(key, {bound, bytes_of(size).substr(24), entry})));
}

}  // namespace

BindingNonce binding_nonce(std::span<const std::uint8_t, 16> random,
                           std::uint32_t price_version) noexcept {
  BindingNonce nonce{};
  std::copy(random.begin(), random.end(), nonce.begin());
  for (std::size_t at = nonce.size(); at > random.size(); price_version >>= 8) {
    nonce[--at] = static_cast<std::uint8_t>(price_version);
  }
  return nonce;
}

std::optional<std::uint32_t> quoted_price_version(const PaymentPayload& payload) {
  constexpr std::size_t random_bytes = 16;
  const JsonValue nonce = payload.extension(binding_extension)["info"]["nonce"];
  const auto bytes = base64url_decode(nonce.plain(), sizeof(BindingNonce));
  if (!bytes || bytes->size() != sizeof(BindingNonce)) return std::nullopt;
  std::uint32_t version = 0;
  for (const char byte : bytes->substr(random_bytes)) {
    version = version << 8 | static_cast<unsigned char>(byte);
  }
  return version;
}

Binding::~Binding() { Botan::secure_scrub_memory(key_.data(), key_.size()); }

std::string Binding::extension_json(const BoundRequest& request,
                                    std::span<const std::string_view> entries,
                                    std::uint64_t expires_s, const BindingNonce& nonce) const {
  const std::string nonce_text = base64url_encode(bytes_of(nonce));
  const std::string bound = bound_text(request, expires_s, nonce_text);
  std::string out = R"({"info":{"expires":)" + std::to_string(expires_s);
  out.append(R"(,"nonce":")").append(nonce_text).append(R"(","macs":[)");
  for (const std::string_view entry : entries) {
    if (out.back() != '[') out += ',';
    out.append("\"").append(mac_of(bytes_of(key_), bound, entry)).append("\"");
  }
  out += R"(]},"schema":{"type":"object","required":["expires","nonce","macs"]}})";
  return out;
}

std::optional<Reason> Binding::check(const BoundRequest& request, const PaymentPayload& payload,
                                     std::uint64_t now_s) const {
  const JsonValue extension = payload.extension(binding_extension);
  if (extension.is_missing()) return Reason::turnpike_binding_missing;
  const JsonValue macs = extension["info"]["macs"];
  const JsonValue nonce = extension["info"]["nonce"];
  const auto expires_s = extension["info"]["expires"].natural();
  if (!expires_s || !nonce.is(JsonKind::string) || !macs.is(JsonKind::array)) {
    return Reason::turnpike_binding_malformed;
  }
  if (*expires_s <= now_s) return Reason::turnpike_binding_expired;
  const std::string expected =
      mac_of(bytes_of(key_), bound_text(request, *expires_s, nonce.plain()),
             canonical_json(payload.accepted));
  for (const auto mac : macs) {
    const bool is_ours = equal_in_constant_time(mac.value.plain(), expected);
    if (is_ours && !payload.accepted_has_more) return std::nullopt;
  }
  return Reason::turnpike_binding_mismatch;
}

}  // namespace turnpike::x402
