// ManualProcessor: Credits that are paid for by a transfer, to a bank account or elsewhere, which
// an operator confirms by hand. The processor learns of payments only from the operator. Its
// records in the plugin's Store:
//
//   order/<purchase>          the price and the end of the time to pay
//   paid/<purchase>           an operator has seen the money (`turnpike purchase confirm`)
//   refund/<purchase>/<key>   an amount that the operator must send back by hand
//
// The host owns the objects and may call them on any Thread, several calls at once.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <turnpike/processor.h>

namespace turnpike::manual {

// The settings under `processors.manual`.
struct ManualSettings {
  std::string instructions_url;  // a page on how to pay; "{purchase}" becomes the id; may be empty
  std::int64_t days_to_pay = 14;
};
Result<ManualSettings> read_settings(const Settings& settings);

class BoundManual final : public BoundProcessor {
 public:
  BoundManual(ManualSettings settings, Host& host) : settings_(std::move(settings)), host_(host) {}

  Result<Begun> begin(const Order& order, Call& call) override;
  Result<Payment> look_up(std::string_view reference, Call& call) override;
  Done confirm(std::string_view reference, Price price, std::string_view note,
               Call& call) override;
  Result<Refunded> refund(std::string_view payment, Price price, std::string_view key,
                          Call& call) override;
  std::vector<Finding> check(Call& call) override;

 private:
  struct Ordered {
    std::string currency;
    std::int64_t minor = 0;
    std::int64_t expires_at_ms = 0;
  };
  // Empty if there is no such order.
  Result<std::optional<Ordered>> ordered(std::string_view purchase_id, Call& call);
  Result<std::optional<std::string>> value_of(const std::string& key, Call& call);
  // Writes a record that never changes afterwards. False if the record exists already.
  Result<bool> write_once(const std::string& key, const std::string& value, Call& call);

  const ManualSettings settings_;
  Host& host_;
};

class ManualProcessor final : public Processor {
 public:
  [[nodiscard]] ProcessorTraits traits() const noexcept override;
  Result<std::unique_ptr<BoundProcessor>> bind(const ProcessorBinding& binding,
                                               Host& host) override;
};

}  // namespace turnpike::manual
