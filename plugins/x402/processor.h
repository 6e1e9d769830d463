// The x402 processor: people and agents buy Credits with a signed transfer authorization. A
// purchase has a URL that answers 402 with a challenge. The same request with a payment is
// verified, claimed, settled and answered by an Engine, as in the lane and on the lane's own store,
// so one payment never serves both a call and a purchase.
//
//   reference  the purchase's id
//   payment    the key of the payment's record (payment_record.h)
//
// The host owns both objects; any Thread or fiber, several at once.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <turnpike/processor.h>

#include "x402/engine.h"
#include "x402/premises.h"
#include "x402/processor_settings.h"
#include "x402/purchases.h"

namespace turnpike::x402 {

class BoundX402Processor final : public BoundProcessor {
 public:
  struct Parts {
    ProcessorSettings settings;
    LaneSettings lane;
    std::string public_origin;
    std::string data_dir;
    std::shared_ptr<Premises> premises;
  };
  BoundX402Processor(Parts parts, Host& host);

  Result<Begun> begin(const Order& order, Call& call) override;
  Result<Payment> look_up(std::string_view reference, Call& call) override;
  Done cancel(std::string_view reference, Call& call) override;
  Result<Refunded> refund(std::string_view payment, Price price, std::string_view key,
                          Call& call) override;
  Result<Notice> notice(const IntakeRequest& request, Call& call) override;
  Result<Changes> changes(std::int64_t since_ms, std::string_view cursor, Call& call) override;
  std::vector<Finding> check(Call& call) override;
  // The first run opens the engine. Every run finishes what was begun, unless the lane does so.
  Result<std::uint32_t> run(Call& call) override;

 private:
  void find_out_about(const PricedAsset& asset, const Facilitators& facilitators,
                      std::vector<Finding>& findings) const;

  const Parts parts_;
  Host& host_;
  Purchases purchases_;
  // Made by the first run(), in the process that serves, since commands need no engine and a start
  // must not need a store.
  std::unique_ptr<Engine> engine_;
  std::atomic<Engine*> open_engine_{nullptr};
};

class X402Processor final : public Processor {
 public:
  explicit X402Processor(std::shared_ptr<Premises> premises = std::make_shared<Premises>())
      : premises_(std::move(premises)) {}
  [[nodiscard]] ProcessorTraits traits() const noexcept override;
  [[nodiscard]] Offers offers() const noexcept override;
  Result<std::unique_ptr<BoundProcessor>> bind(const ProcessorBinding& binding,
                                               Host& host) override;

 private:
  const std::shared_ptr<Premises> premises_;
};

}  // namespace turnpike::x402
