#include "commerce/desk.h"

#include "base/crash_points.h"

namespace turnpike::commerce {
namespace {

using base::ErrorCode;

constexpr std::uint32_t threads_max = 4;
constexpr std::uint32_t queued_max = 512;
constexpr std::int64_t look_timeout_ms = 15'000;
constexpr std::int64_t begin_given_up_ms = 24 * 3'600'000ll;
// A checkout must be valid for this long when begun: payment services require half an hour.
constexpr std::int64_t good_for_ms_min = 31 * 60'000;
constexpr std::int64_t writing_ms = 5'000;  // in addition to the processor's time
constexpr std::int64_t without_processor_ms = 3'600'000;
constexpr std::int64_t charge_timeout_ms = 30'000;  // banks may be slow

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
  Step counted = step;
  counted.failures_max = settings().top_up.failures_max;
  auto written = ask([&] { return store().advance(counted, due_after_step(step.next)); });
  if (!written.ok()) return written.error();
  if (*written) {
    if (!(*written)->conflict.empty() && step.next.looks <= 1) {
      parts_.log.write(Severity::error, "purchase_conflict",
                       {{"purchase", step.next.id}, {"reason", (*written)->conflict}});
    }
    return **std::move(written);
  }
  // Another caller or another node took the step meanwhile: its result counts.
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
  // The processor may repeat its answer to the old step_key forever, so the retry uses a new one.
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
    // A late begin gets a new expiry, which makes it a different step with a new step_key.
    purchase.expires_at_ms = now_ms + settings().checkout_minutes * 60'000ll;
    ++purchase.begin_number;
  }
  std::string customer = purchase.customer;
  if (customer.empty()) {
    auto known = ask([&] { return store().customer(purchase.account_id, purchase.processor); });
    if (!known.ok()) return known.error();
    customer = *std::move(known);
  }
  const std::string title = title_of(purchase.credits) + ", " + settings().brand;
  const auto url = [&](const std::string& form) {
    return url_for(form, purchase.account_id, "{purchase}", purchase.id);
  };
  const std::string success = url(settings().success_url);
  const std::string cancel = url(settings().cancel_url);
  const std::string key = step_key(purchase.id, "begin", purchase.begin_number);
  const Order order{.purchase_id = purchase.id,
                    .account_id = purchase.account_id,
                    .title = title,
                    .customer = customer,
                    .saved_method = purchase.saved_method,
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
  const bool is_uncharged = is_run(purchase) && purchase.state == State::awaiting_payment &&
                            payment->progress == Progress::never_ran;
  if (is_uncharged) return charge(purchase);
  return write(after_look(purchase, *payment, parts_.clock.now_ms()));
}

Result<Purchase, base::Error> Desk::charge(const Purchase& run) {
  const ProcessorInService* const processor = parts_.processors.find(run.processor);
  if (processor == nullptr) return without_processor(run);
  const auto noted = ask(
      [&] { return parts_.top_ups.note_charge(run, charge_timeout_ms + writing_ms); });
  if (!noted.ok()) return noted.error();
  if (!*noted) return cancel(run, *processor);
  const Purchase& charged = **noted;
  const std::string title = title_of(charged.credits) + ", " + settings().brand;
  const std::string key = step_key(charged.id, "charge", charged.charge_number - 1);
  const Order order{.purchase_id = charged.id,
                    .account_id = charged.account_id,
                    .title = title,
                    .customer = charged.customer,
                    .saved_method = charged.saved_method,
                    .success_url = {},
                    .cancel_url = {},
                    .step_key = key,
                    .price = {charged.currency, charged.minor},
                    .expires_at_ms = charged.expires_at_ms};
  ProcessorCall call("", charge_timeout_ms);
  const auto payment = processor->bound->charge(order, charged.reference, call);
  base::pass(base::CrashPoint::purchase_charged);
  if (!payment.ok()) return give_up(charged, payment.error(), "charge");
  return write(after_look(charged, *payment, parts_.clock.now_ms()));
}

Result<Purchase, base::Error> Desk::cancel(const Purchase& run,
                                           const ProcessorInService& processor) {
  ProcessorCall call("", look_timeout_ms);
  const Done cancelled = processor.bound->cancel(run.reference, call);
  if (!cancelled.ok()) return give_up(run, cancelled.error(), "cancel");
  // The cancellation may have come too late; a successful charge is credited.
  const auto payment = processor.bound->look_up(run.reference, call);
  if (!payment.ok()) return give_up(run, payment.error(), "look_up");
  const Step seen = after_look(run, *payment, parts_.clock.now_ms());
  return write(is_open(seen.next.state) && payment->progress == Progress::never_ran
                   ? after_cancel(run)
                   : seen);
}

Result<Purchase, base::Error> Desk::work_on(const Purchase& purchase) {
  const auto needs_charge = [](const Purchase& each) {
    return is_run(each) && each.state == State::awaiting_payment && each.charge_number == 0;
  };
  if (purchase.reference.empty()) {
    auto begun = begin(purchase);
    if (!begun.ok() || !needs_charge(*begun)) return begun;
    return charge(*begun);
  }
  return needs_charge(purchase) ? charge(purchase) : look(purchase);
}

std::string Desk::step_key(std::string_view id, std::string_view step, std::int64_t number) {
  std::string key = std::string(id) + "." + std::string(step);
  return number == 0 ? key : key + "." + std::to_string(number);
}

std::string Desk::url_for(std::string url, std::string_view account_id, std::string_view place,
                          std::string_view id) {
  const auto replace = [&url](std::string_view name, std::string_view text) {
    if (const auto at = url.find(name); at != url.npos) url.replace(at, name.size(), text);
  };
  replace("{account}", account_id);
  replace(place, id);
  return url;
}

}  // namespace turnpike::commerce
