#include "x402/attempt.h"

#include <algorithm>
#include <array>
#include <utility>

#include "x402/calls.h"
#include "x402/offers/canonical_json.h"
#include "x402/protocol/digest.h"
#include "x402/protocol/encoding.h"
#include "x402/purchase_record.h"
#include "x402/ticket.h"

namespace turnpike::x402 {
namespace {

constexpr std::int64_t lease_margin_ms = 10'000;
constexpr std::uint32_t settlement_reserve_s = 10;
constexpr std::int64_t resolve_pause_ms = 1'000;  // between looks at one open settlement
constexpr std::uint32_t wait_min_ms = 20;
constexpr std::uint32_t wait_max_ms = 250;
constexpr std::string_view not_payable = "x402.not_payable";

Refusal other_request() {
  return refusal("idempotency.conflict",
                 "This payment was used for another request, and buys one call. Pay anew.", 0);
}

// Anybody can read such a payment on the chain, so what it bought is given once.
Refusal used_up(const KnownPayment& payment) {
  Refusal answer = refusal("idempotency.reply_not_stored",
                           "This payment bought one call, which was answered, by the transaction " +
                               payment.record.transaction +
                               ". It did not repeat the challenge's extensions, so its reply is "
                               "not kept.",
                           0);
  answer.headers.push_back({"PAYMENT-RESPONSE", payment.response});
  return answer;
}

// Another payment pays for the purchase, or is about to. This payment was not collected.
Refusal purchase_taken(const KnownPayment& other) {
  if (other.record.settled_ms != 0) {
    return refusal("x402.purchase_paid",
                   "This purchase was paid by another payment; this one was not collected.", 0);
  }
  return refusal("x402.in_progress",
                 "Another payment for this purchase is being collected; this one was not. Ask "
                 "later what became of it.",
                 retry_seconds);
}

Refusal being_worked_on() {
  return refusal("x402.in_progress",
                 "This payment is being worked on. Send the same request again.", retry_seconds);
}

Refusal not_collected() {
  return refusal("x402.unavailable", "Payments cannot be taken now; nothing was charged.",
                 retry_seconds);
}

bool may_be_collected(PaymentState state) noexcept {
  switch (state) {
    case PaymentState::claimed:
    case PaymentState::working:
    case PaymentState::released:
    case PaymentState::never_paid:
    case PaymentState::refunded:
      return false;
    case PaymentState::settling:
    case PaymentState::settled:
    case PaymentState::answered:
    case PaymentState::settlement_unknown:
    case PaymentState::owed:
      break;
  }
  return true;
}

// Over canonical JSON, so that the transport makes no difference: over MCP the payload is an object
// that was written anew.
std::string digest_of_payload(const PaymentPayload& payload) {
  const auto canonical = canonical_json(payload.json.root());
  return digits_of(canonical ? sha256(*canonical) : payload.sha256());
}

// Covers everything that tells one request from another.
std::string digest_of_request(const BoundRequest& request, std::string_view route_id) {
  return digits_of(sha256({route_id, "\n", request.method, "\n", request.path, "\n", request.query,
                           "\n", bytes_of(request.body_sha256)}));
}

Refusal too_many_unproven() {
  return refusal("x402.unavailable",
                 "Too many payments with signatures that prove nothing came lately. Send the same "
                 "request with the same payment again.",
                 retry_seconds);
}

// The flow that the payer agreed to; the route may have another one by now.
PaymentFlow flow_of(const PaymentRequirements& accepted) noexcept {
  using enum PaymentFlow;
  return accepted.extra.payment_flow == name_of(upfront) ? upfront : authorization;
}

}  // namespace

Refusal refusal(std::string_view code, std::string message, std::uint32_t retry_after_seconds) {
  return {std::string(code), std::move(message), retry_after_seconds, {}, {}, {}};
}

Refusal challenge(Engine& engine, const Asked& asked, std::string_view code,
                  std::string_view error) {
  std::array<std::uint8_t, 16> random{};
  engine.host.random().fill(random);
  const BindingNonce nonce = binding_nonce(random, asked.operation.price_version);
  Challenge made =
      engine.challenges.make(asked.operation, asked.request.operation, asked.offered, asked.bound,
                             error, engine.host.clock().now_ms() / 1000, nonce);
  Refusal answer = refusal(code, std::string(error), 0);
  answer.headers.push_back({"PAYMENT-REQUIRED", std::move(made.header)});
  answer.body = std::move(made.body);
  answer.content_type = "application/json";
  return answer;
}

std::uint64_t needed_seconds(const PricedOperation& operation) noexcept {
  return operation.deadline_ms / 1000 + settlement_reserve_s;
}

Attempt::Attempt(Engine& engine, const Asked& asked, PaymentPayload payload, Call& call)
    : engine_(engine),
      asked_(asked),
      payload_(std::move(payload)),
      call_(call),
      key_(digits_of(payment_key(payload_))),
      payload_digest_(digest_of_payload(payload_)),
      flow_(flow_of(payload_.accepted)),
      is_bound_(!payload_.extension(binding_extension).is_missing()),
      checked_(asked.is_recall ? Checked(Reason::no_matching_payment_requirements) : check()) {
  if (checked_.ok() && is_proven()) know_payer({});
}

// Stores one spelling of each account. `said` is the payer that a facilitator named.
void Attempt::know_payer(std::string_view said) {
  if (const auto* transfer = std::get_if<Eip3009Payment>(&payload_.payment)) {
    payer_ = checksum_address(transfer->from);
  } else if (const auto* permit = std::get_if<Permit2Payment>(&payload_.payment)) {
    payer_ = checksum_address(permit->from);
  } else {
    payer_ = said;
  }
}

// Checks that the terms are ours: offered for this request or, if the payment has no binding and
// needs none, offered now.
std::optional<Reason> Attempt::check_terms(std::uint64_t now_s) const {
  if (is_bound_ || asked_.policy.binding == PaymentBinding::required) {
    return engine_.binding.check(asked_.bound, payload_, now_s);
  }
  const auto& offered = asked_.offered.accepts;
  const bool is_offered =
      !payload_.accepted_has_more &&
      std::find(offered.begin(), offered.end(), payload_.accepted) != offered.end();
  if (is_offered) return std::nullopt;
  return Reason::no_matching_payment_requirements;
}

Attempt::Checked Attempt::check() const {
  const auto now_s = static_cast<std::uint64_t>(engine_.host.clock().now_ms() / 1000);
  if (const auto reason = check_terms(now_s)) return *reason;
  if (!echoes(payload_, asked_.extensions)) return Reason::extension_echo_mismatch;
  if (engine_.settings.is_lost(payload_.accepted.pay_to)) return Reason::turnpike_address_lost;
  auto verified = verify(payload_, payload_.accepted, asked_.separators, now_s,
                         needed_seconds(asked_.operation));
  // While the payment is valid, its record and reply are kept and an unknown outcome may stay open,
  // so its validity has a limit.
  const std::uint64_t latest_s = now_s + engine_.settings.max_validity_seconds;
  if (verified.ok() && verified.value().valid_before_s > latest_s) {
    return Reason::turnpike_validity_too_long;
  }
  return verified;
}

// A payment that is no longer good may still be known, because it was settled or may have been.
// Then its sender is told what became of it.
Admission Attempt::run() {
  bool is_first = checked_.ok() && is_supported() && is_proven();
  for (;;) {
    Decision decision = Again{};
    if (is_first) {
      decision = begin();
      is_first = false;
    } else {
      auto known = engine_.payments.find(key_, call_);
      if (!known.ok()) return unreadable();
      if (*known) {
        decision = follow(**std::move(known));
      } else if (!checked_.ok()) {
        return refused(code_of(checked_.error()));
      } else if (auto unproven = prove(nullptr)) {
        return *std::move(unproven);
      } else {
        decision = follow_identifier();
        is_first = std::holds_alternative<Again>(decision);
        if (is_first && !is_supported()) return unavailable();
      }
    }
    if (auto* admission = std::get_if<Admission>(&decision)) return std::move(*admission);
  }
}

// Where the operation is not offered any more, only what was begun before is answered.
Recalled Attempt::recall() {
  for (;;) {
    auto known = engine_.payments.find(key_, call_);
    if (!known.ok()) return unreadable();
    if (!*known || !is_of_this_request((*known)->record)) return {};
    Decision decision = follow(**std::move(known));
    auto* admission = std::get_if<Admission>(&decision);
    if (admission == nullptr) continue;
    if (auto* stored = std::get_if<Replay>(admission)) return std::move(*stored);
    auto* told = std::get_if<Refusal>(admission);
    if (told == nullptr || told->code == not_payable) return {};
    return std::move(*told);
  }
}

// The store does not answer, perhaps because the time of the call is over. What this call knows of
// the payment still holds: money may move or have moved, so nothing suggests that it did not.
Refusal Attempt::unreadable() const {
  if (resolved_) return settlement_unknown();
  return waited_ms_ == 0 ? unavailable() : being_worked_on();
}

// If the operation is gone, the route is the one in the payment's record.
bool Attempt::is_of_this_request(const PaymentRecord& record) const {
  return record.request_digest ==
         digest_of_request(asked_.bound, asked_.is_recall ? std::string_view(record.route_id)
                                                          : asked_.bound.route_id);
}

Refusal Attempt::refused(std::string_view reason) const {
  if (asked_.is_recall) return refusal(not_payable, std::string(reason), 0);
  const bool lacks_allowance = reason == "permit2_allowance_required";
  return challenge(engine_, asked_,
                   lacks_allowance ? "x402.allowance_required" : "x402.payment_refused", reason);
}

// Claims the payment as one that nobody has used.
Attempt::Decision Attempt::begin() {
  KnownPayment payment{key_, {}, 0};
  const auto own = identifiers();
  switch (engine_.payments.write(payment, claim_record(), {.identifiers = own}, call_)) {
    case Step::done:
      return proceed(std::move(payment));
    case Step::lost:
      return Again{};
    case Step::unavailable:
    case Step::unknown:  // its lease then ends by itself, with nothing charged
      break;
  }
  return unavailable();
}

// Whether any facilitator could settle it now.
bool Attempt::is_supported() const noexcept {
  return engine_.facilitators.supports(payload_.accepted.scheme, payload_.accepted.network);
}

PaymentRecord Attempt::claim_record() const {
  const PaymentRequirements& terms = payload_.accepted;
  PaymentRecord record;
  record.state = collects_first() ? PaymentState::claimed : PaymentState::working;
  record.request_digest = digest_of_request(asked_.bound, asked_.bound.route_id);
  record.payload_digest = payload_digest_;
  record.operation = std::string(name_of(asked_.operation.method)) + " ";
  record.operation += asked_.operation.path;
  record.route_id = asked_.operation.route_id;
  record.offer_id = offer_id_of(terms);
  const auto& current = asked_.offered.offer_ids;
  if (const auto quoted = quoted_price_version(payload_)) {
    record.price_version = *quoted;
  } else if (std::find(current.begin(), current.end(), record.offer_id) != current.end()) {
    record.price_version = asked_.operation.price_version;
  }
  record.resource_url = engine_.challenges.resource_url(asked_.request.path, asked_.request.query);
  record.request_id = asked_.request.request_id;
  record.flow = flow_;
  record.purchase = asked_.purchase_id;
  // Once an unbound payment is on the chain anybody can send it, so a repeat gets no work. A
  // purchase counts as bound, because its Credits go to its account whoever sends the payment.
  record.is_bound = is_bound_ || !asked_.purchase_id.empty();
  record.unearned = record.is_bound ? asked_.policy.unearned : UnearnedPayment::refund;
  record.scheme = terms.scheme;
  record.network = terms.network;
  record.asset = terms.asset;
  record.amount = terms.amount;
  record.pay_to = terms.pay_to;
  record.payer = checked_.value().payer;
  if (const auto* transfer = std::get_if<Eip3009Payment>(&payload_.payment)) {
    record.nonce = hex_encode(bytes_of(transfer->nonce));
  }
  record.valid_before_s =
      static_cast<std::int64_t>(std::min(checked_.value().valid_before_s, std::uint64_t{1} << 40));
  record.claimed_ms = engine_.payments.now_ms();
  engine_.lease(record,
                asked_.operation.deadline_ms + engine_.verify_budget_ms() + lease_margin_ms);
  return record;
}

// Store keys of the payer's own ids, and of the purchase, which one payment pays for. The payer's
// ids are left out until it is proven who pays, so that nobody can block the ids of another payer.
std::vector<std::string> Attempt::identifiers() const {
  std::vector<std::string> own;
  if (!asked_.purchase_id.empty()) own.push_back(keys::payment_of_purchase(asked_.purchase_id));
  if (payer_.empty()) return own;
  const std::string payer = "payer " + payer_;
  if (!payload_.payment_id.empty()) {
    own.push_back(
        keys::identifier(payer + " " + std::string(asked_.bound.route_id), payload_.payment_id));
  }
  if (!asked_.request.idempotency_key.empty()) {
    own.push_back(keys::identifier(payer, asked_.request.idempotency_key));
  }
  return own;
}

// The ids that the payment does not hold yet.
std::vector<std::string> Attempt::new_identifiers(const PaymentRecord& record) const {
  auto own = identifiers();
  std::erase_if(own, [&record](const std::string& identifier) {
    return record.identifiers.find(identifier) != std::string::npos;
  });
  return own;
}

// The claim failed although the payment is not known, so an id that came with it is bound to
// another payment. Under an Idempotency-Key the same payer gets what that payment bought; a
// payment-identifier names one payment for good.
Attempt::Decision Attempt::follow_identifier() {
  for (const std::string& identifier : identifiers()) {
    const auto bound = engine_.payments.bound_to(identifier, call_);
    if (!bound.ok()) return unavailable();
    if (!*bound || **bound == key_) continue;
    const bool is_key_of_ours =
        !asked_.request.idempotency_key.empty() && identifier == identifiers().back();
    auto other = engine_.payments.find(**bound, call_);
    if (!other.ok()) return unavailable();
    if (!*other) continue;
    if (is_abandoned((*other)->record)) return free_identifiers(**std::move(other));
    if (is_of_purchase(identifier)) return Admission(purchase_taken(**other));
    if (is_key_of_ours && is_of_this_request((*other)->record)) {
      if ((*other)->record.state == PaymentState::answered) return give_again(**other);
      if ((*other)->record.state == PaymentState::owed) {
        (void)engine_.payments.read_response(**other, call_);
        return Admission(refund_owed(**other));
      }
      return Admission(refusal("idempotency.in_progress",
                               "A call with this Idempotency-Key is not over yet.", retry_seconds));
    }
    return Admission(refusal("idempotency.conflict",
                             "This id came before, with another payment or another request.", 0));
  }
  return Again{};  // the ids were freed meanwhile
}

bool Attempt::is_of_purchase(std::string_view identifier) const {
  return !asked_.purchase_id.empty() &&
         identifier == keys::payment_of_purchase(asked_.purchase_id);
}

// Nobody works on it, and nothing was charged.
bool Attempt::is_abandoned(const PaymentRecord& record) const noexcept {
  const bool is_begun =
      record.state == PaymentState::claimed || record.state == PaymentState::working;
  return is_begun && !engine_.is_leased(record);
}

Attempt::Decision Attempt::free_identifiers(KnownPayment abandoned) {
  const Step step = engine_.release(abandoned, "abandoned", call_);
  if (step == Step::done || step == Step::lost) return Again{};
  return Admission(unavailable());
}

// The payment was used before: by an earlier try of this caller, by another call now, or by a
// thief.
Attempt::Decision Attempt::follow(KnownPayment known) {
  const PaymentRecord& record = known.record;
  const bool is_leased = engine_.is_leased(record);
  if (!is_of_this_request(record)) {
    if (!checked_.ok()) return Admission(refused(code_of(checked_.error())));
    const bool is_free = record.state == PaymentState::released || !is_leased;
    if (!is_claimable(record.state) || !is_free) return Admission(other_request());
  }
  // A stored reply belongs to the sender of exactly these bytes. Once a payment is settled,
  // everything in it except the nonce of its binding is on the chain, its signature included, so
  // anybody can send that. The bytes need not be verified again.
  if (record.payload_digest != payload_digest_) {
    // Where money has moved, do not send a challenge: its reader would pay again.
    if (may_be_collected(record.state)) {
      return Admission(refusal("idempotency.conflict",
                               "This payment was used before, in another form. Send it again as "
                               "it was sent then.",
                               0));
    }
    const bool is_refused = !checked_.ok() && record.watch_ms == 0;
    if (is_refused) return Admission(refused(code_of(checked_.error())));
  }
  switch (record.state) {
    case PaymentState::answered:
      return give_again(std::move(known));
    case PaymentState::owed:
      (void)engine_.payments.read_response(known, call_);  // the refund is told even if this fails
      return Admission(refund_owed(known));
    case PaymentState::never_paid:
      return Admission(refused(record.reason));
    case PaymentState::refunded:
      return Admission(refusal("x402.payment_refused", "This payment was paid back. Pay anew.", 0));
    case PaymentState::claimed:
    case PaymentState::working:
    case PaymentState::released:
      return is_leased && record.state != PaymentState::released ? wait_for(known)
                                                                 : take_over(std::move(known));
    case PaymentState::settled:
      return is_leased ? wait_for(known) : go_on_paid(std::move(known));
    case PaymentState::settling:
      if (is_leased) return wait_for(known);
      [[fallthrough]];
    case PaymentState::settlement_unknown:
      break;
  }
  const bool is_fresh = engine_.payments.now_ms() < record.attempted_ms + resolve_pause_ms;
  if (is_leased || resolved_ || is_fresh) return Admission(settlement_unknown());
  resolved_ = true;
  ExtendedCall call(call_, engine_.host.clock(), engine_.settle_budget_ms());
  // The payer counts as waiting only if the payment is still good for the work.
  if (!engine_.resolve(std::move(known), checked_.ok(), call).ok()) {
    return Admission(settlement_unknown());
  }
  return Again{};
}

Attempt::Decision Attempt::give_again(KnownPayment known) {
  if (!engine_.payments.read_response(known, call_).ok()) return Admission(settlement_unknown());
  if (!known.record.is_bound) return Admission(used_up(known));
  auto reply = engine_.payments.reply(known, call_);
  if (!reply.ok()) return Admission(settlement_unknown());
  if (!*reply) {
    return Admission(refusal("idempotency.reply_not_stored",
                             "This payment was settled, and its reply is not kept any more.", 0));
  }
  (*reply)->headers.push_back({"PAYMENT-RESPONSE", known.response});
  (*reply)->headers.push_back({"Idempotent-Replayed", "true"});
  return Admission(**std::move(reply));
}

// Another call works on the payment. Its outcome is also the outcome of this call.
Attempt::Decision Attempt::wait_for(const KnownPayment&) {
  const std::uint32_t pause_ms = std::clamp(waited_ms_ / 2, wait_min_ms, wait_max_ms);
  waited_ms_ += pause_ms;
  if (call_.sleep_ms(pause_ms)) return Again{};
  return Admission(being_worked_on());
}

// The payment was released, or its node died before money could move.
Attempt::Decision Attempt::take_over(KnownPayment known) {
  if (known.record.watch_ms != 0) {
    const auto shown = engine_.shown_by_chain(known.record, call_);
    if (shown == Engine::Shown::no_answer) return Admission(unavailable());
    if (shown == Engine::Shown::used) {
      const Step step = engine_.reopen(known, open_settlement(), call_);
      if (step == Step::done || step == Step::lost) return Again{};
      return Admission(unavailable());
    }
  }
  if (!checked_.ok()) return Admission(refused(code_of(checked_.error())));
  if (!is_supported()) return Admission(unavailable());
  if (auto unproven = prove(&known)) return Admission(*std::move(unproven));
  PaymentRecord next = claim_record();
  next.identifiers = known.record.identifiers;
  next.watch_ms = known.record.watch_ms;
  if (known.record.settling_ms != 0) {  // an earlier attempt to settle may have used it
    next.settling_ms = known.record.settling_ms;
    next.claimed_ms = known.record.claimed_ms;
  }
  const auto own = new_identifiers(next);
  switch (engine_.payments.write(known, std::move(next), {.identifiers = own}, call_)) {
    case Step::done:
      return proceed(std::move(known));
    case Step::lost:  // the payment changed, or one of the ids that came with it is taken
      return follow_identifier();
    case Step::unavailable:
    case Step::unknown:
      break;
  }
  return Admission(unavailable());
}

// The payment was collected upfront, and the work was not done.
Attempt::Decision Attempt::go_on_paid(KnownPayment known) {
  if (!may_be_worked_for(known.record, engine_.payments.now_ms())) {
    if (!engine_.resolve(std::move(known), false, call_).ok()) {
      return Admission(settlement_unknown());
    }
    return Again{};
  }
  if (asked_.is_recall) {
    if (!engine_.payments.read_response(known, call_).ok()) return Admission(settlement_unknown());
    return Admission(work_failed(known, "its operation cannot be run now."));
  }
  PaymentRecord next = known.record;
  next.request_id = asked_.request.request_id;
  engine_.lease(next, asked_.operation.deadline_ms + lease_margin_ms);
  if (!engine_.payments.read_response(known, call_).ok()) return Admission(settlement_unknown());
  switch (engine_.payments.write(known, std::move(next), {}, call_)) {
    case Step::done:
      return ticket(std::move(known));
    case Step::lost:
      return Again{};
    case Step::unavailable:
    case Step::unknown:
      break;
  }
  return Admission(work_failed(known, "The gateway could not begin the work."));
}

OpenSettlement Attempt::open_settlement() const {
  return {std::string(payload_.text()), canonical_json(payload_.accepted),
          payload_.accepted.extra.fee_payer};
}

FacilitatorRequest Attempt::facilitator_request(const OpenSettlement& open) const {
  return {open.payload_json, open.requirements_json, payload_.accepted.scheme,
          payload_.accepted.network, open.fee_payer};
}

// This call has claimed the payment.
Admission Attempt::proceed(KnownPayment payment) {
  std::optional<Admission> refusal = verify_remotely(payment);
  if (!refusal) refusal = check_time(payment.record);
  if (refusal) {
    if (payment.record.state == PaymentState::settlement_unknown) return settlement_unknown();
    const Step step = engine_.release(payment, "not_verified", call_);
    const bool is_unpaid = step == Step::done || engine_.is_still_ours(step, payment.record);
    return is_unpaid ? *std::move(refusal) : settlement_unknown();
  }
  return collects_first() ? collect_first(std::move(payment)) : ticket(std::move(payment));
}

// Waiting for other calls and for the facilitator may have taken the time that the work needs.
std::optional<Admission> Attempt::check_time(const PaymentRecord& record) {
  const std::int64_t left_s = record.valid_before_s - engine_.host.clock().now_ms() / 1000;
  if (left_s >= static_cast<std::int64_t>(needed_seconds(asked_.operation))) return std::nullopt;
  checked_ = check();
  if (checked_.ok()) return std::nullopt;
  return refused(code_of(checked_.error()));
}

// Proves that the payer has signed. Anybody can invent payments whose signature cannot be verified
// here, so the proof comes before anything is written for a payment. The wallet itself is asked
// where its chain is configured, otherwise a facilitator, which is asked about a bounded number of
// payments. `known` is the record of the payment, or null.
std::optional<Admission> Attempt::prove(KnownPayment* known) {
  if (is_proven() || is_verified_) return std::nullopt;
  if (!std::holds_alternative<SolanaPayment>(payload_.payment) &&
      engine_.chains.knows(payload_.accepted.network)) {
    if (auto refusal = ask_wallet()) return *std::move(refusal);
    if (is_proven()) return std::nullopt;
  }
  return ask_facilitator(false, known);
}

// Returns nullopt if the wallet confirms the signature, which then is proven, or if the wallet is
// yet to be deployed, and nothing is proven.
std::optional<Refusal> Attempt::ask_wallet() {
  const auto* permit = std::get_if<Permit2Payment>(&payload_.payment);
  const auto* transfer = std::get_if<Eip3009Payment>(&payload_.payment);
  switch (engine_.chains.ask_signer(
      payload_.accepted.network, permit != nullptr ? permit->from : transfer->from,
      checked_.value().digest, permit != nullptr ? permit->signature : transfer->signature,
      call_)) {
    case Chains::Signed::yes:
      checked_.value().proof = Proof::confirmed_by_wallet;
      know_payer({});
      return std::nullopt;
    case Chains::Signed::undeployed:
      return std::nullopt;
    case Chains::Signed::no:
      return refused(code_of(permit != nullptr ? Reason::invalid_permit2_signature
                                               : Reason::invalid_exact_evm_signature));
    case Chains::Signed::too_many:
      return too_many_unproven();
    case Chains::Signed::unavailable:
      break;
  }
  return unavailable();
}

std::optional<Admission> Attempt::ask_facilitator(bool is_proven, KnownPayment* known) {
  const OpenSettlement open = open_settlement();
  const Verification verified =
      engine_.facilitators.verify(facilitator_request(open), is_proven, call_);
  switch (verified.outcome) {
    case Verification::Outcome::valid:
      is_verified_ = true;
      if (checked_.value().payer.empty()) checked_.value().payer = verified.payer;
      know_payer(verified.payer);
      return std::nullopt;
    case Verification::Outcome::invalid:
      // An attempt to settle it that was said to have failed may have used it.
      if (says_used(verified.reason) && known != nullptr && known->record.settling_ms != 0) {
        (void)engine_.reopen(*known, open, call_);
        return settlement_unknown();
      }
      return refused(verified.reason);
    case Verification::Outcome::too_many:
      return too_many_unproven();
    case Verification::Outcome::unavailable:
      break;
  }
  return unavailable();
}

std::optional<Admission> Attempt::verify_remotely(KnownPayment& payment) {
  if (is_verified_) return std::nullopt;
  // Only the chain shows whether the payer lets Permit2 move the token.
  const bool is_needed = std::holds_alternative<Permit2Payment>(payload_.payment);
  if (!is_needed && !asked_.policy.verifies_first) return std::nullopt;
  return ask_facilitator(true, &payment);
}

Admission Attempt::collect_first(KnownPayment payment) {
  ExtendedCall call(call_, engine_.host.clock(), engine_.settle_budget_ms());
  const OpenSettlement open = open_settlement();
  PaymentRecord next = payment.record;
  next.state = PaymentState::settling;
  next.settling_ms = engine_.payments.now_ms();
  engine_.lease(next, engine_.settle_budget_ms() + asked_.operation.deadline_ms + lease_margin_ms);
  const Step step = engine_.payments.write(payment, std::move(next), {.open = &open}, call);
  if (step == Step::unknown) return settlement_unknown();
  if (step != Step::done) {
    return engine_.is_still_ours(step, payment.record) ? not_collected() : settlement_unknown();
  }
  const Collected collected = engine_.collect(payment, open, PaymentState::settled, call);
  switch (collected.outcome) {
    case Collected::Outcome::paid:
      return ticket(std::move(payment));
    case Collected::Outcome::refused:
      return settlement_failed(payment.record, collected.reason);
    case Collected::Outcome::not_asked:
      return not_collected();
    case Collected::Outcome::unknown:
      break;
  }
  return settlement_unknown();
}

Admission Attempt::ticket(KnownPayment payment) {
  return std::unique_ptr<Ticket>(
      std::make_unique<PaymentTicket>(engine_, std::move(payment), open_settlement()));
}

}  // namespace turnpike::x402
