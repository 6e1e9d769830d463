// The codes that the lane refuses with, in addition to those of the gateway (turnpike/lane_code.h),
// and what they mean to callers (docs/protocols.md, "x402"). Constants; safe on any Thread.
#pragma once

#include <turnpike/lane_code.h>

namespace turnpike::x402 {

inline constexpr LaneCode lane_codes[] = {
    {"x402.not_payable", 400, Fault::caller, Advice::never,
     "This operation cannot be paid for per call. Leave the payment out and send an API key.",
     CodeRole::not_payable},
    {"x402.payment_required", 402, Fault::caller, Advice::new_payment, "Payment required"},
    {"x402.payment_malformed", 400, Fault::caller, Advice::never, "The payment cannot be read."},
    {"x402.payment_refused", 402, Fault::caller, Advice::new_payment,
     "The payment does not pay for this call."},
    {"x402.settlement_failed", 402, Fault::caller, Advice::new_payment,
     "The payment was refused when it was collected."},
    {"x402.settlement_unknown", 503, Fault::gateway, Advice::same_request,
     "Whether the payment was collected is not known yet.", CodeRole::outcome_unknown},
    {"x402.in_progress", 409, Fault::caller, Advice::same_request,
     "The first call with this payment is still running."},
    {"x402.work_failed", 502, Fault::provider, Advice::same_request,
     "The payment was collected, and the provider failed: the same request may be sent again."},
    {"x402.refund_owed", 502, Fault::provider, Advice::never,
     "The payment was collected, and the provider failed: it is to be paid back."},
    {"x402.unavailable", 503, Fault::gateway, Advice::after_delay, "Payments cannot be taken now.",
     CodeRole::unavailable},
    {"x402.allowance_required", 412, Fault::caller, Advice::new_payment,
     "The payer has to allow Permit2 to move the token first; nothing was charged."},
};

// Further codes of the URL where a purchase is paid, which is not an operation
// (plugins/x402/README.md, "Purchases of Credits"). The last three are the gateway's own.
inline constexpr LaneCode purchase_codes[] = {
    {"x402.purchase_not_found", 404, Fault::caller, Advice::never,
     "There is no purchase to be paid for here."},
    {"x402.purchase_over", 410, Fault::caller, Advice::never,
     "This purchase cannot be paid for any more."},
    {"x402.purchase_paid", 409, Fault::caller, Advice::never, "This purchase is paid."},
    {"idempotency.conflict", 409, Fault::caller, Advice::after_change},
    {"idempotency.in_progress", 409, Fault::caller, Advice::after_delay},
    {"idempotency.reply_not_stored", 409, Fault::caller, Advice::never},
};

}  // namespace turnpike::x402
