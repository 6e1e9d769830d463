#include "x402/engine.h"

#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <utility>

#include "x402/calls.h"
#include "x402/json_object.h"
#include "x402/offers/offer.h"
#include "x402/protocol/encoding.h"
#include "x402/published_keys.h"
#include "x402/purchase_record.h"
#include "x402/remote/resolve.h"

namespace turnpike::x402 {
namespace {

constexpr std::int64_t bind_timeout_ms = 15'000;
constexpr std::int64_t write_budget_ms = 5'000;   // for the durable step after an answer
constexpr std::int64_t chain_budget_ms = 5'000;   // to ask the chain before that step
constexpr std::int64_t store_budget_ms = 5'000;   // after it the store counts as away
constexpr std::int64_t watch_again_ms = 300'000;  // if no block proves anything yet
constexpr std::uint32_t watched_at_once = 20;
constexpr std::int64_t watch_slack_s = 30;        // until a block can prove that one has expired
constexpr std::int64_t refresh_ms = 300'000;      // between questions of what facilitators support
constexpr std::int64_t refresh_soon_ms = 10'000;  // the same after one did not answer
constexpr std::int64_t refresh_keys_ms = 5'000;
constexpr std::int64_t reconcile_ms_max = 20'000;  // per pass; then other work has its turn
constexpr std::uint32_t records_per_step = 200;
constexpr std::uint32_t passes_to_forget = 10;
// The node that settled a payment also audits it. If it does not, any other node does so this much
// later.
constexpr std::int64_t audit_by_others_ms = 60'000;
constexpr std::int64_t audit_again_ms = 30'000;
constexpr std::int64_t audit_pause_ms = 1'000;
constexpr std::int64_t audit_ms_max = 10'000;  // per pass
constexpr std::string_view binding_key_name = "s/binding";

Failure surroundings(std::string message) {
  return Failure{FailureKind::unavailable, std::move(message), {}, false};
}

// Returns the key that all nodes share; the first node to ask makes it.
Result<std::array<std::uint8_t, 32>> shared_key(Host& host, Call& call) {
  std::array<std::uint8_t, 32> key{};
  for (int attempt = 0; attempt < 2; ++attempt) {
    const auto stored = host.store().get(binding_key_name, call);
    if (!stored.ok()) return stored.error();
    if (*stored) {
      if (hex_decode_exactly((*stored)->value, key)) return key;
      return surroundings("the stored binding key is damaged");
    }
    host.random().fill(key);
    const std::string text = hex_encode(bytes_of(key));
    const StoreCheck is_absent[] = {{binding_key_name, 0}};
    const StoreWrite made[] = {{binding_key_name, text}};
    (void)host.store().apply(is_absent, made, call);
  }
  return surroundings("the store does not answer");
}

std::string random_name(Random& random) {
  std::array<std::uint8_t, 16> bytes{};
  random.fill(bytes);
  return hex_encode(bytes_of(bytes)).substr(2);
}

// Returns the name of this data_dir among the nodes, and makes it if there is none.
Result<std::string> node_name(const std::string& folder, Random& random) {
  const std::string path = folder + "/node";
  std::string name;
  if (std::ifstream(path) >> name) return name;
  name = random_name(random);
  std::ofstream file(path);
  file << name << '\n' << std::flush;
  if (!file) return surroundings("cannot write " + path);
  return name;
}

// Returns nullopt unless the payment is by EIP-3009: for no other can a chain say what became of
// it.
std::optional<Authorization> authorization_of(const PaymentRecord& record) {
  Authorization authorization;
  const auto token = parse_address(record.asset);
  const auto from = parse_address(record.payer);
  const auto to = parse_address(record.pay_to);
  const auto value = parse_uint256(record.amount);
  if (!token || !from || !to || !value) return std::nullopt;
  if (!hex_decode_exactly(record.nonce, authorization.nonce)) return std::nullopt;
  authorization.network = record.network;
  authorization.token = *token;
  authorization.from = *from;
  authorization.to = *to;
  authorization.value = *value;
  authorization.claimed_at_s = record.claimed_ms / 1000;
  return authorization;
}

FacilitatorRequest request_of(const PaymentRecord& record, const OpenSettlement& open) {
  return {open.payload_json, open.requirements_json, record.scheme, record.network, open.fee_payer};
}

// "eip155_8453_0x8335...": network and asset in lower case, for names of counters.
std::string currency_word(const PaymentRecord& record) {
  std::string word = record.network + "_" + record.asset;
  for (char& c : word) {
    const bool is_upper = c >= 'A' && c <= 'Z';
    if (is_upper) c = static_cast<char>(c - 'A' + 'a');
    if (!(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9')) c = '_';
  }
  return word;
}

// Returns the amount in the asset's smallest unit, or 0 if it does not fit a counter.
std::uint64_t units_of(const std::string& amount) noexcept {
  std::uint64_t units = 0;
  const char* const end = amount.data() + amount.size();
  const auto read = std::from_chars(amount.data(), end, units);
  return read.ec == std::errc() && read.ptr == end ? units : 0;
}

}  // namespace

// The store comes first: where it is away, as in a check of the settings, nothing else is touched.
Result<std::unique_ptr<Engine>> Engine::open(const Place& place, LaneSettings settings,
                                             const std::string& boot, Host& host) {
  auto did = did_web(place.public_origin);
  if (!did.ok()) {
    return Failure{FailureKind::invalid_settings, "hosts.api.base_url: " + did.error(), {}, false};
  }
  OwnCall call(host.clock(), bind_timeout_ms);
  const auto binding_key = shared_key(host, call);
  if (!binding_key.ok()) return binding_key.error();
  const std::string folder = std::string(place.data_dir) + "/x402";
  ::mkdir(folder.c_str(), 0700);
  auto keys =
      KeyRing::open(folder + "/keys", host.random(), host.clock(), settings.signing_algorithm);
  if (!keys.ok()) return surroundings(std::move(keys).error());
  auto node = node_name(folder, host.random());
  if (!node.ok()) return std::move(node).error();
  std::unique_ptr<Engine> engine(new Engine(place, host, std::move(settings), *std::move(did),
                                            *std::move(keys), *binding_key,
                                            {*std::move(node), boot}));
  if (auto published = publish_keys(*engine->keys, host.store(), call); !published.ok()) {
    return std::move(published).error();
  }
  (void)engine->refresh(call);
  return engine;
}

Engine::Engine(const Place& place, Host& lane_host, LaneSettings lane_settings, DidWeb did_web,
               std::unique_ptr<KeyRing> ring, const std::array<std::uint8_t, 32>& binding_key,
               Identity identity)
    : host(lane_host),
      settings(std::move(lane_settings)),
      did(std::move(did_web)),
      keys(std::move(ring)),
      facilitators(settings.facilitators, host),
      chains(settings.chains, host),
      payments(host.store()),
      binding(binding_key),
      challenges(binding, *keys, did, std::string(place.public_origin),
                 settings.offer_window_seconds),
      identity_(std::move(identity)) {
  for (const FacilitatorSettings& facilitator : settings.facilitators) {
    settle_budget_ms_ = std::max<std::int64_t>(settle_budget_ms_, facilitator.settle_timeout_ms);
    verify_budget_ms_ += facilitator.verify_timeout_ms;  // they are asked one after the other
  }
  settle_budget_ms_ += 2 * write_budget_ms + chain_budget_ms;
}

void Engine::lease(PaymentRecord& record, std::int64_t duration_ms) const {
  record.node = identity_.node;
  record.boot = identity_.boot;
  record.lease_until_ms = payments.now_ms() + duration_ms;
}

// An earlier life of this node works on nothing any more: this one holds the lock of data_dir.
bool Engine::is_leased(const PaymentRecord& record) const noexcept {
  if (record.node == identity_.node && record.boot != identity_.boot) return false;
  return payments.now_ms() < record.lease_until_ms;
}

Step Engine::release(KnownPayment& payment, std::string_view reason, Call& call) {
  PaymentRecord next = payment.record;
  next.state = PaymentState::released;
  next.ended_ms = payments.now_ms();
  next.lease_until_ms = 0;
  next.reason = reason;
  return payments.write(payment, std::move(next), {}, call);
}

Collected Engine::collect(KnownPayment& payment, const OpenSettlement& open, PaymentState when_paid,
                          Call& call) {
  const Settlement settlement = facilitators.settle(request_of(payment.record, open), call);
  host.report().count("settlements_" + std::string(name_of(settlement.outcome)), 1);
  Shown shown = Shown::nothing;
  if (settlement.outcome == Settlement::Outcome::refused) {
    OwnCall asking(host.clock(), chain_budget_ms);
    shown = shown_by_chain(payment.record, asking);
  }
  OwnCall writing(host.clock(), write_budget_ms);  // however long the answer took
  return ended(payment, settlement, shown, when_paid, writing);
}

Engine::Shown Engine::shown_by_chain(const PaymentRecord& record, Call& call) {
  const auto authorization = authorization_of(record);
  if (!authorization || !chains.knows(record.network)) return Shown::nothing;
  const auto is_used = chains.is_used_now(*authorization, call);
  if (!is_used) return Shown::no_answer;
  return *is_used ? Shown::used : Shown::unused;
}

// By then the chain can prove that the payment expired unused.
std::int64_t Engine::end_of_watch_ms(const PaymentRecord& record) const noexcept {
  return (record.valid_before_s + chains.expiry_margin_s(record.network) + watch_slack_s) * 1000;
}

Step Engine::reopen(KnownPayment& payment, const OpenSettlement& open, Call& call) {
  PaymentRecord next = payment.record;
  next.state = PaymentState::settlement_unknown;
  next.lease_until_ms = 0;
  next.attempted_ms = 0;
  next.retry_ms = 0;
  next.watch_ms = 0;
  return payments.write(payment, std::move(next), {.open = &open}, call);
}

// The caller is told only what is durable; everything else is unknown.
Collected Engine::ended(KnownPayment& payment, const Settlement& settlement, Shown shown,
                        PaymentState when_paid, Call& call) {
  using Outcome = Collected::Outcome;
  payment.record.facilitator = settlement.facilitator;
  switch (settlement.outcome) {
    case Settlement::Outcome::settled: {
      if (payment.record.payer.empty()) payment.record.payer = settlement.payer;
      const Step step =
          write_paid(payment, settlement.transaction, Source::facilitator, when_paid, call);
      return {step == Step::done ? Outcome::paid : Outcome::unknown, {}};
    }
    case Settlement::Outcome::refused: {
      // The outcome is open if the chain shows a use or cannot be asked. Where no chain is
      // configured, the facilitator's word is enough.
      if (shown == Shown::used || shown == Shown::no_answer) break;
      const std::int64_t watch_ms = shown == Shown::unused ? end_of_watch_ms(payment.record) : 0;
      const Step step =
          write_unpaid(payment, PaymentState::released, settlement.reason, call, watch_ms);
      return {step == Step::done ? Outcome::refused : Outcome::unknown, settlement.reason};
    }
    case Settlement::Outcome::not_sent: {
      const Step step = write_unpaid(payment, PaymentState::released, "facilitator_unreachable",
                                     call, payment.record.watch_ms);
      return {step == Step::done ? Outcome::not_asked : Outcome::unknown, {}};
    }
    case Settlement::Outcome::pending:
    case Settlement::Outcome::already_used:
    case Settlement::Outcome::unknown:
      break;
  }
  stay_unknown(payment, settlement, 0, call);
  return {Outcome::unknown, {}};
}

Step Engine::write_paid(KnownPayment& payment, const std::string& transaction, Source source,
                        PaymentState when_paid, Call& call) {
  const std::int64_t now_ms = payments.now_ms();
  PaymentRecord next = payment.record;
  next.state = when_paid;
  next.transaction = transaction;
  next.reason.clear();
  // A payment that was only watched has no open settlement: without its watch, nothing would show
  // that a refund is owed.
  if (!is_claimable(payment.record.state)) next.watch_ms = 0;
  next.settled_ms = now_ms;
  payment.response = payment_response(next);
  Beside beside;
  beside.entry = "settled";
  const ChainSettings* const chain = chains.settings_of(next.network);
  if (source == Source::facilitator && chain != nullptr && authorization_of(next)) {
    next.audit = Audit::due;
    beside.audit_ms = now_ms + std::int64_t{chain->audit_after_s} * 1'000;
  }
  if (when_paid == PaymentState::answered) {
    next.ended_ms = now_ms;
    next.lease_until_ms = 0;
    beside.closes = true;
  }
  const bool is_purchase = !next.purchase.empty();
  const std::string currency = currency_word(next);
  const std::uint64_t units = units_of(next.amount);
  const Step step = payments.write(payment, std::move(next), beside, call);
  if (step == Step::done) {
    host.report().count((is_purchase ? "paid_purchases_" : "paid_calls_") + currency, 1);
    host.report().count((is_purchase ? "purchase_units_" : "paid_units_") + currency, units);
  }
  return step;
}

Step Engine::write_unpaid(KnownPayment& payment, PaymentState state, std::string_view reason,
                          Call& call, std::int64_t watch_ms) {
  PaymentRecord next = payment.record;
  next.state = state;
  next.ended_ms = payments.now_ms();
  next.lease_until_ms = 0;
  next.reason = reason;
  next.watch_ms = watch_ms;
  return payments.write(payment, std::move(next), {.drops_reply = true, .closes = true}, call);
}

// If this write fails, the lease of `settling` ends by itself, which means the same.
void Engine::stay_unknown(KnownPayment& payment, const Settlement& settlement,
                          std::int64_t pause_ms, Call& call) {
  PaymentRecord next = payment.record;
  next.state = PaymentState::settlement_unknown;
  next.lease_until_ms = 0;
  next.attempted_ms = payments.now_ms();
  next.retry_ms = next.attempted_ms + pause_ms;
  next.watch_ms = 0;  // the open settlement is looked into anyway
  if (!settlement.transaction.empty()) next.transaction = settlement.transaction;
  (void)payments.write(payment, std::move(next), {}, call);
}

Done Engine::resolve(KnownPayment payment, bool is_awaited, Call& call) {
  const PaymentRecord& record = payment.record;
  if (record.state == PaymentState::settled) return resolve_unearned(payment, call);
  const auto open = payments.open_settlement(payment, call);
  if (!open.ok() && open.error().kind == FailureKind::contract) {
    host.report().log(Severity::error, open.error().message);
    stay_unknown(payment, {}, std::int64_t{retry_max_s} * 1000, call);
    return Unit{};
  }
  if (!open.ok()) return open.error();
  if (!*open) return Unit{};  // ended meanwhile
  PaymentRecord taken = record;
  taken.state = PaymentState::settlement_unknown;
  taken.watch_ms = 0;
  taken.attempts = record.attempts + 1;
  taken.attempted_ms = payments.now_ms();
  lease(taken, settle_budget_ms_);
  if (payments.write(payment, std::move(taken), {}, call) != Step::done) return Unit{};

  OpenPayment question;
  question.request = request_of(payment.record, **open);
  question.authorization = authorization_of(payment.record);
  question.valid_before_s = payment.record.valid_before_s;
  question.transaction = payment.record.transaction;
  question.facilitator = payment.record.facilitator;
  question.attempts = payment.record.attempts - 1;
  // If there is no reply and the payer does not wait, collecting now what was not collected upfront
  // would only create a refund that is owed.
  question.may_collect = ((is_awaited && payment.record.is_bound) || payment.record.has_reply) &&
                         !settings.is_lost(payment.record.pay_to);
  const Resolution found =
      x402::resolve(question, host.clock().now_ms() / 1000, facilitators, chains, call);
  OwnCall writing(host.clock(), write_budget_ms);
  switch (found.outcome) {
    case Resolution::Outcome::settled: {
      const bool is_earned = payment.record.has_reply;
      if (payment.record.payer.empty()) payment.record.payer = found.payer;
      payment.record.lease_until_ms = 0;
      (void)write_paid(payment, found.transaction,
                       found.is_proven ? Source::chain : Source::facilitator,
                       is_earned ? PaymentState::answered : PaymentState::settled, writing);
      break;
    }
    case Resolution::Outcome::never_paid:
      (void)write_unpaid(payment, PaymentState::never_paid,
                         "authorization_" + std::string(name_of(found.proof)), writing);
      break;
    case Resolution::Outcome::still_unknown: {
      Settlement hint;
      hint.transaction = found.transaction;
      payment.record.facilitator = found.facilitator;
      stay_unknown(payment, hint, std::int64_t{found.retry_after_s} * 1000, writing);
      break;
    }
  }
  return Unit{};
}

// For a payment that was found paid after it was thought to be unpaid: it pays for its purchase if
// no other does. Returns the result; nullopt if another payment pays for it.
std::optional<Done> Engine::give_to_purchase(KnownPayment& payment, Call& call) {
  const std::string id = keys::payment_of_purchase(payment.record.purchase);
  const bool has_id = payment.record.identifiers.find(id) != std::string::npos;
  const std::string missing[] = {id};
  const Replay reply = purchase_reply(payment.record);
  PaymentRecord next = payment.record;
  next.state = PaymentState::answered;
  next.ended_ms = payments.now_ms();
  next.lease_until_ms = 0;
  next.watch_ms = 0;
  Beside beside{.reply = &reply, .closes = true};
  if (!has_id) beside.identifiers = missing;
  const Step step = payments.write(payment, std::move(next), beside, call);
  if (step == Step::done) return Done(Unit{});
  if (step != Step::lost) return Done(surroundings("the store does not answer"));
  const auto bound = payments.bound_to(id, call);
  if (!bound.ok()) return Done(bound.error());
  const bool is_of_another = *bound && **bound != payment.key;
  return is_of_another ? std::nullopt : std::optional(Done(Unit{}));
}

// For a payment that is paid and that nobody works on: the payer may send it again, it pays for its
// purchase, or a refund is owed.
Done Engine::resolve_unearned(KnownPayment& payment, Call& call) {
  if (may_be_worked_for(payment.record, payments.now_ms())) return Unit{};
  if (!payment.record.purchase.empty()) {
    if (auto given = give_to_purchase(payment, call)) return *given;
  }
  PaymentRecord next = payment.record;
  next.state = PaymentState::owed;
  next.ended_ms = payments.now_ms();
  next.lease_until_ms = 0;
  next.watch_ms = 0;
  const Step step =
      payments.write(payment, std::move(next), {.closes = true, .entry = "refund_owed"}, call);
  if (step == Step::done || step == Step::lost) return Unit{};
  return surroundings("the store does not answer");
}

// For a payment that was thought to be unpaid: by now the chain can prove the outcome. If it does
// not, it is asked again later.
Done Engine::resolve_watched(KnownPayment& payment, Call& call) {
  if (payment.record.state == PaymentState::settled) return resolve_unearned(payment, call);
  const auto authorization = authorization_of(payment.record);
  const bool can_be_told = authorization && chains.knows(payment.record.network);
  std::optional<Resolution> proof;
  if (can_be_told) {
    proof = proof_of(chains.find_settlement(*authorization, call), payment.record.valid_before_s);
  }
  OwnCall writing(host.clock(), write_budget_ms);
  if (!proof) {
    PaymentRecord next = payment.record;
    next.watch_ms = can_be_told ? payments.now_ms() + watch_again_ms : 0;
    (void)payments.write(payment, std::move(next), {}, writing);
    return Unit{};
  }
  if (proof->outcome != Resolution::Outcome::settled) {
    (void)write_unpaid(payment, PaymentState::never_paid,
                       "authorization_" + std::string(name_of(proof->proof)), writing);
    return Unit{};
  }
  host.report().log(Severity::error, "a facilitator refused to settle the payment " + payment.key +
                                         ", and the chain shows it paid");
  const Step step =
      write_paid(payment, proof->transaction, Source::chain, PaymentState::settled, writing);
  return step == Step::done ? resolve_unearned(payment, writing) : Done(Unit{});
}

Done Engine::look_at_watched(Call& call) {
  const auto due = payments.watched(watched_at_once, call);
  if (!due.ok()) return due.error();
  for (const std::string& key : *due) {
    if (call.cancelled()) return Unit{};
    auto found = payments.find(key, call);
    if (!found.ok() || !*found || is_leased((*found)->record)) continue;
    const PaymentState state = (*found)->record.state;
    if (!is_claimable(state) && state != PaymentState::settled) continue;  // settlement is open
    ExtendedCall enough(call, host.clock(), settle_budget_ms_);
    if (auto done = resolve_watched(**found, enough); !done.ok()) return done;
  }
  return Unit{};
}

// Returns the payments that may be worked on now, in the order of how long they have waited. Counts
// open payments before any facilitator is asked, so that the gauge shows a facilitator that hangs.
Result<std::vector<std::string>> Engine::look_at_open(Call& call) {
  std::vector<std::pair<std::int64_t, std::string>> due;  // with the time since when they wait
  std::int64_t oldest_ms = 0;
  std::uint64_t unknown = 0;
  for (Payments::OpenPage page;;) {
    ExtendedCall soon(call, host.clock(), store_budget_ms);
    auto next = payments.open_after(page.end, records_per_step, soon);
    has_store_.store(next.ok(), std::memory_order_relaxed);
    if (!next.ok()) return std::move(next).error();
    page = *std::move(next);
    if (page.keys.empty()) break;
    for (std::string& key : page.keys) {
      const auto found = payments.find(key, call);
      if (!found.ok() || !*found) continue;
      const PaymentRecord& record = (*found)->record;
      const std::int64_t now_ms = payments.now_ms();
      const bool has_worker = is_leased(record);
      if (record.state == PaymentState::settlement_unknown ||
          (record.state != PaymentState::settled && !has_worker)) {
        oldest_ms = std::max(oldest_ms, now_ms - record.settling_ms);
        ++unknown;
      }
      if (!has_worker && now_ms >= record.retry_ms) {
        due.emplace_back(record.retry_ms, std::move(key));
      }
    }
  }
  host.report().set("settlements_open", static_cast<double>(unknown));
  host.report().set("settlements_open_oldest_seconds", static_cast<double>(oldest_ms) / 1000);
  std::sort(due.begin(), due.end());
  std::vector<std::string> in_order;
  for (auto& [since_ms, key] : due) in_order.push_back(std::move(key));
  return in_order;
}

Done Engine::reconcile(Call& call) {
  const auto due = look_at_open(call);
  if (!due.ok()) return due.error();
  const std::int64_t end_ns = host.clock().monotonic_ns() + reconcile_ms_max * 1'000'000;
  for (const std::string& key : *due) {
    if (call.cancelled()) return Unit{};
    if (host.clock().monotonic_ns() > end_ns) break;
    auto found = payments.find(key, call);
    if (!found.ok() || !*found || is_leased((*found)->record)) continue;
    ExtendedCall enough(call, host.clock(), settle_budget_ms_);
    if (auto done = resolve(**std::move(found), false, enough); !done.ok()) return done;
  }
  if (auto done = look_at_watched(call); !done.ok()) return done;
  if (auto done = audit(call); !done.ok()) return done;
  return forget_some(call);
}

Done Engine::audit(Call& call) {
  const std::int64_t begin_ms = host.clock().monotonic_ns() / 1'000'000;
  if (begin_ms < audit_at_ms_) return Unit{};
  audit_at_ms_ = begin_ms + audit_pause_ms;
  std::vector<Payments::DueAudit> due;
  std::uint64_t waiting = 0, doubted = 0;
  std::int64_t oldest_ms = 0;
  const std::int64_t now_ms = payments.now_ms();
  for (std::string after;;) {
    auto page = payments.audits_after(after, records_per_step, call);
    if (!page.ok()) return std::move(page).error();
    if (page->empty()) break;
    after = page->back().name;
    for (Payments::DueAudit& each : *page) {
      ++waiting;
      doubted += each.is_doubted ? 1 : 0;
      oldest_ms = std::max(oldest_ms, now_ms - each.settled_ms);
      const bool is_ours = each.node == identity_.node;
      if (now_ms >= each.due_ms + (is_ours ? 0 : audit_by_others_ms))
        due.push_back(std::move(each));
    }
  }
  host.report().set("settlements_unaudited", static_cast<double>(waiting));
  host.report().set("settlements_unaudited_oldest_seconds", static_cast<double>(oldest_ms) / 1000);
  host.report().set("settlements_doubted", static_cast<double>(doubted));
  for (const Payments::DueAudit& each : due) {
    if (call.cancelled() || host.clock().monotonic_ns() / 1'000'000 > begin_ms + audit_ms_max)
      break;
    audit(each, call);
  }
  return Unit{};
}

void Engine::audit(const Payments::DueAudit& due, Call& call) {
  auto found = payments.find(due.payment, call);
  if (!found.ok()) return;
  if (!*found) return payments.drop_audit(due.name, call);
  KnownPayment payment = **std::move(found);
  // The call that holds the lease must find the record as it wrote it. The audit comes back when
  // that call has ended.
  if (is_leased(payment.record)) return;
  const auto authorization = authorization_of(payment.record);
  const bool is_over = payment.record.audit != Audit::due && payment.record.audit != Audit::doubted;
  if (is_over || !authorization || !chains.knows(payment.record.network)) {
    return payments.drop_audit(due.name, call);
  }
  ChainAnswer answer = chains.receipt_of(*authorization, payment.record.transaction, call);
  if (answer.outcome != ChainAnswer::Outcome::paid) {
    answer = chains.find_settlement(*authorization, call);
  }
  audited(payment, due, answer, call);
}

void Engine::audited(KnownPayment& payment, const Payments::DueAudit& due,
                     const ChainAnswer& answer, Call& call) {
  const auto proof = proof_of(answer, payment.record.valid_before_s);
  if (proof && proof->outcome == Resolution::Outcome::settled) {
    return confirm(payment, due, proof->transaction, call);
  }
  if (proof && proof->outcome == Resolution::Outcome::never_paid) {
    return disprove(payment, due, name_of(proof->proof), call);
  }
  const ChainSettings& chain = *chains.settings_of(payment.record.network);
  const bool is_late =
      payments.now_ms() - payment.record.settled_ms >= std::int64_t{chain.doubt_after_s} * 1'000;
  const bool is_missing = answer.outcome == ChainAnswer::Outcome::not_used;
  put_off(payment, due, is_late && is_missing, call);
}

void Engine::confirm(KnownPayment& payment, const Payments::DueAudit& due,
                     const std::string& transaction, Call& call) {
  PaymentRecord next = payment.record;
  const bool was_doubted = next.audit == Audit::doubted;
  next.audit = Audit::confirmed;
  Beside beside;
  beside.ended_audit = due.name;
  std::string note;
  Word named{};
  if (!hex_decode_exactly(next.transaction, named) || hex_encode(bytes_of(named)) != transaction) {
    note = next.facilitator + " had named " + next.transaction;
    next.transaction = transaction;
    beside.entry = "settled_by";
    beside.note = note;
  }
  if (payments.write(payment, std::move(next), beside, call) != Step::done) return;
  host.report().count("settlements_confirmed", 1);
  if (!was_doubted && note.empty()) return;
  std::string text = "the chain shows that the payment " + payment.key + " is settled, by ";
  text.append(transaction);
  if (!note.empty()) text.append("; ").append(note);
  host.report().log(Severity::warning, text);
}

// The chain's proof outweighs the facilitator's word: nothing was paid, so nothing is owed back.
void Engine::disprove(KnownPayment& payment, const Payments::DueAudit& due, std::string_view proof,
                      Call& call) {
  PaymentRecord next = payment.record;
  const bool was_refunded = next.state == PaymentState::refunded;
  next.audit = Audit::none;
  next.reason = "authorization_" + std::string(proof);
  if (!was_refunded) next.state = PaymentState::never_paid;
  next.ended_ms = payments.now_ms();
  const std::string note = next.facilitator + " had named " + next.transaction;
  const Beside beside{.drops_reply = !was_refunded,
                      .closes = true,
                      .ended_audit = due.name,
                      .entry = "disproved",
                      .note = note};
  if (payments.write(payment, std::move(next), beside, call) != Step::done) return;
  host.report().count("settlements_disproved", 1);
  host.report().log(Severity::error,
                    "the payment " + payment.key +
                        " was never settled (its authorization: " + std::string(proof) +
                        "), although " + note + " as its transaction; what it bought was given");
}

void Engine::put_off(KnownPayment& payment, const Payments::DueAudit& due, bool is_doubted,
                     Call& call) {
  PaymentRecord next = payment.record;
  const bool is_news = is_doubted && next.audit != Audit::doubted;
  if (is_doubted) next.audit = Audit::doubted;
  const std::int64_t first_ms =
      std::int64_t{chains.settings_of(next.network)->audit_after_s} * 1'000;
  const Beside beside{.audit_ms = payments.now_ms() + std::min(audit_again_ms, first_ms),
                      .ended_audit = due.name};
  const std::string transaction = next.transaction;
  if (payments.write(payment, std::move(next), beside, call) != Step::done || !is_news) return;
  host.report().log(Severity::error, "the chain does not show the payment " + payment.key +
                                         ", which " + payment.record.facilitator +
                                         " says was settled by " + transaction +
                                         " minutes ago; it is looked for until it has expired");
}

Done Engine::forget_some(Call& call) {
  if (++passes_ < forget_pass_) return Unit{};
  auto forgotten = payments.forget(forget_after_, records_per_step, call);
  if (!forgotten.ok()) return std::move(forgotten).error();
  forget_after_ = std::move(forgotten->end);
  const bool is_much = forgotten->removed > records_per_step / 4;
  forget_pass_ = passes_ + (is_much ? 1 : passes_to_forget);
  return Unit{};
}

bool Engine::refresh(Call& call) {
  const std::int64_t now_ms = host.clock().monotonic_ns() / 1'000'000;
  if (now_ms >= keys_at_ms_) {
    keys_at_ms_ = now_ms + refresh_keys_ms;
    refresh_keys(call);
  }
  if (now_ms < refresh_at_ms_) return false;
  const bool all_answered = facilitators.refresh_supported(call);
  refresh_at_ms_ = now_ms + (all_answered ? refresh_ms : refresh_soon_ms);
  return true;
}

// A command may have rotated the keys.
void Engine::refresh_keys(Call& call) {
  struct Reading {
    KeyRing& keys;
    Report& report;
  } reading{*keys, host.report()};
  const auto read = [](void* argument) noexcept {
    auto& [ring, report] = *static_cast<Reading*>(argument);
    const auto done = ring.refresh();
    if (!done.ok()) report.log(Severity::error, "signing keys: " + done.error());
  };
  if (!host.offload().run(read, &reading).ok()) return;
  if (const auto published = publish_keys(*keys, host.store(), call); !published.ok()) {
    host.report().log(Severity::warning, published.error().message);
  }
}

std::string Engine::payment_response(const PaymentRecord& record) const {
  const auto key = keys->active();
  const Receipt receipt{record.network, record.resource_url, record.payer, record.settled_ms / 1000,
                        record.transaction};
  JsonObject extensions;
  extensions.raw(offer_receipt_extension,
                 receipt_extension(sign_receipt(receipt, key->key, did.kid(key->fragment))));
  return x402::payment_response(record, std::move(extensions).end());
}

}  // namespace turnpike::x402
