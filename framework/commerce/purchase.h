// Purchases: what an account bought, or is about to buy, and what became of it.
//
// THE LIFE OF A PURCHASE. Money is a processor's matter: all that is known of it is what a look at
// the processor says (turnpike/processor.h). Notices from outside are reasons to look, no more.
//
//   created           stands in the store under (account, Idempotency-Key) for ever; the processor
//                     is asked to begin() it under a step_key of the purchase
//   awaiting_payment  the processor's reference is durable; only now anybody learns the URL
//   credited          a look said paid, and amount, currency and names fit: in ONE transaction the
//                     state is written and the allocation, whose id is derived from the purchase's
//   paid              a look said paid, and something does not fit, or the account cannot be given
//                     anything: no Credits; an operator judges
//   failed, expired, cancelled   no money came. A later look that says paid credits all the same
//   refunded          all of the money went back; disputed: somebody demands it back
//
// INVARIANTS, which tests check after every step, and `ledger verify` where it says so:
//
//   I1 one allocation for each purchase that was credited, of its Credits        (ledger verify)
//   I2 nothing is credited without a look that says paid
//   I3 no URL is shown and nothing is charged before the reference is durable
//   I5 clawed + lost = wanted once settled, and clawed is voided of its allocation (ledger verify)
//   I7 the same key has the same reply; another body under it is refused
//
// CLAWING BACK. Of refunds r of the total t the Credits `wanted` back are floor(credits * r / t);
// a dispute wants all. They are voided as far as the allocation has units that nobody leased, at
// once, and the rest as nodes return them. What was spent or expired before is `lost`: balances
// never go below zero. A dispute that is won gives back what it voided, as an allocation whose id
// is derived from the dispute's.
//
// Values and pure functions; any Thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <turnpike/host.h>
#include <turnpike/processor.h>

#include "ledger/books.h"

namespace turnpike::commerce {

using ledger::Credits;

enum class State : std::uint8_t {
  created,
  awaiting_payment,
  paid,
  credited,
  refunded,
  disputed,
  failed,
  expired,
  cancelled,
};
std::string_view name_of(State state) noexcept;
std::optional<State> state(std::string_view name) noexcept;

// Nobody knows yet what becomes of it.
constexpr bool is_open(State state) noexcept {
  return state == State::created || state == State::awaiting_payment || state == State::paid;
}
// Its money has come at some time.
constexpr bool was_paid(State state) noexcept {
  return state == State::paid || state == State::credited || state == State::refunded ||
         state == State::disputed;
}

// What a row of the store says. Times: -1: never, or not known.
struct Purchase {
  std::string id;  // "pur_..."
  std::string account_id;
  std::int64_t sequence = 0;  // of its creation
  ledger::Origin origin = ledger::Origin::purchase;  // or auto_top_up
  std::string offer_id;
  std::string currency;
  std::int64_t minor = 0;  // without tax
  Credits credits = 0;
  std::int64_t validity_days = 0;
  std::string processor;
  State state = State::created;
  std::int64_t version = 0;  // grows with each change
  std::string created_by;    // a principal: "user:usr_..."

  std::string reference;  // at the processor
  std::string url;        // where it is paid
  std::string customer;
  std::string payment;  // the processor's name of the payment
  std::string reply;    // the body that answered its creation
  std::int64_t begin_number = 0;  // of the step_key: a second checkout is begun under a new one

  // Of a run of Auto Top-Up (commerce/auto_top_up.h); else empty and 0.
  std::int64_t policy_revision = 0;
  std::string setup_id;
  std::string saved_method;       // that it charges
  std::int64_t charge_number = 0;  // of the step_key of the latest charge; 0: none was sent

  std::int64_t tax_minor = 0;
  std::int64_t refunded_minor = 0;  // of minor + tax
  Credits wanted = 0;               // back, in all
  Credits clawed = 0;
  Credits lost = 0;
  bool is_claw_settled = true;
  std::string dispute_id;
  bool locks_account = false;

  std::string failure_code;  // empty: none
  std::string conflict;      // why it is paid and not credited; for the operator
  std::int64_t looks = 0;    // since the last change of state
  std::int64_t hints = 0;    // how often somebody said that there may be news
  std::int64_t due_ms = -1;  // when to look next; -1: there is no reason to

  std::int64_t created_at_ms = 0;
  std::int64_t expires_at_ms = 0;  // the person may not begin to pay any more
  std::int64_t paid_at_ms = -1;
  std::int64_t credited_at_ms = -1;
};

// "alc_" and what follows "pur_": the purchase's allocation; and the one that gives back what was
// taken for a dispute that was won, or a refund that was refused.
std::string allocation_of(std::string_view purchase_id);
// `cause`: the id of the dispute or refund.
std::string restoring_allocation_of(std::string_view purchase_id, std::string_view cause);

// A change of a purchase: its row, and what moves in the ledger in the same transaction.
struct Step {
  Purchase next;  // its version, hints and due_ms are still those of before
  bool credits = false;
  // Voids of its allocation until `next.wanted` are voided; all of it, leased units too.
  bool claws = false;
  bool voids = false;
  Credits restores = 0;  // given back for `next.dispute_id`, as a new allocation
  // Of a run that was declined: what that means for further charges of its method, and how many
  // declines in a row pause its policy.
  Decline decline = Decline::none;
  std::uint32_t failures_max = 3;
};

constexpr bool is_run(const Purchase& purchase) noexcept {
  return purchase.origin == ledger::Origin::auto_top_up;
}

// What a look means for the purchase.
Step after_look(const Purchase& purchase, const Payment& payment, std::int64_t now_ms);

// The processor has begun it.
Step after_begin(const Purchase& purchase, const Begun& begun);
// The processor refused to, or has not answered for a day.
Step after_refusal(const Purchase& purchase, std::string_view code);
// A run whose policy is off: the processor promised that it is not charged any more.
Step after_cancel(const Purchase& purchase);

// When to do the next thing for a purchase after a step; -1: nothing is left to do.
std::int64_t due_after(const Purchase& purchase, std::int64_t now_ms, Random& random);

// A sentence for people about failure_code; whether another try may work.
std::string failure_text(std::string_view code);
bool is_failure_retryable(std::string_view code) noexcept;

}  // namespace turnpike::commerce
