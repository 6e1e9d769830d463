#include "x402/payments.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "x402/json_object.h"
#include "x402/protocol/encoding.h"

namespace turnpike::x402 {
namespace {

constexpr std::string_view settled_entry = "settled";
constexpr std::string_view response_member = "payment_response";
constexpr std::int64_t kept_ms = 24LL * 3600 * 1000;
constexpr std::int64_t unpaid_kept_ms = 600'000;
constexpr std::int64_t validity_margin_ms = 600'000;  // a chain's clock may differ from ours

Failure unreadable(std::string_view key) {
  return Failure{FailureKind::contract,
                 "the stored payment " + std::string(key) + " is unreadable",
                 {},
                 false};
}

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    words.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

// Whether it paid for a purchase, whatever became of the money later. Such a payment is kept as
// long as purchases are, so that no other payment pays for that purchase.
bool paid_a_purchase(const PaymentRecord& record) noexcept {
  return !record.purchase.empty() && record.settled_ms != 0;
}

// Whether the sender has nothing left to come back for, so that another payment may take the ids.
bool frees_identifiers(const PaymentRecord& record) noexcept {
  if (paid_a_purchase(record)) return false;
  return record.state == PaymentState::released || record.state == PaymentState::never_paid ||
         record.state == PaymentState::refunded;
}

// The value of a/<ms>/<key>: what the gauges need, so that they need not read each payment.
std::string audit_value(const PaymentRecord& record) {
  return std::to_string(record.settled_ms) + " " + record.node +
         (record.audit == Audit::doubted ? " doubted" : "");
}

Step step_of(StoreOutcome outcome) noexcept {
  switch (outcome) {
    case StoreOutcome::applied:
      return Step::done;
    case StoreOutcome::conflict:
      return Step::lost;
    case StoreOutcome::unavailable:
      return Step::unavailable;
    case StoreOutcome::unknown:
      break;
  }
  return Step::unknown;
}

}  // namespace

Result<std::optional<KnownPayment>> Payments::find(std::string_view key, Call& call) {
  auto found = store_.get(keys::payment(key), call);
  if (!found.ok()) return std::move(found).error();
  if (!*found) return std::optional<KnownPayment>{};
  auto record = record_of_json((*found)->value);
  if (!record) return unreadable(key);
  return std::optional(KnownPayment{std::string(key), *std::move(record), (*found)->version});
}

Step Payments::write(KnownPayment& payment, PaymentRecord next, const Beside& beside, Call& call) {
  const std::string name = keys::payment(payment.key);
  const std::string reply_key = keys::reply(next.claimed_ms, payment.key);
  const std::string open_key = keys::open_settlement(next.claimed_ms, payment.key);
  const std::string owed_key = keys::owed(payment.key);
  const std::string audit_key = keys::audit(beside.audit_ms, payment.key);
  const std::string audit_text = audit_value(next);
  if (beside.reply != nullptr) next.has_reply = true;
  if (beside.drops_reply) next.has_reply = false;
  std::vector<std::string> freed;
  if (frees_identifiers(next)) freed = words_of(std::exchange(next.identifiers, {}));
  for (const std::string& identifier : beside.identifiers) {
    next.identifiers += (next.identifiers.empty() ? "" : " ") + identifier;
  }
  const std::string text = to_json(next);
  std::string reply, open, entry, entry_key, news_key;

  std::vector<StoreCheck> checks = {{name, payment.version}};
  std::vector<StoreWrite> writes = {{name, text}};
  if (beside.reply != nullptr) {
    reply = encode(*beside.reply);
    writes.push_back({reply_key, reply});
  } else if (beside.drops_reply) {
    writes.push_back({reply_key, std::nullopt});
  }
  if (beside.open != nullptr) {
    open = encode(*beside.open);
    writes.push_back({open_key, open});
  } else if (beside.closes) {
    writes.push_back({open_key, std::nullopt});
  }
  const std::int64_t watched_ms = payment.record.watch_ms;
  const std::string watch_key = keys::watch(next.watch_ms, payment.key);
  const std::string old_watch_key = keys::watch(watched_ms, payment.key);
  if (next.watch_ms != watched_ms) {
    if (watched_ms != 0) writes.push_back({old_watch_key, std::nullopt});
    if (next.watch_ms != 0) writes.push_back({watch_key, ""});
  }
  for (const std::string& identifier : beside.identifiers) {
    checks.push_back({identifier, 0});
    writes.push_back({identifier, payment.key});
  }
  for (const std::string& identifier : freed) writes.push_back({identifier, std::nullopt});
  if (next.state == PaymentState::owed) writes.push_back({owed_key, text});
  const bool was_owed = payment.record.state == PaymentState::owed;
  if (was_owed && next.state != PaymentState::owed) writes.push_back({owed_key, std::nullopt});
  if (beside.audit_ms != 0) writes.push_back({audit_key, audit_text});
  if (!beside.ended_audit.empty() && beside.ended_audit != audit_key) {
    writes.push_back({beside.ended_audit, std::nullopt});
  }
  if (!beside.entry.empty()) {
    const std::int64_t at_ms = beside.entry == settled_entry ? next.settled_ms : now_ms();
    entry_key = keys::entry(at_ms, payment.key, beside.entry);
    entry = entry_json({payment.key, next, 0, payment.response}, beside.entry, at_ms, beside.note);
    writes.push_back({entry_key, entry});
    news_key = keys::news(at_ms, next.purchase);
    if (!next.purchase.empty()) writes.push_back({news_key, ""});
  }
  const StoreApplied applied = store_.apply(checks, writes, call);
  if (applied.outcome == StoreOutcome::applied) {
    payment.record = std::move(next);
    payment.version = applied.version;
  }
  return step_of(applied.outcome);
}

Result<std::optional<Replay>> Payments::reply(const KnownPayment& payment, Call& call) {
  const auto stored = store_.get(keys::reply(payment.record.claimed_ms, payment.key), call);
  if (!stored.ok()) return stored.error();
  if (!*stored) return std::optional<Replay>{};
  auto reply = decode_reply((*stored)->value);
  if (!reply) return unreadable(payment.key);
  return std::optional(*std::move(reply));
}

Done Payments::read_response(KnownPayment& payment, Call& call) {
  const auto stored =
      store_.get(keys::entry(payment.record.settled_ms, payment.key, settled_entry), call);
  if (!stored.ok()) return stored.error();
  const auto json = JsonText::parse(*stored ? (*stored)->value : std::string());
  if (!json.ok()) return unreadable(payment.key);
  payment.response = json->root()[response_member].string();
  return Unit{};
}

Result<std::optional<OpenSettlement>> Payments::open_settlement(const KnownPayment& payment,
                                                                Call& call) {
  const auto stored =
      store_.get(keys::open_settlement(payment.record.claimed_ms, payment.key), call);
  if (!stored.ok()) return stored.error();
  if (!*stored) return std::optional<OpenSettlement>{};
  auto open = decode_open_settlement((*stored)->value);
  if (!open) return unreadable(payment.key);
  return std::optional(*std::move(open));
}

Result<std::optional<std::string>> Payments::bound_to(const std::string& identifier_key,
                                                      Call& call) {
  auto stored = store_.get(identifier_key, call);
  if (!stored.ok()) return std::move(stored).error();
  if (!*stored) return std::optional<std::string>{};
  return std::optional(std::move((*stored)->value));
}

Result<Payments::OpenPage> Payments::open_after(const std::string& after, std::uint32_t limit,
                                                Call& call) {
  const auto page = store_.scan(keys::open, after, limit, call);
  if (!page.ok()) return page.error();
  OpenPage open;
  for (const StoreRecord& record : *page) {
    open.keys.push_back(record.key.substr(record.key.rfind('/') + 1));
  }
  if (!page->empty()) open.end = page->back().key;
  return open;
}

Result<std::vector<std::string>> Payments::watched(std::uint32_t limit, Call& call) {
  const auto page = store_.scan(keys::watched, {}, limit, call);
  if (!page.ok()) return page.error();
  const std::string end = keys::watch(now_ms(), {});
  std::vector<std::string> due;
  for (const StoreRecord& record : *page) {
    if (record.key >= end) break;
    due.push_back(record.key.substr(record.key.rfind('/') + 1));
  }
  return due;
}

Result<std::vector<Payments::DueAudit>> Payments::audits_after(std::string_view after,
                                                               std::uint32_t limit, Call& call) {
  const auto page = store_.scan(keys::audits, after, limit, call);
  if (!page.ok()) return page.error();
  std::vector<DueAudit> all;
  for (const StoreRecord& stored : *page) {
    const auto words = words_of(stored.value);
    DueAudit due;
    due.name = stored.key;
    due.payment = stored.key.substr(stored.key.rfind('/') + 1);
    due.due_ms = std::atoll(stored.key.c_str() + keys::audits.size());
    if (!words.empty()) due.settled_ms = std::atoll(words[0].c_str());
    if (words.size() > 1) due.node = words[1];
    due.is_doubted = words.size() > 2;
    all.push_back(std::move(due));
  }
  return all;
}

void Payments::drop_audit(std::string_view name, Call& call) {
  const StoreWrite removal[] = {{name, std::nullopt}};
  (void)store_.apply({}, removal, call);
}

Result<Payments::Forgotten> Payments::forget(std::string_view after, std::uint32_t limit,
                                             Call& call) {
  const std::string from = after.empty() ? std::string() : keys::payment(after);
  const auto page = store_.scan(keys::payments, from, limit, call);
  if (!page.ok()) return page.error();
  Forgotten forgotten;
  for (const StoreRecord& stored : *page) {
    const auto record = record_of_json(stored.value);
    if (!record || !may_be_forgotten(*record, now_ms())) continue;
    const std::string key = stored.key.substr(keys::payments.size());
    const std::string reply_key = keys::reply(record->claimed_ms, key);
    const auto identifiers = words_of(record->identifiers);
    const StoreCheck unchanged[] = {{stored.key, stored.version}};
    std::vector<StoreWrite> removals = {{stored.key, std::nullopt}, {reply_key, std::nullopt}};
    for (const std::string& identifier : identifiers) removals.push_back({identifier, {}});
    const StoreApplied applied = store_.apply(unchanged, removals, call);
    if (applied.outcome != StoreOutcome::applied && applied.outcome != StoreOutcome::conflict) {
      return Failure{FailureKind::unavailable, "the store does not answer", {}, false};
    }
    ++forgotten.removed;
  }
  if (!page->empty()) forgotten.end = page->back().key.substr(keys::payments.size());
  return forgotten;
}

bool may_be_forgotten(const PaymentRecord& record, std::int64_t now_ms) noexcept {
  if (record.audit == Audit::due || record.audit == Audit::doubted) return false;
  if (paid_a_purchase(record)) return false;
  switch (record.state) {
    case PaymentState::settling:
    case PaymentState::settled:
    case PaymentState::settlement_unknown:
    case PaymentState::owed:
      return false;
    case PaymentState::claimed:
    case PaymentState::working:
    case PaymentState::released:
      return record.watch_ms == 0 &&
             now_ms > std::max(record.ended_ms, record.lease_until_ms) + unpaid_kept_ms;
    case PaymentState::answered:
    case PaymentState::refunded:
    case PaymentState::never_paid:
      break;
  }
  return now_ms > record.ended_ms + kept_ms &&
         now_ms > record.valid_before_s * 1000 + validity_margin_ms;
}

std::string entry_json(const KnownPayment& payment, std::string_view what, std::int64_t at_ms,
                       std::string_view note) {
  const PaymentRecord& record = payment.record;
  JsonObject json;
  json.text("entry", what);
  json.number("at_ms", at_ms);
  json.text("payment", payment.key);
  json.text("network", record.network);
  json.text("asset", record.asset);
  json.text("amount", record.amount);
  json.text("payer", record.payer);
  json.text("pay_to", record.pay_to);
  json.text("transaction", record.transaction);
  json.text("operation", record.operation);
  json.text("route_id", record.route_id);
  json.number("price_version", record.price_version);
  json.text("offer_id", record.offer_id);
  json.text("resource", record.resource_url);
  json.text("request_id", record.request_id);
  if (!record.purchase.empty()) json.text("purchase", record.purchase);
  if (!note.empty()) json.text("note", note);
  if (what == settled_entry) json.text(response_member, payment.response);
  return std::move(json).end();
}

std::string payment_response(const PaymentRecord& record, std::string_view extensions) {
  JsonObject response;
  response.raw("success", "true");
  response.text("payer", record.payer);
  response.text("transaction", record.transaction);
  response.text("network", record.network);
  response.text("amount", record.amount);
  response.raw("extensions", extensions);
  return base64_encode(std::move(response).end());
}

}  // namespace turnpike::x402
