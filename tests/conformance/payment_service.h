// PaymentService: the payment service in the model of purchases, and the truth about its payments.
// It remembers what it began by step_key. All cases of a database share it, since nodes also look
// up payments that earlier cases left open. One Thread.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <turnpike/processor.h>

namespace turnpike::commerce {

class PaymentService final : public BoundProcessor {
 public:
  struct Truth {
    std::string account_id;
    Payment payment;
    int disputes = 0;
    bool is_of_saved_method = false;
    bool was_told_paid = false;  // a look_up() reported it as paid
  };
  // The result of a charge.
  enum class Verdict : std::uint8_t { pays, takes_time, tries_later, asks_customer, never };

  Result<Begun> begin(const Order& order, Call&) override {
    if (is_away) return away(false);
    const bool is_of_saved_method = !order.saved_method.empty();
    const std::string reference =
        (is_of_saved_method ? "ch_" : "cs_") + std::string(order.step_key);
    Truth& truth = truths[reference];
    truth.account_id = order.account_id;
    truth.is_of_saved_method = is_of_saved_method;
    truth.payment.currency = order.price.currency;
    truth.payment.net = order.price.minor;
    truth.payment.total = order.price.minor + order.price.minor / 10;  // tax
    truth.payment.payment = "pi_" + reference;
    if (is_of_saved_method) truth.payment.progress = Progress::never_ran;
    if (std::exchange(loses_answer, false)) return away(true);
    if (is_of_saved_method) {
      return Begun{.reference = reference, .customer = std::string(order.customer)};
    }
    return Begun{.reference = reference, .url = "https://pay.example/" + reference};
  }
  Result<Payment> look_up(std::string_view reference, Call&) override {
    if (is_away) return away(false);
    return told(std::string(reference));
  }
  Result<Payment> charge(const Order& order, std::string_view reference, Call&) override {
    on_charge(order, reference);
    if (is_away) return away(true);
    Truth& truth = truths.at(std::string(reference));
    // Like a real payment service, it charges a payment once.
    if (truth.payment.progress == Progress::never_ran) judge(truth);
    if (std::exchange(loses_answer, false)) return away(true);
    return told(std::string(reference));
  }
  Done cancel(std::string_view reference, Call&) override {
    if (is_away) return away(false);
    Payment& payment = truths.at(std::string(reference)).payment;
    if (payment.progress == Progress::never_ran) payment.progress = Progress::cancelled;
    if (std::exchange(loses_answer, false)) return away(true);
    return Unit{};
  }
  Result<Begun> begin_setup(const Order& order, Call&) override {
    if (is_away) return away(false);
    const std::string reference = "seti_" + std::string(order.step_key);
    // The customer saves the same card in every setup of an order.
    setups[reference].method =
        SavedMethod{"pm_" + reference, "visa", "4242", std::string(order.account_id), 4, 2031};
    if (std::exchange(loses_answer, false)) return away(true);
    return Begun{.reference = reference, .url = "https://save.example/" + reference};
  }
  Result<SetupState> look_up_setup(std::string_view reference, Call&) override {
    if (is_away) return away(false);
    return setups.at(std::string(reference));
  }
  Done forget_method(std::string_view method, Call&) override {
    if (is_away) return away(false);
    forgotten.emplace(method);
    if (std::exchange(loses_answer, false)) return away(true);
    return Unit{};
  }
  Result<Changes> changes(std::int64_t, std::string_view, Call&) override {
    Changes all;
    for (const std::string& reference : of(current_account)) {
      all.hints.push_back({Hint::Of::reference, reference});
    }
    return all;
  }

  // The references of an account's payments.
  std::vector<std::string> of(const std::string& account_id) const {
    std::vector<std::string> references;
    for (const auto& [reference, truth] : truths) {
      if (truth.account_id == account_id) references.push_back(reference);
    }
    return references;
  }

  Payment told(const std::string& reference) {
    Truth& truth = truths.at(reference);
    if (truth.payment.progress == Progress::paid) truth.was_told_paid = true;
    return truth.payment;
  }

  std::string current_account;
  bool is_away = false;
  bool loses_answer = false;
  Verdict verdict = Verdict::pays;
  std::function<void(const Order&, std::string_view reference)> on_charge;  // called per charge
  std::map<std::string, Truth> truths;  // by reference
  std::map<std::string, SetupState> setups;
  std::set<std::string> forgotten;  // methods

 private:
  static Failure away(bool maybe_sent) {
    return {FailureKind::transport, maybe_sent ? "lost" : "away", {}, maybe_sent};
  }

  void judge(Truth& truth) const {
    Payment& payment = truth.payment;
    switch (verdict) {
      case Verdict::pays: payment.progress = Progress::paid; return;
      case Verdict::takes_time: payment.progress = Progress::processing; return;
      case Verdict::tries_later: payment.decline = Decline::later; break;
      case Verdict::asks_customer: payment.decline = Decline::needs_customer; break;
      case Verdict::never: payment.decline = Decline::never; break;
    }
    payment.progress = Progress::declined;
    payment.code = "card_declined";
  }
};

}  // namespace turnpike::commerce
