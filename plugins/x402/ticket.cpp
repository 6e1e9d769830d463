#include "x402/ticket.h"

#include <utility>

#include "x402/json_object.h"
#include "x402/protocol/encoding.h"

namespace turnpike::x402 {
namespace {

constexpr std::string_view too_long_reason = "response_too_large";

Replay copy_of(const ReplyView& reply) {
  Replay copy;
  copy.status = reply.status;
  for (const HeaderField& field : reply.headers) {
    copy.headers.push_back({std::string(field.name), std::string(field.value)});
  }
  copy.body = reply.body;
  return copy;
}

}  // namespace

Refusal unavailable() {
  return refusal("x402.unavailable",
                 "Payments cannot be taken now. Send the same request again, with the same payment "
                 "if it carries one.",
                 retry_seconds);
}

Refusal settlement_unknown() {
  return refusal("x402.settlement_unknown",
                 "Whether the payment was collected is not known yet. Send the same request with "
                 "the same payment again: it is collected at most once, and then answered.",
                 retry_seconds);
}

Refusal settlement_failed(const PaymentRecord& record, std::string_view reason) {
  std::string message = "The facilitator refused to collect the payment: " + std::string(reason);
  message += record.watch_ms != 0 ? ". The chain shows it unused; should it be collected all the "
                                    "same, a refund is owed."
                                  : ". By its word nothing was charged.";
  Refusal answer = refusal("x402.settlement_failed", std::move(message), 0);
  JsonObject response;
  response.raw("success", "false");
  response.text("errorReason", reason);
  response.text("payer", record.payer);
  response.text("transaction", "");
  response.text("network", record.network);
  answer.headers.push_back({"PAYMENT-RESPONSE", base64_encode(std::move(response).end())});
  return answer;
}

Refusal work_failed(const KnownPayment& payment, std::string_view what) {
  Refusal answer =
      refusal("x402.work_failed",
              "The payment was collected, but the call failed: " + std::string(what) +
                  " Send the same request with the same payment again: it is not charged anew. If "
                  "it does not succeed while the payment is valid, a refund is owed.",
              retry_seconds);
  answer.headers.push_back({"PAYMENT-RESPONSE", payment.response});
  return answer;
}

Refusal refund_owed(const KnownPayment& payment) {
  const bool is_too_long = payment.record.reason == too_long_reason;
  Refusal answer = refusal(
      "x402.refund_owed",
      "The payment was collected, but " +
          std::string(is_too_long ? "the reply is longer than this call may bring, and would be "
                                    "again"
                                  : "the call failed") +
          ". A refund of " + payment.record.amount + " units to " + payment.record.payer +
          " is recorded.",
      0);
  answer.headers.push_back({"PAYMENT-RESPONSE", payment.response});
  return answer;
}

PaymentTicket::PaymentTicket(Engine& engine, KnownPayment payment, OpenSettlement open)
    : engine_(engine), payment_(std::move(payment)), open_(std::move(open)) {
  if (!is_paid()) return;
  headers.push_back({"PAYMENT-RESPONSE", payment_.response});
  keeps_reply = payment_.record.is_bound;
}

Finish PaymentTicket::settle(const ReplyView& reply, Call& call) {
  const Replay copy = copy_of(reply);
  return is_paid() ? keep_reply(copy, call) : collect(copy, call);
}

// The payment is collected already, so the reply leaves once it is stored.
Finish PaymentTicket::keep_reply(const Replay& reply, Call& call) {
  PaymentRecord next = payment_.record;
  next.state = PaymentState::answered;
  next.ended_ms = engine_.payments.now_ms();
  next.lease_until_ms = 0;
  const Replay* const kept = next.is_bound ? &reply : nullptr;
  const Step step =
      engine_.payments.write(payment_, std::move(next), {.reply = kept, .closes = true}, call);
  if (step == Step::done) return Charged{};
  return Unknown{settlement_unknown()};
}

Finish PaymentTicket::collect(const Replay& reply, Call& call) {
  PaymentRecord next = payment_.record;
  next.state = PaymentState::settling;
  next.settling_ms = engine_.payments.now_ms();
  engine_.lease(next, engine_.settle_budget_ms());
  const Replay* const kept = next.is_bound ? &reply : nullptr;
  const Step step =
      engine_.payments.write(payment_, std::move(next), {.reply = kept, .open = &open_}, call);
  if (step == Step::unknown) return Unknown{settlement_unknown()};
  if (step != Step::done) {
    if (!engine_.is_still_ours(step, payment_.record)) return Unknown{settlement_unknown()};
    return NotCharged{refusal("x402.unavailable",
                              "The payment was not collected. Send the same request again.",
                              retry_seconds)};
  }
  const Collected collected = engine_.collect(payment_, open_, PaymentState::answered, call);
  switch (collected.outcome) {
    case Collected::Outcome::paid:
      return Charged{{{"PAYMENT-RESPONSE", payment_.response}}, 0, -1};
    case Collected::Outcome::refused:
      return NotCharged{settlement_failed(payment_.record, collected.reason)};
    case Collected::Outcome::not_asked:
      return NotCharged{refusal("x402.unavailable",
                                "No facilitator could be reached; nothing was charged. Send the "
                                "same request again.",
                                retry_seconds)};
    case Collected::Outcome::unknown:
      break;
  }
  return Unknown{settlement_unknown()};
}

std::optional<Refusal> PaymentTicket::release(Outcome outcome, int upstream_status, Call& call) {
  if (is_paid()) return fail_paid(outcome, upstream_status, call);
  // If this write fails, the lease ends by itself, which means the same.
  const Step step = engine_.release(payment_, "work_failed", call);
  if (step == Step::done || engine_.is_still_ours(step, payment_.record)) return std::nullopt;
  return settlement_unknown();
}

// A refund is owed at once if a repeat would not help: after a success that costs nothing by the
// route's own word, and after a reply that is too long.
std::optional<Refusal> PaymentTicket::fail_paid(Outcome outcome, int upstream_status, Call& call) {
  PaymentRecord next = payment_.record;
  next.lease_until_ms = 0;
  const bool is_too_long = outcome == Outcome::response_too_large;
  const bool is_owed = next.unearned == UnearnedPayment::refund || is_too_long ||
                       outcome == Outcome::declared_no_charge;
  Beside beside;
  if (is_owed) {
    if (is_too_long) next.reason = too_long_reason;
    next.state = PaymentState::owed;
    next.ended_ms = engine_.payments.now_ms();
    beside.closes = true;
    beside.entry = "refund_owed";
  }
  // If this write fails, the reconciler does it once the lease is over.
  const Step step = engine_.payments.write(payment_, std::move(next), beside, call);
  if (is_owed && step == Step::done) return refund_owed(payment_);
  return work_failed(payment_, upstream_status == 0 ? "the provider did not answer."
                                                    : "the provider answered with status " +
                                                          std::to_string(upstream_status) + ".");
}

}  // namespace turnpike::x402
