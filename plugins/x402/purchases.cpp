#include "x402/purchases.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace turnpike::x402 {
namespace {

constexpr int attempts_max = 3;
constexpr std::uint32_t news_per_page = 500;
// A payment that was begun in time can be seen after this: meanwhile its request is read and a
// facilitator is asked.
constexpr std::int64_t claim_grace_ms = 120'000;
constexpr std::string_view refund_entry = "refund_owed";

Failure store_away(bool is_maybe_written) {
  return {FailureKind::unavailable, "the store does not answer", {}, is_maybe_written};
}

Failure no_order(std::string_view purchase_id) {
  return {FailureKind::contract, "nothing was ordered under " + std::string(purchase_id), {},
          false};
}

Failure record_unreadable(std::string_view key) {
  return {FailureKind::contract, "the record " + std::string(key) + " is unreadable", {}, false};
}

// Whether the payment is claimed or further, so that money may move.
bool is_under_way(const PaymentRecord& record, std::int64_t now_ms) noexcept {
  switch (record.state) {
    case PaymentState::claimed:
    case PaymentState::working:
      return now_ms < record.lease_until_ms;
    case PaymentState::settling:
    case PaymentState::settled:
    case PaymentState::settlement_unknown:
      return true;
    case PaymentState::answered:
    case PaymentState::released:
    case PaymentState::owed:
    case PaymentState::refunded:
    case PaymentState::never_paid:
      break;
  }
  return false;
}

Payment paid(const PurchaseRecord& order, const KnownPayment& by, std::string_view purchase_id) {
  Payment payment;
  payment.progress = Progress::paid;
  payment.currency = order.currency;
  payment.net = payment.total = order.minor;
  payment.payment = by.key;
  payment.purchase_id = purchase_id;
  payment.refunded = order.refunded_minor;
  const PaymentState state = by.record.state;
  const bool is_owed = state == PaymentState::owed || state == PaymentState::refunded;
  if (is_owed) payment.refunded = order.minor;
  // A facilitator said that it was settled, but the chain has proved that it never will be.
  if (state == PaymentState::never_paid) {
    payment.dispute = Dispute::lost;
    payment.dispute_id = by.key;
  }
  return payment;
}

std::int64_t number_at(std::string_view text, std::size_t at) {
  std::int64_t number = 0;
  if (at < text.size()) std::from_chars(text.data() + at, text.data() + text.size(), number);
  return number;
}

}  // namespace

Result<std::optional<KnownPurchase>> Purchases::find(std::string_view purchase_id, Call& call) {
  if (!purchase_id_of(purchase_id)) return std::optional<KnownPurchase>{};
  auto stored = store_.get(keys::purchase(purchase_id), call);
  if (!stored.ok()) return std::move(stored).error();
  if (!*stored) return std::optional<KnownPurchase>{};
  auto record = purchase_of_json((*stored)->value);
  if (!record) return record_unreadable((*stored)->key);
  return std::optional(KnownPurchase{*std::move(record), (*stored)->version});
}

Result<PurchaseRecord> Purchases::order(std::string_view purchase_id,
                                        const PurchaseRecord& wanted, Call& call) {
  const std::string key = keys::purchase(purchase_id);
  const std::string unpaid = keys::payment_of_purchase(purchase_id);
  const std::string text = to_json(wanted);
  for (int attempt = 0; attempt < attempts_max; ++attempt) {
    auto known = find(purchase_id, call);
    if (!known.ok()) return std::move(known).error();
    if (*known && (*known)->record.step_key == wanted.step_key) return (*known)->record;
    const auto payment = payment_of(purchase_id, call);
    if (!payment.ok()) return payment.error();
    if (*known && *payment) return (*known)->record;  // it is paid on the earlier terms
    const StoreCheck checks[] = {{key, *known ? (*known)->version : 0}, {unpaid, 0}};
    const StoreWrite writes[] = {{key, text}};
    switch (store_.apply(checks, writes, call).outcome) {
      case StoreOutcome::applied:
        return wanted;
      case StoreOutcome::conflict:
        break;  // the same step elsewhere, or a payer, came first
      case StoreOutcome::unavailable:
        return store_away(false);
      case StoreOutcome::unknown:
        return store_away(true);
    }
  }
  return store_away(false);
}

Result<std::optional<KnownPayment>> Purchases::payment_of(std::string_view purchase_id,
                                                          Call& call) {
  const auto key = payments_.bound_to(keys::payment_of_purchase(purchase_id), call);
  if (!key.ok()) return key.error();
  if (!*key) return std::optional<KnownPayment>{};
  return payments_.find(**key, call);
}

Result<Payment> Purchases::look_up(std::string_view purchase_id, Call& call) {
  const auto order = find(purchase_id, call);
  if (!order.ok()) return order.error();
  if (!*order) return no_order(purchase_id);
  const auto by = payment_of(purchase_id, call);
  if (!by.ok()) return by.error();
  const PurchaseRecord& record = (*order)->record;
  if (*by && (*by)->record.settled_ms != 0 && (*by)->record.state != PaymentState::settled) {
    return paid(record, **by, purchase_id);
  }
  Payment payment;
  payment.purchase_id = purchase_id;
  if (*by && is_under_way((*by)->record, now_ms())) {
    payment.progress = Progress::processing;
  } else if (record.is_cancelled) {
    payment.progress = Progress::cancelled;
  } else if (now_ms() > record.expires_ms + claim_grace_ms) {
    payment.progress = Progress::expired;
  }
  return payment;
}

Done Purchases::cancel(std::string_view purchase_id, Call& call) {
  const std::string key = keys::purchase(purchase_id);
  const std::string unpaid = keys::payment_of_purchase(purchase_id);
  for (int attempt = 0; attempt < attempts_max; ++attempt) {
    const auto known = find(purchase_id, call);
    if (!known.ok()) return known.error();
    if (!*known) return no_order(purchase_id);
    PurchaseRecord next = (*known)->record;
    if (next.is_cancelled) return Unit{};
    const auto payment = payment_of(purchase_id, call);
    if (!payment.ok()) return payment.error();
    if (*payment) return Unit{};  // too late: a payment is bound, which look_up() reports
    next.is_cancelled = true;
    const std::string text = to_json(next);
    const StoreCheck checks[] = {{key, (*known)->version}, {unpaid, 0}};
    const StoreWrite writes[] = {{key, text}};
    switch (store_.apply(checks, writes, call).outcome) {
      case StoreOutcome::applied:
        return Unit{};
      case StoreOutcome::conflict:
        break;  // with another step of the order, or with a payment
      case StoreOutcome::unavailable:
        return store_away(false);
      case StoreOutcome::unknown:
        return store_away(true);
    }
  }
  return store_away(false);
}

Result<Refunded> Purchases::owe(std::string_view payment_key, Price price,
                                std::string_view refund_id, Call& call) {
  const auto by = payments_.find(payment_key, call);
  if (!by.ok()) return by.error();
  if (!*by || (*by)->record.purchase.empty()) {
    return Failure{FailureKind::contract, "no purchase was paid by this payment", {}, false};
  }
  const PaymentRecord& payment = (*by)->record;
  const std::string key = keys::refund(payment_key, refund_id);
  const auto earlier = store_.get(key, call);
  if (!earlier.ok()) return earlier.error();
  if (*earlier) return Refunded{.reference = std::string(refund_id)};
  const auto order = find(payment.purchase, call);
  if (!order.ok()) return order.error();
  if (!*order) return no_order(payment.purchase);
  PurchaseRecord next = (*order)->record;
  // The money was paid back otherwise or never came, so nothing more may be promised.
  if (payment.state != PaymentState::answered) return Refunded{.refusal = "payment_not_refundable"};
  if (payment.payer.empty()) return Refunded{.refusal = "payer_unknown"};
  const bool fits = price.currency == next.currency && price.minor > 0 &&
                    price.minor <= next.minor - next.refunded_minor;
  if (!fits) return Refunded{.refusal = "refund_too_large"};
  next.refunded_minor += price.minor;
  const std::int64_t at_ms = now_ms();
  const RefundRecord refund{payment.purchase, std::string(payment_key), price.minor,
                            atomic_share(price.minor, next.minor, payment.amount), at_ms, {}};
  KnownPayment part = **by;
  part.record.amount = refund.amount;
  const std::string purchase_key = keys::purchase(payment.purchase);
  const std::string owed_key = keys::owed_refund(payment_key, refund_id);
  const std::string entry_key =
      keys::entry(at_ms, payment_key, std::string(refund_entry) + "." + std::string(refund_id));
  const std::string entry =
      entry_json(part, refund_entry, at_ms, "refund " + std::string(refund_id));
  const std::string text = to_json(refund), purchase = to_json(next);
  const StoreCheck checks[] = {{purchase_key, (*order)->version}, {key, 0}};
  const StoreWrite writes[] = {
      {purchase_key, purchase}, {key, text}, {owed_key, text}, {entry_key, entry}};
  const StoreOutcome outcome = store_.apply(checks, writes, call).outcome;
  if (outcome == StoreOutcome::applied) return Refunded{.reference = std::string(refund_id)};
  return store_away(outcome == StoreOutcome::unknown);
}

Result<Changes> Purchases::changes(std::int64_t since_ms, std::string_view cursor, Call& call) {
  // The cursor is "<until_ms> <the last key>".
  Changes changes;
  changes.until_ms = cursor.empty() ? now_ms() : number_at(cursor, 0);
  const std::size_t blank = cursor.find(' ');
  const std::string after = blank == cursor.npos
                                ? keys::news(std::max<std::int64_t>(0, since_ms), {})
                                : std::string(cursor.substr(blank + 1));
  const auto page = store_.scan(keys::purchase_news, after, news_per_page, call);
  if (!page.ok()) return page.error();
  for (const StoreRecord& record : *page) {
    changes.hints.push_back({Hint::Of::purchase, record.key.substr(record.key.rfind('/') + 1)});
  }
  if (!page->empty()) {
    changes.cursor = std::to_string(changes.until_ms) + " " + page->back().key;
  }
  return changes;
}

}  // namespace turnpike::x402
