// The stripe processor. A person pays an order on a page of Stripe Checkout. For a saved card, the
// processor creates a PaymentIntent and confirms it after its id is durable. The state of a payment
// is always read from Stripe's API, never from the content of a webhook.
//
//   reference  cs_...  a Checkout Session: an order that a person pays, or a setup
//              pi_...  a PaymentIntent: an order that a saved method pays
//   payment    pi_...  in both cases
//
// Owned by the gateway (turnpike/processor.h). Immutable after bind(); any Thread or fiber may call
// it.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <turnpike/processor.h>

#include "stripe/api.h"
#include "stripe/settings.h"

namespace turnpike::stripe {

inline constexpr std::string_view plugin_name = "stripe";
inline constexpr std::uint32_t webhook_body_bytes_max = 256 * 1024;

// Facts of the deployment, from the ProcessorBinding.
struct Place {
  std::string webhook_url;
  std::string deployment_id;
  std::string environment;
};

class BoundStripe final : public BoundProcessor {
 public:
  BoundStripe(StripeSettings settings, Place place, Host& host);

  Result<Begun> begin(const Order& order, Call& call) override;
  Result<Payment> look_up(std::string_view reference, Call& call) override;
  Result<Payment> charge(const Order& order, std::string_view reference, Call& call) override;
  Done cancel(std::string_view reference, Call& call) override;
  Result<Refunded> refund(std::string_view payment, Price price, std::string_view key,
                          Call& call) override;
  Result<Begun> begin_setup(const Order& order, Call& call) override;
  Result<SetupState> look_up_setup(std::string_view reference, Call& call) override;
  Done forget_method(std::string_view method, Call& call) override;
  Result<std::optional<std::string>> payment_document(std::string_view reference,
                                                      PaymentDocument kind, Call& call) override;
  Result<Notice> notice(const IntakeRequest& request, Call& call) override;
  Result<Changes> changes(std::int64_t since_ms, std::string_view cursor, Call& call) override;
  std::vector<Finding> check(Call& call) override;

 private:
  Result<std::string> make_customer(const Order& order, Call& call) const;
  // Uses the order's customer, or creates one. If Stripe no longer knows the order's customer, it
  // tries again with a new one.
  Result<Begun> begin_with_customer(const Order& order, Ask (BoundStripe::*ask)(const Order&) const,
                                    Call& call) const;
  [[nodiscard]] Ask ask_for_checkout(const Order& order) const;
  [[nodiscard]] Ask ask_for_setup(const Order& order) const;
  Result<Begun> begin_intent(const Order& order, Call& call) const;
  Result<Begun> begun_of(const Ask& ask, const Reply& reply, std::string_view customer) const;
  Done add_refunds(Payment& payment, Call& call) const;
  Done add_disputes(Payment& payment, Call& call) const;
  Result<Payment> with_what_followed(Result<Payment> payment, Call& call) const;
  Result<Payment> look_up_intent(std::string_view reference, Call& call) const;
  Result<std::optional<Refunded>> find_refund(std::string_view payment, std::string_view key,
                                              Call& call) const;
  [[nodiscard]] Begun refused(const Ask& ask, const Reply& reply) const;
  [[nodiscard]] bool is_ours(std::string_view url) const;
  void add_metadata(Form& form, std::string_view at, std::string_view name,
                    std::string_view id) const;
  std::vector<Finding> check_endpoint(const Reply& reply) const;

  const StripeSettings settings_;
  const Place place_;
  const Api api_;
  Host& host_;
};

class StripeProcessor final : public Processor {
 public:
  [[nodiscard]] ProcessorTraits traits() const noexcept override;
  [[nodiscard]] Offers offers() const noexcept override;
  Result<std::unique_ptr<BoundProcessor>> bind(const ProcessorBinding& binding,
                                               Host& host) override;
};

}  // namespace turnpike::stripe
