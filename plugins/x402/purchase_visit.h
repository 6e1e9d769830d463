// PurchaseVisit: one request to the URL where a purchase of Credits is paid, from the challenge to
// the settled payment. To the engine a purchase is a call in the flow `authorization`: its reply is
// known before it is paid, is stored before the money is collected, and is given again to the same
// payment. So everything that can happen to a payment is handled in one place (attempt.h,
// engine.h).
//
// Lives on the stack of notice(), on the fiber of the request.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <turnpike/processor.h>

#include "x402/attempt.h"
#include "x402/engine.h"
#include "x402/purchases.h"
#include "x402/terms.h"

namespace turnpike::x402 {

// Turns a refusal into a reply; `request_id` stands in its envelope.
IntakeReply reply_of(Refusal refusal, std::string_view request_id);

class PurchaseVisit {
 public:
  // All references outlive it.
  PurchaseVisit(Engine& engine, Purchases& purchases, Call& call)
      : engine_(engine), purchases_(purchases), call_(call) {}

  [[nodiscard]] Notice serve(const IntakeRequest& request);

 private:
  struct Place;  // the purchase in the form of a called operation

  [[nodiscard]] Notice answer(std::string_view id, const KnownPurchase& purchase,
                              const IntakeRequest& request);
  [[nodiscard]] Notice without_payment(const Place& place, const Payment& standing);
  [[nodiscard]] Notice with_payment(const Place& place, const Payment& standing,
                                    PaymentPayload payload);
  [[nodiscard]] Notice settle(const Place& place, Ticket& ticket);
  [[nodiscard]] Notice told(const Place& place, const Replay& reply) const;
  [[nodiscard]] Notice refused(Refusal refusal) const;

  Engine& engine_;
  Purchases& purchases_;
  Call& call_;
};

}  // namespace turnpike::x402
