#include "commerce/desk.h"

#include "base/crash_points.h"

namespace turnpike::commerce {
namespace {

using base::ErrorCode;

constexpr std::uint32_t threads_max = 4;
constexpr std::uint32_t queued_max = 512;
constexpr std::int64_t look_timeout_ms = 15'000;
constexpr std::int64_t begin_given_up_ms = 24 * 3'600'000ll;
// A checkout must be good for so long when it is begun: payment services insist on half an hour.
constexpr std::int64_t good_for_ms_min = 31 * 60'000;
constexpr std::int64_t writing_ms = 5'000;  // beside what the processor may take
constexpr std::int64_t without_processor_ms = 3'600'000;

// Replaces "{account}" and "{purchase}".
std::string url_for(std::string url, const Purchase& purchase) {
  const auto replace = [&url](std::string_view place, const std::string& id) {
    if (const auto at = url.find(place); at != url.npos) url.replace(at, place.size(), id);
  };
  replace("{account}", purchase.account_id);
  replace("{purchase}", purchase.id);
  return url;
}

// "10,000 Credits"
std::string title_of(Credits credits) {
  std::string digits = std::to_string(credits);
  for (std::size_t left = digits.size(); left > 3; left -= 3) digits.insert(left - 3, 1, ',');
  return digits + (credits == 1 ? " Credit" : " Credits");
}

}  // namespace

Desk::Desk(Parts parts)
    : parts_(std::move(parts)),
      user_(parts_.pool.add_user("purchases", threads_max, queued_max)) {}

std::int64_t Desk::lease_ms(const ProcessorInService& processor) const noexcept {
  return std::max<std::int64_t>(processor.traits.begin_timeout_ms, look_timeout_ms) + writing_ms;
}

std::int64_t Desk::due_after_step(const Purchase& next) const {
  return due_after(next, parts_.clock.now_ms(), parts_.random);
}

Result<Purchase, base::Error> Desk::write(const Step& step) {
  auto written = ask([&] { return store().advance(step, due_after_step(step.next)); });
  if (!written.ok()) return written.error();
  if (*written) {
    if (!(*written)->conflict.empty() && step.next.looks <= 1) {
      parts_.log.write(Severity::error, "purchase_conflict",
                       {{"purchase", step.next.id}, {"reason", (*written)->conflict}});
    }
    return **std::move(written);
  }
  // Somebody else took it on meanwhile: what they made of it counts.
  auto found = ask([&] { return store().find(step.next.id); });
  if (!found.ok()) return found.error();
  if (*found) return **std::move(found);
  return base::Error{ErrorCode::purchase_not_found, "There is no purchase with this id."};
}

Result<Purchase, base::Error> Desk::give_up(const Purchase& purchase, const Failure& failure,
                                            std::string_view what) {
  parts_.log.write(Severity::warning, "processor_failed",
                   {{"processor", purchase.processor},
                    {"purchase", purchase.id},
                    {"step", what},
                    {"reason", failure.message}});
  Step step{purchase};
  ++step.next.looks;
  // What was answered under the old name of the step may be answered so for ever.
  if (purchase.state == State::created && failure.maybe_sent) ++step.next.begin_number;
  if (auto written = write(step); !written.ok()) return written;
  return base::Error{ErrorCode::purchase_processor_unavailable,
                     "The payment service does not answer now. The purchase stands: repeat the "
                     "request under the same Idempotency-Key.",
                     5};
}

Result<Purchase, base::Error> Desk::without_processor(const Purchase& purchase) {
  const auto written = ask([&] {
    return store().advance(Step{purchase}, parts_.clock.now_ms() + without_processor_ms);
  });
  if (!written.ok()) return written.error();
  return base::Error{ErrorCode::purchase_unavailable,
                     "The payment service of this purchase is not loaded.", 60};
}

Result<Purchase, base::Error> Desk::begin(const Purchase& opened) {
  const ProcessorInService* const processor = parts_.processors.find(opened.processor);
  if (processor == nullptr) return without_processor(opened);
  const std::int64_t now_ms = parts_.clock.now_ms();
  if (now_ms - opened.created_at_ms > begin_given_up_ms) {
    return write(after_refusal(opened, "processor_unanswered"));
  }
  Purchase purchase = opened;
  if (purchase.expires_at_ms - now_ms < good_for_ms_min) {
    // Begun late, it gets time of its own, which makes it another step.
    purchase.expires_at_ms = now_ms + settings().checkout_minutes * 60'000ll;
    ++purchase.begin_number;
  }
  auto customer = ask([&] { return store().customer(purchase.account_id, purchase.processor); });
  if (!customer.ok()) return customer.error();
  const std::string title = title_of(purchase.credits) + ", " + settings().brand;
  const std::string success = url_for(settings().success_url, purchase);
  const std::string cancel = url_for(settings().cancel_url, purchase);
  const std::string key = purchase.id + ".begin" +
                          (purchase.begin_number == 0
                               ? ""
                               : "." + std::to_string(purchase.begin_number));
  const Order order{.purchase_id = purchase.id,
                    .account_id = purchase.account_id,
                    .title = title,
                    .customer = *customer,
                    .saved_method = {},
                    .success_url = success,
                    .cancel_url = cancel,
                    .step_key = key,
                    .price = {purchase.currency, purchase.minor},
                    .expires_at_ms = purchase.expires_at_ms};
  ProcessorCall call("", processor->traits.begin_timeout_ms);
  const auto begun = processor->bound->begin(order, call);
  base::pass(base::CrashPoint::purchase_begun);
  if (!begun.ok()) return give_up(purchase, begun.error(), "begin");
  if (!begun->refusal.empty()) return write(after_refusal(purchase, begun->refusal));
  return write(after_begin(purchase, *begun));
}

Result<Purchase, base::Error> Desk::look(const Purchase& purchase) {
  const ProcessorInService* const processor = parts_.processors.find(purchase.processor);
  if (processor == nullptr) return without_processor(purchase);
  ProcessorCall call("", look_timeout_ms);
  const auto payment = processor->bound->look_up(purchase.reference, call);
  base::pass(base::CrashPoint::purchase_looked);
  if (!payment.ok()) return give_up(purchase, payment.error(), "look_up");
  return write(after_look(purchase, *payment, parts_.clock.now_ms()));
}

Result<Purchase, base::Error> Desk::work_on(const Purchase& purchase) {
  return purchase.reference.empty() ? begin(purchase) : look(purchase);
}

}  // namespace turnpike::commerce
