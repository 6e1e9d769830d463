// FakeProcessor: a processor whose answers a test chooses. Like a payment service, it remembers
// what it began by step_key. Any Thread.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include <turnpike/processor.h>

namespace turnpike::commerce {

inline Failure away(bool maybe_sent) {
  return {FailureKind::transport, "away", {}, maybe_sent};
}

class FakeProcessor final : public BoundProcessor {
 public:
  Result<Begun> begin(const Order& order, Call&) override {
    const std::lock_guard lock(mutex);
    ++begins;
    keys.emplace_back(order.step_key);
    if (is_away) return away(false);
    if (!refusal.empty()) return Begun{.refusal = refusal};
    if (!order.saved_method.empty()) {
      const std::string intent = "pi_" + std::string(order.step_key);
      payments.try_emplace(intent, Payment{.progress = Progress::never_ran});
      orders[intent] = order.purchase_id;
      return Begun{.reference = intent, .customer = std::string(order.customer)};
    }
    const std::string reference = "cs_" + std::string(order.step_key);
    payments.try_emplace(reference);
    orders[reference] = order.purchase_id;
    if (loses_answer) return away(true);
    return Begun{.reference = reference, .url = "https://pay.example/" + reference};
  }
  Result<Payment> look_up(std::string_view reference, Call&) override {
    const std::lock_guard lock(mutex);
    ++looks;
    if (is_away) return away(false);
    return payments.at(std::string(reference));
  }
  Result<Payment> charge(const Order& order, std::string_view reference, Call&) override {
    const std::lock_guard lock(mutex);
    charges.emplace_back(order.step_key);
    charged_methods.emplace_back(order.saved_method);
    if (is_charging_away) return away(true);
    Payment& payment = payments.at(std::string(reference));
    payment.currency = order.price.currency;
    payment.net = payment.total = order.price.minor;
    payment.payment = reference;
    payment.progress = decline == Decline::none ? Progress::paid : Progress::declined;
    payment.decline = decline;
    if (decline != Decline::none) payment.code = "card_declined";
    if (loses_charge) return away(true);
    return payment;
  }
  Done cancel(std::string_view reference, Call&) override {
    const std::lock_guard lock(mutex);
    if (is_away) return away(false);
    Payment& payment = payments.at(std::string(reference));
    if (payment.progress == Progress::never_ran) payment.progress = Progress::cancelled;
    return Unit{};
  }
  Result<Begun> begin_setup(const Order& order, Call&) override {
    const std::lock_guard lock(mutex);
    setup_keys.emplace_back(order.step_key);
    if (is_away) return away(false);
    if (!refusal.empty()) return Begun{.refusal = refusal};
    const std::string reference = "seti_" + std::string(order.step_key);
    setups.try_emplace(reference);
    if (loses_answer) return away(true);
    return Begun{.reference = reference,
                 .url = "https://save.example/" + reference,
                 .customer = "cus_" + std::string(order.account_id)};
  }
  Result<SetupState> look_up_setup(std::string_view reference, Call&) override {
    const std::lock_guard lock(mutex);
    if (is_away) return away(false);
    return setups.at(std::string(reference));
  }
  Done forget_method(std::string_view method, Call&) override {
    const std::lock_guard lock(mutex);
    if (is_away) return away(true);
    forgotten.emplace_back(method);
    return Unit{};
  }
  Result<Refunded> refund(std::string_view payment, Price price, std::string_view key,
                          Call&) override {
    const std::lock_guard lock(mutex);
    refund_keys.emplace_back(key);
    if (is_away) return away(true);
    if (!refusal.empty()) return Refunded{.refusal = refusal};
    if (!refunds.emplace(key, price.minor).second) return Refunded{.reference = "re_1"};
    for (auto& [reference, known] : payments) {
      if (known.payment == payment) known.refunded += price.minor;
    }
    return Refunded{.reference = "re_1"};
  }
  Result<Changes> changes(std::int64_t since_ms, std::string_view cursor, Call&) override {
    const std::lock_guard lock(mutex);
    asked_since.push_back(since_ms);
    Changes page;
    if (cursor.empty()) {
      page.hints = changed;
      page.cursor = "second";
    } else {
      page.until_ms = until_ms;
    }
    return page;
  }
  Result<Notice> notice(const IntakeRequest& request, Call&) override {
    return Notice{{.status = 200}, {{Hint::Of::reference, std::string(request.body)}}, true};
  }

  void pay(const std::string& reference) {
    const std::lock_guard lock(mutex);
    Payment& payment = payments.at(reference);
    payment.progress = Progress::paid;
    payment.currency = "USD";
    payment.net = payment.total = 1'000;
    payment.payment = "pi_" + reference;
  }

  void save(const std::string& reference, const std::string& fingerprint) {
    const std::lock_guard lock(mutex);
    setups.at(reference).method = SavedMethod{"pm_" + reference, "visa", "4242", fingerprint, 4,
                                              2031};
  }

  std::mutex mutex;
  std::vector<std::string> forgotten;
  bool is_charging_away = false;
  bool loses_charge = false;
  Decline decline = Decline::none;
  std::vector<std::string> charges;  // their step keys
  std::vector<std::string> charged_methods;
  std::vector<std::string> setup_keys;
  std::map<std::string, SetupState> setups;
  bool is_away = false;
  bool loses_answer = false;
  std::string refusal;
  int begins = 0;
  int looks = 0;
  std::vector<std::string> keys;
  std::map<std::string, Payment> payments;
  std::map<std::string, std::string> orders;
  std::map<std::string, std::int64_t, std::less<>> refunds;
  std::vector<std::string> refund_keys;
  std::vector<Hint> changed;
  std::vector<std::int64_t> asked_since;
  std::int64_t until_ms = 0;
};

}  // namespace turnpike::commerce
