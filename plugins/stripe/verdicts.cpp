#include "stripe/verdicts.h"

#include <algorithm>
#include <iterator>

namespace turnpike::stripe {
namespace {

struct CodeMeaning {
  std::string_view code;
  Decline decline;
};

// From Stripe's lists "Decline codes" and "Error codes". A charge declined with another code may
// work on another day. Card networks count and fine further tries after a final decline.
constexpr CodeMeaning meanings[] = {
    {"account_closed", Decline::never},
    {"authentication_not_handled", Decline::needs_customer},
    {"authentication_required", Decline::needs_customer},
    {"bank_account_unusable", Decline::never},
    {"card_not_supported", Decline::never},
    {"currency_not_supported", Decline::never},
    {"expired_card", Decline::never},
    {"expired_payment_method", Decline::never},
    {"fraudulent", Decline::never},
    {"incorrect_cvc", Decline::never},
    {"incorrect_number", Decline::never},
    {"incorrect_zip", Decline::never},
    {"invalid_account", Decline::never},
    {"invalid_cvc", Decline::never},
    {"invalid_expiry_month", Decline::never},
    {"invalid_expiry_year", Decline::never},
    {"invalid_number", Decline::never},
    {"live_mode_test_card", Decline::never},
    {"lost_card", Decline::never},
    {"merchant_blacklist", Decline::never},
    {"mobile_device_authentication_required", Decline::needs_customer},
    {"offline_pin_required", Decline::never},
    {"online_or_offline_pin_required", Decline::never},
    {"payment_intent_authentication_failure", Decline::needs_customer},
    {"payment_method_gone", Decline::method_gone},
    {"pickup_card", Decline::never},
    {"restricted_card", Decline::never},
    {"revocation_of_all_authorizations", Decline::never},
    {"revocation_of_authorization", Decline::never},
    {"stolen_card", Decline::never},
    {"stop_payment_order", Decline::never},
    {"test_mode_live_card", Decline::never},
    {"testmode_decline", Decline::never},
};

constexpr std::string_view method_gone_code = "payment_method_gone";

std::string upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](char each) {
    return each >= 'a' && each <= 'z' ? static_cast<char>(each - 'a' + 'A') : each;
  });
  return text;
}

// The purchase that the metadata name; empty if they name none, "unknown" if it is not an id.
std::string owner_of(JsonValue object) {
  std::string id = object["metadata"]["turnpike_purchase"].text();
  return id.empty() || is_id(id) ? id : "unknown";
}

void take_decline(Payment& payment, JsonValue error) {
  Declined declined = declined_by(error);
  payment.progress = Progress::declined;
  payment.decline = declined.decline;
  payment.code = std::move(declined.code);
}

// For a completed session without the money: the payment is pending, declined or cancelled.
void take_unpaid_intent(Payment& payment, JsonValue intent) {
  payment.progress = Progress::processing;
  if (intent["status"].is("requires_payment_method")) {
    take_decline(payment, intent["last_payment_error"]);
  } else if (intent["status"].is("canceled")) {
    payment.progress = Progress::cancelled;
  }
}

Done take_session_progress(Payment& payment, JsonValue session) {
  if (session["status"].is("open")) {
    payment.progress = Progress::open;
  } else if (session["status"].is("expired")) {
    payment.progress = Progress::expired;
  } else if (!session["status"].is("complete")) {
    return unusable_answer("a session whose status is none");
  } else if (session["payment_status"].is("paid")) {
    payment.progress = Progress::paid;
  } else if (session["payment_status"].is("unpaid")) {
    take_unpaid_intent(payment, session["payment_intent"]);
  } else {
    // The session asked for no money, which this plugin never does. So nothing was bought.
    payment.progress = Progress::declined;
    payment.code = "no_payment_required";
  }
  return Unit{};
}

Done take_intent_progress(Payment& payment, JsonValue intent) {
  const std::string status = intent["status"].text();
  const bool has_run =
      !intent["last_payment_error"].is_absent() || !intent["latest_charge"].is_absent();
  if (status == "succeeded") {
    payment.progress = Progress::paid;
  } else if (status == "processing") {
    payment.progress = Progress::processing;
  } else if (status == "canceled") {
    payment.progress = Progress::cancelled;
  } else if (status == "requires_action") {
    payment.progress = Progress::declined;
    payment.decline = Decline::needs_customer;
    payment.code = "authentication_required";
  } else if (status == "requires_payment_method" || status == "requires_confirmation") {
    payment.progress = Progress::never_ran;
    if (has_run) take_decline(payment, intent["last_payment_error"]);
  } else {
    return unusable_answer("a payment intent of a status that this plugin brings none to");
  }
  return Unit{};
}

}  // namespace

Failure unusable_answer(std::string what) {
  return {FailureKind::contract, "Stripe answered " + std::move(what), {}, true};
}

Declined declined_by(JsonValue error) {
  const std::string code = error["code"].text();
  const std::string decline_code = error["decline_code"].text();
  const std::string advice = error["advice_code"].text();
  // The payment method was detached or belongs to another customer.
  const bool is_gone = error["param"].is("payment_method") && !error["type"].is("card_error");
  Declined declined{Decline::later, word(is_gone                ? method_gone_code
                                         : decline_code.empty() ? code
                                                                : decline_code,
                                         "card_declined")};
  // The most specific code comes last and overrides the others.
  for (const std::string_view each :
       {std::string_view(code), std::string_view(decline_code), std::string_view(declined.code)}) {
    const auto* found = std::find_if(std::begin(meanings), std::end(meanings),
                                     [each](const auto& one) { return one.code == each; });
    if (found != std::end(meanings)) declined.decline = found->decline;
  }
  if (advice == "do_not_try_again" && declined.decline != Decline::method_gone) {
    declined.decline = Decline::never;
  }
  if (advice == "confirm_card_data" && declined.decline == Decline::later) {
    declined.decline = Decline::needs_customer;
  }
  return declined;
}

Result<Payment> payment_of_session(JsonValue session) {
  if (!session["object"].is("checkout.session") || !session["mode"].is("payment")) {
    return unusable_answer("something else in the place of a session for a payment");
  }
  Payment payment;
  const auto net = session["amount_subtotal"].integer();
  const auto total = session["amount_total"].integer();
  if (!net || !total || *net < 0 || *total < 0) {
    return unusable_answer("a session without its amounts");
  }
  payment.net = *net;
  payment.total = *total;
  payment.currency = upper(word(session["currency"].text(), ""));
  payment.payment = session["payment_intent"].id();
  payment.purchase_id = owner_of(session);
  const Done done = take_session_progress(payment, session);
  if (!done.ok()) return done.error();
  if (payment.progress == Progress::paid && payment.payment.empty()) {
    return unusable_answer("a paid session without its payment intent");
  }
  return payment;
}

Result<Payment> payment_of_intent(JsonValue intent) {
  if (!intent["object"].is("payment_intent")) {
    return unusable_answer("something else in the place of a payment intent");
  }
  Payment payment;
  const Done done = take_intent_progress(payment, intent);
  if (!done.ok()) return done.error();
  const bool is_paid = payment.progress == Progress::paid;
  const auto amount = intent[is_paid ? "amount_received" : "amount"].integer();
  payment.payment = intent.id();
  if (!amount || *amount < 0 || payment.payment.empty()) {
    return unusable_answer("a payment intent without its amount or id");
  }
  payment.net = payment.total = *amount;
  payment.currency = upper(word(intent["currency"].text(), ""));
  payment.purchase_id = owner_of(intent);
  return payment;
}

std::int64_t amount_given_back(JsonValue refund) {
  if (refund["status"].is("failed") || refund["status"].is("canceled")) return 0;
  return std::max<std::int64_t>(0, refund["amount"].integer().value_or(0));
}

Dispute dispute_named(std::string_view status) noexcept {
  // An inquiry moves no money. A `prevented` one ended before it became a dispute.
  if (status.starts_with("warning_") || status == "prevented") return Dispute::inquiry;
  if (status == "won") return Dispute::won;
  if (status == "lost") return Dispute::lost;
  return Dispute::open;
}

int weight_of(Dispute dispute) noexcept {
  switch (dispute) {
    case Dispute::none:
      return 0;
    case Dispute::inquiry:
      return 1;
    case Dispute::won:
      return 2;
    case Dispute::open:
      return 3;
    case Dispute::lost:
      return 4;
  }
  return 0;
}

Result<SavedMethod> saved_method_of(JsonValue method) {
  SavedMethod saved;
  saved.reference = method.id();
  if (saved.reference.empty()) return unusable_answer("a setup without its payment method");
  const std::string type = word(method["type"].text(), "method");
  const JsonValue card = method[type];
  saved.brand = type == "card" ? word(card["brand"].text(), "card") : type;
  const std::string last4 = card["last4"].text();
  const bool are_digits =
      last4.size() == 4 &&
      std::all_of(last4.begin(), last4.end(), [](char each) { return each >= '0' && each <= '9'; });
  if (are_digits) saved.last4 = last4;
  const std::string fingerprint = card["fingerprint"].text();
  if (is_id(fingerprint)) saved.fingerprint = fingerprint;
  const auto month = card["exp_month"].integer().value_or(0);
  const auto year = card["exp_year"].integer().value_or(0);
  saved.expires_month = month >= 1 && month <= 12 ? static_cast<int>(month) : 0;
  saved.expires_year = year >= 1 && year <= 9999 ? static_cast<int>(year) : 0;
  return saved;
}

}  // namespace turnpike::stripe
