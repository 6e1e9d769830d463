// What Stripe's objects say, in the words of the slot (turnpike/processor.h): what became of a
// payment, of its refunds and disputes, and what a decline means for further charges.
//
// Pure functions; any Thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <turnpike/processor.h>

#include "stripe/json.h"

namespace turnpike::stripe {

struct Declined {
  Decline decline = Decline::later;
  std::string code;
};

// Of an error of a charge: what was answered with 402, or PaymentIntent.last_payment_error.
Declined declined_by(JsonValue error);

// Of a Checkout Session with its payment_intent.latest_charge expanded. Without refunds and
// disputes. A Failure (contract): it is no session that this plugin could have made.
Result<Payment> payment_of_session(JsonValue session);

// Of a PaymentIntent with its latest_charge expanded; the same.
Result<Payment> payment_of_intent(JsonValue intent);

// What a refund gives back, or gave: nothing of those that failed or were cancelled.
std::int64_t amount_given_back(JsonValue refund);

// The status of a dispute. Of an unknown one it is `open`: money may be gone.
Dispute dispute_named(std::string_view status) noexcept;

// How much a dispute matters where a payment has several.
int weight_of(Dispute dispute) noexcept;

// Of a PaymentMethod. A Failure (contract): it is none.
Result<SavedMethod> saved_method_of(JsonValue method);

}  // namespace turnpike::stripe
