// The x402 lane (docs/protocols.md, "x402"): a caller without an account pays for one call with a
// signed transfer authorization. An unpaid call is answered with a challenge. A paid call is
// verified here, claimed in the store that all nodes share, verified by a facilitator, executed,
// settled, and only then answered. One payment pays for one request, once, however often it is
// sent.
//
// Where the rules are:
//
//   registry_terms.h  what operations cost
//   codes.h           what we refuse with
//   payment_record.h  the states of payments
//   payments.h        the durable steps
//   attempt.cpp       what a payment meets on its way in
//   engine.h          settlement, and what is left open
//   remote/           what facilitators and chains say
//   protocol/         what a payment must look like
//   offers/           what we sign
//
// The host owns all objects. All of its threads use a bound lane at the same time; a ticket is used
// by one at a time.
#pragma once

#include <memory>
#include <utility>

#include <turnpike/lane.h>

#include "x402/premises.h"

namespace turnpike::x402 {

class X402Lane final : public Lane {
 public:
  explicit X402Lane(std::shared_ptr<Premises> premises = std::make_shared<Premises>())
      : premises_(std::move(premises)) {}
  [[nodiscard]] Offers offers() const noexcept override;
  [[nodiscard]] LaneTraits traits() const noexcept override;
  [[nodiscard]] Result<ReadTerms> read_terms(const RegistryParts& parts) const override;
  Result<std::unique_ptr<BoundLane>> bind(const LaneBinding& binding, Host& host) override;
  int command(std::string_view word, const CommandInput& input, Console& console,
              Host& host) override;

 private:
  const std::shared_ptr<Premises> premises_;
};

}  // namespace turnpike::x402
