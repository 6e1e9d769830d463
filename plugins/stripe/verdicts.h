// Translates Stripe's objects to the types of turnpike/processor.h: the state of a payment, of its
// refunds and disputes, and what a decline means for further charges.
//
// Pure functions; any Thread may call them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <turnpike/processor.h>

#include "stripe/json.h"

namespace turnpike::stripe {

// Stripe answered `what`, which this plugin cannot work with. A Failure of kind contract, of an
// unknown outcome.
Failure unusable_answer(std::string what);

struct Declined {
  Decline decline = Decline::later;
  std::string code;
};

// Reads the error of a charge: that of a reply with status 402, or
// PaymentIntent.last_payment_error.
Declined declined_by(JsonValue error);

// Reads a Checkout Session whose payment_intent.latest_charge is expanded. The result has no
// refunds and disputes. A Failure of kind contract if this plugin cannot have made the session.
Result<Payment> payment_of_session(JsonValue session);

// The same for a PaymentIntent whose latest_charge is expanded.
Result<Payment> payment_of_intent(JsonValue intent);

// The amount of a refund, finished or pending; 0 if the refund failed or was cancelled.
std::int64_t amount_given_back(JsonValue refund);

// The Dispute for Stripe's status. An unknown status counts as `open`, since money may be gone.
Dispute dispute_named(std::string_view status) noexcept;

// Orders disputes: of several disputes of a payment, the one with the greatest weight is reported.
int weight_of(Dispute dispute) noexcept;

// Reads a PaymentMethod. A Failure of kind contract if it has no id.
Result<SavedMethod> saved_method_of(JsonValue method);

}  // namespace turnpike::stripe
