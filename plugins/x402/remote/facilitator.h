// Facilitators: the services that check a payment and put it on the chain (docs/protocols.md,
// "Facilitators"), in the order of the settings. A verification may ask several of them. A
// settlement is sent to one of them, and to another only if certainly nothing of the request was
// sent. Facilitators that keep failing stand behind the others for a while, so that callers need
// not wait for them first.
//
// Owned by an Engine or, for a check, by the processor, over a Host that outlives it. Any Thread or
// fiber at the same time; what takes a Call waits, the rest does not. Nothing throws: memory
// exhaustion during a settlement is an unknown outcome.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <turnpike/host.h>
#include <turnpike/settings.h>

#include "x402/remote/allowance.h"
#include "x402/remote/cdp_key.h"
#include "x402/remote/endpoint.h"
#include "x402/remote/facilitator_reply.h"

namespace turnpike::x402 {

struct FacilitatorSettings {
  RemoteUrl url;
  std::vector<std::string> networks;  // CAIP-2, or "eip155:*"; empty: all that it supports
  std::vector<OwnedHeader> verify_headers;
  std::vector<OwnedHeader> settle_headers;
  std::vector<OwnedHeader> supported_headers;
  std::shared_ptr<const CdpKey> cdp_key;  // or null: signs a token for each request
  bool lacks_secret = false;              // then it is never asked
  bool allow_private_addresses = false;
  std::uint32_t verify_timeout_ms = 10'000;
  // For one settlement and all that is asked for it. Longer than a facilitator waits for a
  // confirmation: its SDK gives a settlement 90 s.
  std::uint32_t settle_timeout_ms = 90'000;
  // How many payments with an unproven signature, which it then finds invalid, it verifies per
  // minute; see allowance.h.
  std::uint32_t unproven_per_minute = unproven_per_minute_default;
};

// Reads the list `facilitators` of the lane's settings, such as
//
//   - url: https://x402.example
//     networks: ["eip155:8453"]
//     headers: {all: {Authorization: {secret: {env: NAME}}}, settle: {...}}
//     cdp_key: {id: ..., secret: {secret: {env: NAME}}}
//
// The failure has every mistake, with its place below the list: "[0].url". An empty list is a
// mistake, too.
Result<std::vector<FacilitatorSettings>> read_facilitators(const Settings& list);

// A payment as facilitators are asked about it. The texts go into the request unchanged, so they
// must be valid JSON that this process has made or checked.
struct FacilitatorRequest {
  std::string_view payload_json;       // PaymentPayload
  std::string_view requirements_json;  // the PaymentRequirements that were offered
  std::string_view scheme;
  std::string_view network;
  // Solana: `extra.feePayer` of the requirements. Only the facilitator that has its key can settle.
  std::string_view fee_payer;
};

struct FacilitatorState {
  std::string origin;
  bool lacks_secret = false;
  bool is_behind = false;              // it kept failing
  std::uint32_t failures = 0;          // in a row
  std::optional<std::int64_t> age_ms;  // of what it said it supports; nullopt: not known (any more)
};

class Facilitators {
 public:
  // A facilitator that cannot be asked keeps its kinds this long.
  static constexpr std::int64_t kinds_kept_ms = 1'800'000;
  // This many failures in a row put a facilitator behind the others for this long.
  static constexpr std::uint32_t failures_max = 3;
  static constexpr std::int64_t behind_ms = 30'000;
  // One that refuses our credentials supports nothing for this long.
  static constexpr std::int64_t refuses_us_ms = 60'000;

  Facilitators(std::vector<FacilitatorSettings> settings, Host& host);
  ~Facilitators();

  // Asks each facilitator what it supports. Returns false if one did not answer. Meant to run at
  // start and every few minutes.
  bool refresh_supported(Call& call) noexcept;

  // Whether a facilitator that may be asked has recently said that it supports this. Takes a short
  // lock; fast enough for a caller's path.
  [[nodiscard]] bool supports(std::string_view scheme, std::string_view network) const noexcept;
  // What the first facilitator that supports it wants in `extra` of an offer: Solana's fee payer.
  [[nodiscard]] std::optional<SupportedKind> extra_of(std::string_view scheme,
                                                      std::string_view network) const;
  [[nodiscard]] std::vector<FacilitatorState> state() const;
  // Which facilitators refuse our credentials now, one bit each. When it changes, so does
  // supports().
  [[nodiscard]] std::uint32_t refusing_us() const noexcept;

  // Has no side effects, so the next facilitator is asked if one cannot answer. `is_proven`: the
  // named payer has signed the payment. Anybody can invent a payment that is not proven, so each
  // facilitator is asked about a bounded number of those.
  Verification verify(const FacilitatorRequest& request, bool is_proven, Call& call) noexcept;

  // Once the request may have been sent, the outcome is what that one facilitator says. After
  // `settlement_pending` with a hash it is asked once more with the identical body
  // (docs/protocols.md, "Facilitators"). All of this takes at most the longest settle_timeout_ms of
  // those asked. It goes on even if the caller has left. `first` is the URL of the facilitator to
  // ask before the others. After an unknown outcome this is the one that was asked then, since it
  // may remember the payment.
  Settlement settle(const FacilitatorRequest& request, Call& call,
                    std::string_view first = {}) noexcept;

 private:
  struct Facilitator;
  struct Known;
  using Order = std::vector<Facilitator*>;

  [[nodiscard]] Order order_for(const FacilitatorRequest& request, std::string_view first) const;
  Verification verify_in_order(const FacilitatorRequest& request, bool is_proven, Call& call);
  std::optional<Verification> verify_once(Facilitator& facilitator,
                                          const FacilitatorRequest& request,
                                          const std::string& body, Call& call);
  Settlement settle_in_order(const FacilitatorRequest& request, Call& call, std::string_view first);
  std::optional<Settlement> settle_once(Facilitator& facilitator, const FacilitatorRequest& request,
                                        const std::string& body, std::int64_t begin_ns, Call& call);
  bool refresh(Facilitator& facilitator, Call& call);
  void note_status(Facilitator& facilitator, int status);
  void note(Facilitator& facilitator, bool is_success, std::string_view doing,
            std::string_view problem);

  Host& host_;
  std::vector<std::unique_ptr<Facilitator>> facilitators_;
};

}  // namespace turnpike::x402
