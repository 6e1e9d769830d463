#include "manual/processor.h"

#include <charconv>
#include <utility>

namespace turnpike::manual {
namespace {

constexpr std::int64_t day_ms = 24 * 3'600'000ll;
constexpr std::uint32_t refunds_max = 1'000;
constexpr std::string_view place_of_purchase = "{purchase}";

std::string order_key(std::string_view id) { return "order/" + std::string(id); }
std::string paid_key(std::string_view id) { return "paid/" + std::string(id); }
std::string refunds_of(std::string_view id) { return "refund/" + std::string(id) + "/"; }

// "USD 1000"
std::string text_of(Price price) {
  return std::string(price.currency) + " " + std::to_string(price.minor);
}

// Removes the first word from `text`, with the blank after it, and returns the word.
std::string_view take_word(std::string_view& text) {
  const std::size_t end = text.find(' ');
  const std::string_view word = text.substr(0, end);
  text = end == text.npos ? std::string_view() : text.substr(end + 1);
  return word;
}

std::int64_t number_of(std::string_view text) {
  std::int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

Failure store_away(bool maybe_written) {
  return {FailureKind::unavailable, "the store does not answer", {}, maybe_written};
}

Failure no_order(std::string_view id) {
  return {FailureKind::contract, "nothing was ordered under " + std::string(id), {}, false};
}

}  // namespace

Result<ManualSettings> read_settings(const Settings& settings) {
  if (auto known = settings.only({"instructions_url", "days_to_pay"}); !known.ok()) {
    return std::move(known).error();
  }
  ManualSettings read;
  auto url = settings.string("instructions_url", "");
  if (!url.ok()) return std::move(url).error();
  read.instructions_url = *std::move(url);
  if (!read.instructions_url.empty() && !read.instructions_url.starts_with("https://") &&
      !read.instructions_url.starts_with("http://")) {
    return Settings::wrong("instructions_url", "an https URL");
  }
  const auto days = settings.integer("days_to_pay", read.days_to_pay, 1, 90);
  if (!days.ok()) return days.error();
  read.days_to_pay = *days;
  return read;
}

Result<std::optional<std::string>> BoundManual::value_of(const std::string& key, Call& call) {
  auto record = host_.store().get(key, call);
  if (!record.ok()) return std::move(record).error();
  if (!*record) return std::optional<std::string>{};
  return std::optional(std::move((*record)->value));
}

Result<bool> BoundManual::write_once(const std::string& key, const std::string& value,
                                     Call& call) {
  const StoreCheck checks[] = {{key, 0}};
  const StoreWrite writes[] = {{key, value}};
  switch (host_.store().apply(checks, writes, call).outcome) {
    case StoreOutcome::applied:
      return true;
    case StoreOutcome::conflict:
      return false;
    case StoreOutcome::unavailable:
      return store_away(false);
    case StoreOutcome::unknown:
      break;
  }
  return store_away(true);
}

Result<std::optional<BoundManual::Ordered>> BoundManual::ordered(std::string_view purchase_id,
                                                                 Call& call) {
  auto value = value_of(order_key(purchase_id), call);
  if (!value.ok()) return std::move(value).error();
  if (!*value) return std::optional<Ordered>{};
  std::string_view rest = **value;
  Ordered order;
  order.currency = take_word(rest);
  order.minor = number_of(take_word(rest));
  order.expires_at_ms = number_of(take_word(rest));
  return std::optional(std::move(order));
}

Result<Begun> BoundManual::begin(const Order& order, Call& call) {
  const std::int64_t expires_at_ms = host_.clock().now_ms() + settings_.days_to_pay * day_ms;
  const auto written = write_once(order_key(order.purchase_id),
                                  text_of(order.price) + " " + std::to_string(expires_at_ms),
                                  call);
  if (!written.ok()) return written.error();
  // If the order was begun before, the end of the time to pay that was stored then still holds.
  const auto kept = ordered(order.purchase_id, call);
  if (!kept.ok()) return kept.error();
  if (!*kept) return store_away(true);
  Begun begun{.reference = std::string(order.purchase_id)};
  begun.expires_at_ms = (*kept)->expires_at_ms;
  begun.url = settings_.instructions_url;
  if (const auto at = begun.url.find(place_of_purchase); at != begun.url.npos) {
    begun.url.replace(at, place_of_purchase.size(), order.purchase_id);
  }
  return begun;
}

Result<Payment> BoundManual::look_up(std::string_view reference, Call& call) {
  const auto order = ordered(reference, call);
  if (!order.ok()) return order.error();
  if (!*order) return no_order(reference);
  const auto paid = value_of(paid_key(reference), call);
  if (!paid.ok()) return paid.error();
  Payment payment;
  payment.purchase_id = reference;
  if (!*paid) {
    const bool is_late = host_.clock().now_ms() > (*order)->expires_at_ms;
    payment.progress = is_late ? Progress::expired : Progress::open;
    return payment;
  }
  payment.progress = Progress::paid;
  std::string_view words = **paid;
  payment.currency = take_word(words);
  payment.net = payment.total = number_of(take_word(words));
  payment.payment = reference;
  const auto refunds = host_.store().scan(refunds_of(reference), "", refunds_max, call);
  if (!refunds.ok()) return refunds.error();
  for (const StoreRecord& record : *refunds) {
    std::string_view refund = record.value;
    (void)take_word(refund);
    payment.refunded += number_of(take_word(refund));
  }
  return payment;
}

Done BoundManual::confirm(std::string_view reference, Price price, std::string_view note,
                          Call& call) {
  const auto order = ordered(reference, call);
  if (!order.ok()) return order.error();
  if (!*order) return no_order(reference);
  if ((*order)->currency != price.currency || (*order)->minor != price.minor) {
    return Failure{FailureKind::contract,
                   "ordered was " + (*order)->currency + " " + std::to_string((*order)->minor) +
                       " in the smallest part of the currency; a payment of another amount is "
                       "sent back, or made whole first",
                   {},
                   false};
  }
  const auto written =
      write_once(paid_key(reference), text_of(price) + " " + std::string(note), call);
  if (!written.ok()) return written.error();
  return Unit{};  // also when it was confirmed before
}

Result<Refunded> BoundManual::refund(std::string_view payment, Price price, std::string_view key,
                                     Call& call) {
  const auto written =
      write_once(refunds_of(payment) + std::string(key), text_of(price), call);
  if (!written.ok()) return written.error();
  host_.report().log(Severity::warning, "send " + text_of(price) +
                                            " (smallest part of the currency) back by hand, for " +
                                            std::string(payment));
  return Refunded{.reference = std::string(key)};
}

std::vector<Finding> BoundManual::check(Call& /*call*/) {
  if (!settings_.instructions_url.empty()) return {};
  return {{false,
           "no instructions_url: people are shown the purchase alone, and must know from "
           "elsewhere where to send the money"}};
}

ProcessorTraits ManualProcessor::traits() const noexcept {
  return {.name = "manual",
          .title = "Bank transfer",
          .hosts_checkout = true,
          .refunds = true,
          .is_confirmed_by_operator = true};
}

Result<std::unique_ptr<BoundProcessor>> ManualProcessor::bind(const ProcessorBinding& binding,
                                                              Host& host) {
  auto settings = read_settings(binding.settings);
  if (!settings.ok()) return std::move(settings).error();
  return std::unique_ptr<BoundProcessor>(std::make_unique<BoundManual>(*std::move(settings), host));
}

}  // namespace turnpike::manual
