// Purchases: Credits that an account bought or is about to buy, and their states.
//
// THE LIFE OF A PURCHASE. Only the processor knows about money: the gateway relies on look-ups at
// the processor alone (turnpike/processor.h). External notices only trigger a look-up.
//
//   created           stored permanently under (account, Idempotency-Key); the processor is asked
//                     to begin() it under a step_key of the purchase
//   awaiting_payment  the processor's reference is durable; only now the URL is disclosed
//   credited          a look-up says paid, and amount, currency and names match: ONE transaction
//                     writes the state and the allocation, whose id is derived from the purchase's
//   paid              a look-up says paid, but something does not match, or the account may not
//                     receive Credits: no Credits; an operator decides
//   failed, expired, cancelled   not paid. A later look-up that says paid still credits
//   refunded          all of the money was returned; disputed: the payer demands it back
//
// INVARIANTS, which tests check after every step, and `ledger verify` where noted:
//
//   I1 one allocation for each purchase that was credited, of its Credits        (ledger verify)
//   I2 nothing is credited without a look-up that says paid
//   I3 no URL is shown and nothing is charged before the reference is durable
//   I5 clawed + lost = wanted once settled, and clawed is voided of its allocation (ledger verify)
//   I7 the same key has the same reply; another body under the key is refused
//
// CLAWING BACK. For refunds r of the total t, the Credits `wanted` back are floor(credits * r / t);
// a dispute wants all. Unleased units of the allocation are voided at once, the rest as nodes
// return them. Units that were spent or expired before are `lost`: balances never go below zero. A
// won dispute restores the voided units, as an allocation whose id is derived from the dispute's.
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

// The outcome is still unknown.
constexpr bool is_open(State state) noexcept {
  return state == State::created || state == State::awaiting_payment || state == State::paid;
}
// The purchase was paid at some time.
constexpr bool was_paid(State state) noexcept {
  return state == State::paid || state == State::credited || state == State::refunded ||
         state == State::disputed;
}

// A stored purchase. Times: -1: never, or unknown.
struct Purchase {
  std::string id;  // "pur_..."
  std::string account_id;
  std::int64_t sequence = 0;  // number of its creation
  ledger::Origin origin = ledger::Origin::purchase;  // or auto_top_up
  std::string offer_id;
  std::string currency;
  std::int64_t minor = 0;  // before tax
  Credits credits = 0;
  std::int64_t validity_days = 0;
  std::string processor;
  State state = State::created;
  std::int64_t version = 0;  // incremented by each change
  std::string created_by;    // principal: "user:usr_..."

  std::string reference;  // id at the processor
  std::string url;        // page where it is paid
  std::string customer;
  std::string payment;  // the processor's id of the payment
  std::string reply;    // body of the creating request's answer
  std::int64_t begin_number = 0;  // part of the step_key: a second checkout gets a new one

  // For a run of Auto Top-Up (commerce/auto_top_up.h); else empty and 0.
  std::int64_t policy_revision = 0;
  std::string setup_id;
  std::string saved_method;       // the charged method
  std::int64_t charge_number = 0;  // step_key number of the newest charge; 0: none was sent

  std::int64_t tax_minor = 0;
  std::int64_t refunded_minor = 0;  // of minor + tax
  Credits wanted = 0;               // Credits to claw back in total
  Credits clawed = 0;
  Credits lost = 0;
  bool is_claw_settled = true;
  std::string dispute_id;
  bool locks_account = false;

  std::string failure_code;  // empty: none
  std::string conflict;      // why it is paid but not credited; for the operator
  std::int64_t looks = 0;    // since the last change of state
  std::int64_t hints = 0;    // number of hints that there may be news
  std::int64_t due_ms = -1;  // time of the next look; -1: none is needed

  std::int64_t created_at_ms = 0;
  std::int64_t expires_at_ms = 0;  // a payment may not be started after this
  std::int64_t paid_at_ms = -1;
  std::int64_t credited_at_ms = -1;
};

// The purchase's allocation: "alc_" and the part after "pur_"; and the allocation that restores
// units taken for a dispute that was won, or for a refund that was refused.
std::string allocation_of(std::string_view purchase_id);
// `cause`: the id of the dispute or refund.
std::string restoring_allocation_of(std::string_view purchase_id, std::string_view cause);

// A change of a purchase: its row, and the ledger changes of the same transaction.
struct Step {
  Purchase next;  // version, hints and due_ms are still the old ones
  bool credits = false;
  // claws: voids units of its allocation until `next.wanted` are voided; voids: all, leased ones
  // too.
  bool claws = false;
  bool voids = false;
  Credits restores = 0;  // restored for `next.dispute_id`, as a new allocation
  // For a declined run: the meaning for further charges of its method, and the number of declines
  // in a row that pauses its policy.
  Decline decline = Decline::none;
  std::uint32_t failures_max = 3;
};

constexpr bool is_run(const Purchase& purchase) noexcept {
  return purchase.origin == ledger::Origin::auto_top_up;
}

// The step that follows from a look-up.
Step after_look(const Purchase& purchase, const Payment& payment, std::int64_t now_ms);

// The step after the processor has begun the payment.
Step after_begin(const Purchase& purchase, const Begun& begun);
// The step after the processor refused, or has not answered for a day.
Step after_refusal(const Purchase& purchase, std::string_view code);
// The step for a run whose policy is off: the processor guaranteed that it will not be charged.
Step after_cancel(const Purchase& purchase);

// Time of the next work on a purchase after a step; -1: none is left.
std::int64_t due_after(const Purchase& purchase, std::int64_t now_ms, Random& random);

// A sentence for people about failure_code; and whether a retry may work.
std::string failure_text(std::string_view code);
bool is_failure_retryable(std::string_view code) noexcept;

}  // namespace turnpike::commerce
