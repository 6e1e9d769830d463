// Arbitrary bytes as webhook bodies and API objects of Stripe: none causes a fault, hints contain
// only ids, and nothing counts as paid without a valid amount, currency and payment.
#include <cstdint>
#include <string_view>

#include "fuzz/check.h"
#include "stripe/events.h"
#include "stripe/json.h"
#include "stripe/verdicts.h"

using turnpike::fuzz::check;

namespace turnpike::stripe {
namespace {

void read_payment(const Result<Payment>& payment) {
  if (!payment.ok()) {
    check(!payment.error().message.empty());
    return;
  }
  check(payment->net >= 0 && payment->total >= 0 && payment->refunded == 0);
  check(payment->payment.empty() || is_id(payment->payment));
  check(payment->purchase_id.empty() || is_id(payment->purchase_id));
  check(payment->code.size() <= 60);
  if (payment->progress == Progress::paid) check(!payment->payment.empty());
  if (payment->progress != Progress::declined) check(payment->code.empty());
}

void read(JsonValue root) {
  const ReadEvent event = read_event(root, {"dep_1", false});
  check(event.hints.size() <= 1);
  check(event.hints.empty() == (event.kind != EventKind::told));
  for (const Hint& hint : event.hints) check(is_id(hint.id));
  for (const JsonValue object : {root, root["data"]["object"]}) {
    read_payment(payment_of_session(object));
    read_payment(payment_of_intent(object));
    check(amount_given_back(object) >= 0);
    check(weight_of(dispute_named(object["status"].text())) > 0);
    if (const auto method = saved_method_of(object); method.ok()) {
      check(is_id(method->reference) && method->brand.size() <= 60 && method->last4.size() <= 4);
    }
  }
}

}  // namespace
}  // namespace turnpike::stripe

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace turnpike::stripe;
  const auto json = turnpike::stripe::read_json({reinterpret_cast<const char*>(data), size});
  if (json) read(JsonValue(*json));
  return 0;
}
