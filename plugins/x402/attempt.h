// Attempt: one call that brings a payment, on its way through admission: the local checks, the
// look-up of earlier uses of the payment, the claim, the facilitator's verification and, where it
// comes first, the settlement. The class also makes the ticket at the end.
//
// Lives on the stack of admit(), recall() or notice(), on the fiber of the call.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <turnpike/lane.h>

#include "x402/engine.h"
#include "x402/policy.h"
#include "x402/protocol/extensions.h"
#include "x402/protocol/payload.h"
#include "x402/protocol/verify.h"
#include "x402/terms.h"

namespace turnpike::x402 {

// The request and its terms, independent of the payer.
struct Asked {
  const LaneRequest& request;
  const PricedOperation& operation;
  const CallPolicy policy;
  const Offered& offered;
  const DomainSeparators& separators;
  std::span<const OfferedExtension> extensions;  // if echoed, then as offered
  BoundRequest bound;
  // The operation is gone, blocked or not offered any more, or the purchase is closed: no work is
  // begun. For a lane, `operation` and `offered` are then empty and the route is not known.
  bool is_recall = false;
  std::string_view purchase_id = {};  // the purchase to be paid; empty: a call
};

// Returns a refusal that carries a challenge; `error` says why.
Refusal challenge(Engine& engine, const Asked& asked, std::string_view code,
                  std::string_view error);

// How long a payment must be valid for the operation to be worth beginning.
std::uint64_t needed_seconds(const PricedOperation& operation) noexcept;

class Attempt {
 public:
  Attempt(Engine& engine, const Asked& asked, PaymentPayload payload, Call& call);

  [[nodiscard]] Admission run();
  // Returns what became of the payment, if it was used for this very request. REQUIRES:
  // asked.is_recall.
  [[nodiscard]] Recalled recall();

 private:
  using Checked = Result<VerifiedPayment, Reason>;
  struct Again {};  // the payment has changed: look at it again
  using Decision = std::variant<Admission, Again>;

  [[nodiscard]] Checked check() const;
  [[nodiscard]] std::optional<Reason> check_terms(std::uint64_t now_s) const;
  void know_payer(std::string_view said);
  [[nodiscard]] Decision begin();
  [[nodiscard]] Decision follow(KnownPayment known);
  [[nodiscard]] Decision wait_for(const KnownPayment& known);
  [[nodiscard]] Decision take_over(KnownPayment known);
  [[nodiscard]] Decision go_on_paid(KnownPayment known);
  [[nodiscard]] Decision give_again(KnownPayment known);
  [[nodiscard]] Decision follow_identifier();
  [[nodiscard]] bool collects_first() const noexcept { return flow_ == PaymentFlow::upfront; }
  [[nodiscard]] bool is_abandoned(const PaymentRecord& record) const noexcept;
  [[nodiscard]] Decision free_identifiers(KnownPayment abandoned);
  [[nodiscard]] bool is_of_purchase(std::string_view identifier) const;

  [[nodiscard]] Admission proceed(KnownPayment payment);
  [[nodiscard]] Admission collect_first(KnownPayment payment);
  [[nodiscard]] std::optional<Admission> prove(KnownPayment* known);
  [[nodiscard]] std::optional<Refusal> ask_wallet();
  [[nodiscard]] std::optional<Admission> ask_facilitator(bool is_proven, KnownPayment* known);
  [[nodiscard]] std::optional<Admission> verify_remotely(KnownPayment& payment);
  [[nodiscard]] std::optional<Admission> check_time(const PaymentRecord& record);
  [[nodiscard]] Admission ticket(KnownPayment payment);

  [[nodiscard]] bool is_of_this_request(const PaymentRecord& record) const;
  [[nodiscard]] bool is_proven() const noexcept {
    return checked_.value().proof != Proof::needs_facilitator;
  }
  [[nodiscard]] bool is_supported() const noexcept;
  [[nodiscard]] PaymentRecord claim_record() const;
  [[nodiscard]] OpenSettlement open_settlement() const;
  [[nodiscard]] FacilitatorRequest facilitator_request(const OpenSettlement& open) const;
  [[nodiscard]] std::vector<std::string> identifiers() const;
  [[nodiscard]] std::vector<std::string> new_identifiers(const PaymentRecord& record) const;
  [[nodiscard]] Refusal refused(std::string_view reason) const;
  [[nodiscard]] Refusal unreadable() const;

  Engine& engine_;
  const Asked& asked_;
  const PaymentPayload payload_;
  Call& call_;
  const std::string key_;
  const std::string payload_digest_;
  const PaymentFlow flow_;
  const bool is_bound_;  // the payload repeats the binding to one request
  std::string payer_;    // empty until the payer is proven
  Checked checked_;
  bool is_verified_ = false;  // a facilitator has verified the payment for this call
  bool resolved_ = false;     // this call has tried to resolve the open settlement
  std::uint32_t waited_ms_ = 0;
};

}  // namespace turnpike::x402
