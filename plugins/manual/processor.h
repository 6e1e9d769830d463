// ManualProcessor: Credits that are paid for by a transfer which an operator sees, on a bank
// account or anywhere else. It keeps what was ordered and what the operator said of it in the
// plugin's Store, and knows nothing by itself:
//
//   order/<purchase>          what is to be paid, until when
//   paid/<purchase>           an operator has seen the money (`turnpike purchase confirm`)
//   refund/<purchase>/<key>   the operator sends so much of it back, by hand
//
// The host owns the objects; any Thread, several at once.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <turnpike/processor.h>

namespace turnpike::manual {

// What stands under `processors.manual`.
struct ManualSettings {
  std::string instructions_url;  // where people read how to pay; "{purchase}" is the id; or empty
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
  // Nothing: it was never ordered.
  Result<std::optional<Ordered>> ordered(std::string_view purchase_id, Call& call);
  Result<std::optional<std::string>> value_of(const std::string& key, Call& call);
  // Writes a record that is never changed. False: there is one already.
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
