#include "commerce/purchase.h"

#include <algorithm>
#include <span>

#include "commerce/due.h"
#include "crypto/digest.h"
#include "text/encoding.h"

namespace turnpike::commerce {
namespace {

constexpr std::string_view state_names[] = {"created",  "awaiting_payment", "paid",
                                            "credited", "refunded",         "disputed",
                                            "failed",   "expired",          "cancelled"};
constexpr std::string_view purchase_prefix = "pur_";
// The reason why a payment does not match the purchase; empty: it matches.
std::string misfit(const Purchase& purchase, const Payment& payment) {
  if (payment.currency != purchase.currency) {
    return "it was paid in " + payment.currency + ", not in " + purchase.currency;
  }
  if (payment.net != purchase.minor) {
    return "the amount paid, without tax, is " + std::to_string(payment.net) + ", not " +
           std::to_string(purchase.minor);
  }
  if (!payment.purchase_id.empty() && payment.purchase_id != purchase.id) {
    return "the processor has it as the payment of " + payment.purchase_id;
  }
  if (!purchase.payment.empty() && purchase.payment != payment.payment) {
    return "it was paid twice: by " + purchase.payment + " and " + payment.payment;
  }
  return {};
}

void move_to(Purchase& purchase, State next) {
  if (purchase.state == next) return;
  purchase.state = next;
  purchase.looks = 0;
}

void end_unpaid(Purchase& purchase, State next, std::string code) {
  move_to(purchase, next);
  purchase.failure_code = std::move(code);
}

// Records a received payment; `purchase` is not credited yet.
void take_money(Step& step, const Payment& payment, std::int64_t now_ms) {
  Purchase& purchase = step.next;
  if (purchase.paid_at_ms < 0) purchase.paid_at_ms = now_ms;
  purchase.failure_code.clear();
  purchase.conflict = misfit(purchase, payment);
  move_to(purchase, State::paid);
  if (!purchase.conflict.empty()) return;
  purchase.payment = payment.payment;
  purchase.tax_minor = payment.tax();
  purchase.credited_at_ms = now_ms;
  step.credits = true;
  move_to(purchase, State::credited);
}

void want_back(Step& step, Credits wanted) {
  if (wanted <= step.next.wanted) return;
  step.next.wanted = wanted;
  step.next.is_claw_settled = false;
  step.claws = true;
}

Credits share_of(const Purchase& purchase, std::int64_t refunded, std::int64_t total) {
  return purchase.credits * refunded / total;
}

void take_refunds(Step& step, const Payment& payment) {
  Purchase& purchase = step.next;
  if (payment.refunded <= purchase.refunded_minor || payment.total <= 0) return;
  purchase.refunded_minor = payment.refunded;
  want_back(step, share_of(purchase, payment.refunded, payment.total));
  if (payment.refunded < payment.total) return;
  step.voids = true;
  if (purchase.state == State::credited) move_to(purchase, State::refunded);
}

void take_dispute(Step& step, const Payment& payment) {
  Purchase& purchase = step.next;
  const bool is_disputed = purchase.state == State::disputed;
  const bool begins = payment.dispute == Dispute::open || payment.dispute == Dispute::lost;
  if (begins && purchase.state == State::credited) {
    purchase.dispute_id = payment.dispute_id;
    purchase.locks_account = true;
    want_back(step, purchase.credits);
    step.voids = true;
    move_to(purchase, State::disputed);
  }
  if (payment.dispute == Dispute::lost && purchase.state == State::disputed) {
    purchase.failure_code = "dispute_lost";
  }
  if (payment.dispute != Dispute::won || !is_disputed) return;
  // The share of refunds stays clawed back; the remaining voided Credits are restored.
  const Credits by_refunds =
      payment.total > 0 ? share_of(purchase, payment.refunded, payment.total) : 0;
  step.restores = std::max<Credits>(0, purchase.clawed - by_refunds);
  purchase.wanted = by_refunds;
  purchase.locks_account = false;
  purchase.failure_code.clear();
  const bool is_all_back = payment.total > 0 && payment.refunded >= payment.total;
  move_to(purchase, is_all_back ? State::refunded : State::credited);
}

}  // namespace

std::string_view name_of(State state) noexcept {
  return state_names[static_cast<std::size_t>(state)];
}

std::optional<State> state(std::string_view name) noexcept {
  const auto found = std::find(std::begin(state_names), std::end(state_names), name);
  if (found == std::end(state_names)) return std::nullopt;
  return static_cast<State>(found - std::begin(state_names));
}

std::string allocation_of(std::string_view purchase_id) {
  return "alc_" + std::string(purchase_id.substr(purchase_prefix.size()));
}

std::string restoring_allocation_of(std::string_view purchase_id, std::string_view cause) {
  constexpr std::size_t id_bytes = 16;
  constexpr std::size_t id_characters = 22;
  const crypto::Sha256 digest = crypto::sha256({purchase_id, " ", cause});
  return "alc_" + text::base62(std::span(digest).first<id_bytes>(), id_characters);
}

Step after_look(const Purchase& purchase, const Payment& payment, std::int64_t now_ms) {
  Step step{purchase};
  ++step.next.looks;
  if (payment.progress == Progress::paid) {
    if (!was_paid(purchase.state) || purchase.state == State::paid) {
      take_money(step, payment, now_ms);
    }
    if (was_paid(step.next.state) && step.next.state != State::paid) {
      take_refunds(step, payment);
      take_dispute(step, payment);
    }
    return step;
  }
  if (!is_open(purchase.state) || purchase.state == State::paid) return step;
  switch (payment.progress) {
    case Progress::declined:
      end_unpaid(step.next, State::failed, code_from(payment.code));
      step.decline = payment.decline;
      break;
    case Progress::expired:
      end_unpaid(step.next, State::expired, "expired");
      break;
    case Progress::cancelled:
      end_unpaid(step.next, State::cancelled, "cancelled");
      break;
    case Progress::open:
    case Progress::processing:
    case Progress::never_ran:
    case Progress::paid:
      break;
  }
  return step;
}

Step after_begin(const Purchase& purchase, const Begun& begun) {
  Step step{purchase};
  step.next.reference = begun.reference;
  step.next.url = begun.url;
  step.next.customer = begun.customer;
  if (begun.expires_at_ms > 0) step.next.expires_at_ms = begun.expires_at_ms;
  move_to(step.next, State::awaiting_payment);
  return step;
}

Step after_refusal(const Purchase& purchase, std::string_view code) {
  Step step{purchase};
  end_unpaid(step.next, State::failed, code_from(code));
  if (code == "payment_method_gone") step.decline = Decline::method_gone;
  return step;
}

Step after_cancel(const Purchase& purchase) {
  Step step{purchase};
  end_unpaid(step.next, State::cancelled, "auto_top_up_off");
  return step;
}

std::int64_t due_after(const Purchase& purchase, std::int64_t now_ms, Random& random) {
  constexpr std::int64_t late_look_ms = 10 * minute_ms;  // after the expiry
  if (!purchase.is_claw_settled) return now_ms + second_ms;
  switch (purchase.state) {
    case State::created:
      return due_in(pause_before_begin_ms(purchase.looks), now_ms, random);
    case State::awaiting_payment: {
      if (is_run(purchase) && purchase.charge_number == 0 && purchase.looks == 0) return now_ms;
      const std::int64_t late_ms = now_ms - purchase.expires_at_ms;
      // Payments in progress may take days.
      if (late_ms > 30 * day_ms) return -1;
      if (late_ms >= day_ms) return due_in(6 * hour_ms, now_ms, random);
      if (late_ms >= late_look_ms) return due_in(hour_ms, now_ms, random);
      return due_in(is_run(purchase) ? pause_before_charge_look_ms(purchase.looks)
                                     : pause_before_look_ms(purchase.looks),
                    now_ms, random);
    }
    case State::paid:
      return due_in(hour_ms, now_ms, random);
    default:
      return -1;
  }
}

std::string failure_text(std::string_view code) {
  if (code == "expired") return "Nobody paid in time.";
  if (code == "cancelled") return "The payment was cancelled.";
  if (code == "auto_top_up_off") return "Auto Top-Up was turned off before it was charged.";
  if (code == "processor_unanswered") {
    return "The payment service did not answer for a day; nothing was charged.";
  }
  if (code == "dispute_lost") return "The payment was demanded back, and that was granted.";
  return "The payment was declined (" + std::string(code) + ").";
}

bool is_failure_retryable(std::string_view code) noexcept { return code != "dispute_lost"; }

}  // namespace turnpike::commerce
