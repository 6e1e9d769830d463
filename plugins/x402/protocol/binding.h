// Binding of a challenge to one request. Nothing in a payment binds it to what it pays for
// (docs/protocols.md, "Binding a payment to its request"), so each challenge carries an extension
// of ours, `turnpike-binding`, with a MAC per entry of `accepts` over the entry, the request, an
// expiry and a nonce. A caller echoes it; whoever holds the key then knows that exactly these terms
// were offered for exactly this request, also after a reload, a change of price or a restart, and
// on any node. The nonce is in the payload but not on the chain, where everybody can read the rest
// of a payment once it is settled: so only its sender can send the same bytes again. Immutable;
// safe on any thread.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "x402/protocol/bytes.h"
#include "x402/protocol/payload.h"
#include "x402/protocol/reason.h"

namespace turnpike::x402 {

inline constexpr std::string_view binding_extension = "turnpike-binding";

// As it came: nothing is decoded or normalized.
struct BoundRequest {
  std::string_view route_id;
  std::string_view method;
  std::string_view path;
  std::string_view query;
  Word body_sha256;
};

// Opaque to callers: 16 random bytes, and the version of the price that is quoted, so that what is
// paid for an old quote is booked as what it was.
using BindingNonce = std::array<std::uint8_t, 20>;
[[nodiscard]] BindingNonce binding_nonce(std::span<const std::uint8_t, 16> random,
                                         std::uint32_t price_version) noexcept;
// REQUIRES: the binding of `payload` was checked. Nothing: it does not say.
[[nodiscard]] std::optional<std::uint32_t> quoted_price_version(const PaymentPayload& payload);

class Binding {
 public:
  explicit Binding(const std::array<std::uint8_t, 32>& key) : key_(key) {}
  ~Binding();
  Binding(const Binding&) = delete;
  Binding& operator=(const Binding&) = delete;

  // The extension's JSON, {"info":{"expires":...,"nonce":"...","macs":[...]},"schema":{...}}.
  // `entries` are those of `accepts`, as canonical_json writes them; `nonce` is random.
  [[nodiscard]] std::string extension_json(const BoundRequest& request,
                                           std::span<const std::string_view> entries,
                                           std::uint64_t expires_s,
                                           const BindingNonce& nonce) const;

  // Nothing when what the payment accepted was offered for this request and its time is not over;
  // else turnpike_binding_{missing,malformed,expired,mismatch}. Then, and only then,
  // `payload.accepted` are terms of ours.
  [[nodiscard]] std::optional<Reason> check(const BoundRequest& request,
                                            const PaymentPayload& payload,
                                            std::uint64_t now_s) const;

 private:
  std::array<std::uint8_t, 32> key_;
};

}  // namespace turnpike::x402
