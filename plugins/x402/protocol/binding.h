// Binds a challenge to one request. A payment itself does not say what it pays for
// (docs/protocols.md, "Binding a payment to its request"), so each challenge carries our extension
// `turnpike-binding`. It holds one MAC per entry of `accepts`, over the entry, the request, an
// expiry and a nonce, and the caller echoes it. Any node that holds the key then knows that exactly
// these terms were offered for exactly this request, even after a reload, a price change or a
// restart.
//
// The nonce is in the payload but not on the chain. Anybody can read the rest of a payment on the
// chain once it is settled, so only the sender can send the same bytes again.
//
// Immutable; safe on any thread.
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

// The parts of the request as received, without decoding or normalization.
struct BoundRequest {
  std::string_view route_id;
  std::string_view method;
  std::string_view path;
  std::string_view query;
  Word body_sha256;
};

// Opaque to callers: 16 random bytes, then the version of the quoted price, so that a payment for
// an old quote is booked under the old price version.
using BindingNonce = std::array<std::uint8_t, 20>;
[[nodiscard]] BindingNonce binding_nonce(std::span<const std::uint8_t, 16> random,
                                         std::uint32_t price_version) noexcept;
// Returns nullopt if the payload does not say. REQUIRES: the binding of `payload` was checked.
[[nodiscard]] std::optional<std::uint32_t> quoted_price_version(const PaymentPayload& payload);

class Binding {
 public:
  explicit Binding(const std::array<std::uint8_t, 32>& key) : key_(key) {}
  ~Binding();
  Binding(const Binding&) = delete;
  Binding& operator=(const Binding&) = delete;

  // Returns {"info":{"expires":...,"nonce":"...","macs":[...]},"schema":{...}}, the extension's
  // JSON. `entries` are the entries of `accepts` as canonical_json writes them; `nonce` is random.
  [[nodiscard]] std::string extension_json(const BoundRequest& request,
                                           std::span<const std::string_view> entries,
                                           std::uint64_t expires_s,
                                           const BindingNonce& nonce) const;

  // Returns nullopt if the terms that the payment accepted were offered for this request and have
  // not expired, else turnpike_binding_{missing,malformed,expired,mismatch}. Only after nullopt is
  // `payload.accepted` known to be our terms.
  [[nodiscard]] std::optional<Reason> check(const BoundRequest& request,
                                            const PaymentPayload& payload,
                                            std::uint64_t now_s) const;

 private:
  std::array<std::uint8_t, 32> key_;
};

}  // namespace turnpike::x402
