// Attempt: one call that brought a payment, on its way through admission: what is checked here,
// who else has used the payment, the claim, the facilitator's verification, and the settlement
// where it comes first. And the ticket that it ends in.
//
// Lives on the stack of admit(), on the fiber of the call.
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

// The request and its terms, whichever payer answers it.
struct Asked {
  const LaneRequest& request;
  const PricedOperation& operation;
  const CallPolicy policy;
  const Offered& offered;
  const DomainSeparators& separators;
  std::span<const OfferedExtension> extensions;  // that must be echoed, if at all, as offered
  BoundRequest bound;
  // The operation is gone, blocked or not offered any more: `operation` and `offered` are empty,
  // the route is not known, and nothing is begun.
  bool is_recall = false;
  std::string_view purchase_id = {};  // that is paid for; empty: a call
};

// 402 with a challenge; `error` says why.
Refusal challenge(Engine& engine, const Asked& asked, std::string_view code,
                  std::string_view error);

// How long a payment must be valid for the operation to be worth beginning.
std::uint64_t needed_seconds(const PricedOperation& operation) noexcept;

class Attempt {
 public:
  Attempt(Engine& engine, const Asked& asked, PaymentPayload payload, Call& call);

  [[nodiscard]] Admission run();
  // REQUIRES: asked.is_recall. What became of the payment, if it was used for this very request.
  [[nodiscard]] Recalled recall();

 private:
  using Checked = Result<VerifiedPayment, Reason>;
  struct Again {};  // the payment was changed meanwhile: look again
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

  Engine& engine_;
  const Asked& asked_;
  const PaymentPayload payload_;
  Call& call_;
  const std::string key_;
  const std::string payload_digest_;
  const PaymentFlow flow_;
  const bool is_bound_;  // it repeats what binds it to one request
  std::string payer_;    // once it is proven who pays
  Checked checked_;
  bool is_verified_ = false;  // by a facilitator, for this call
  bool resolved_ = false;     // an open settlement was looked into by this call
  std::uint32_t waited_ms_ = 0;
};

}  // namespace turnpike::x402
