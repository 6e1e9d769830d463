#include "ledger/escrow/escrow.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include "base/thread_name.h"
#include "ledger/escrow/draw.h"
#include "text/time_text.h"
#include "text/words.h"

namespace turnpike::ledger {
namespace {

constexpr std::int64_t ns_per_ms = 1'000'000;
constexpr std::int64_t call_max_ms = 15 * 60 * 1000;  // assumed end of a hold with a later deadline
constexpr std::int64_t recall_polls = 6;   // polls while a call waits for recalled units
constexpr std::int64_t scarce_ms = 1'000;  // time after a recall with minimal leases
constexpr std::int64_t balance_known_ms = 10'000;
constexpr std::int64_t clock_jump_max_ms = 5 * 60 * 1000;
constexpr std::int64_t clock_margin_ms = 5'000;  // between this clock and the database's
constexpr std::size_t asks_max = 1 << 20;
constexpr std::size_t returns_max = 500;  // per transaction

base::Error stopping() {
  return {base::ErrorCode::gateway_stopping, "The gateway is stopping; nothing was charged.", 1};
}

base::Error exhausted() {
  return {base::ErrorCode::billing_credits_exhausted,
          "The account has too few Credits for this call."};
}

base::Error reserved() {
  return {base::ErrorCode::billing_credits_reserved,
          "The remaining Credits are reserved by calls that are in flight.", 1};
}

base::Error capped(const CapRoom& room) {
  const auto seconds = static_cast<std::uint32_t>((room.resets_in_ms + 999) / 1'000);
  return {base::ErrorCode::billing_key_cap_reached,
          "The key may spend " + text::credits_text(room.cap) + " in a " +
              std::string(room.span) + " (UTC) and has " +
              std::to_string(std::max<Credits>(0, room.left)) + " left until " +
              text::rfc3339(room.resets_at_ms) + ".",
          std::max(1u, seconds)};
}

// The reason why a call cannot be paid; nullopt: the units exist, but others have reserved them.
std::optional<base::Error> refusal(Credits units, const Shortage& shortage) {
  if (units > shortage.reach) return exhausted();
  const CapRoom* binding = nullptr;  // the cap that opens last
  for (const CapRoom& room : shortage.caps) {
    if (units > room.left) binding = &room;
  }
  if (binding != nullptr) return capped(*binding);
  return std::nullopt;
}

bool usable(const Lease& lease, std::int64_t settle_by_ns, std::int64_t now_ns) noexcept {
  return !lease.is_lost && !lease.is_withdrawn && now_ns < lease.hold_until_ns &&
         settle_by_ns <= lease.settle_until_ns;
}

// True if the lease can give holds, now or once it is renewed.
bool lasts(const Lease& lease, std::int64_t now_ns) noexcept {
  const bool is_bounded = lease.renew_at_ns == std::numeric_limits<std::int64_t>::max();
  return !lease.is_lost && !lease.is_withdrawn && (!is_bounded || now_ns < lease.hold_until_ns);
}

bool leased_before(const std::shared_ptr<Lease>& left,
                   const std::shared_ptr<Lease>& right) noexcept {
  return std::tie(left->expires_at_ms, left->created_at_ms, left->allocation_id) <
         std::tie(right->expires_at_ms, right->created_at_ms, right->allocation_id);
}

Credits free_units(const PayerEscrow& payer) noexcept {
  Credits free = 0;
  for (const auto& lease : payer.leases) free += lease->free;
  return free;
}

}  // namespace

void Hold::give_back() noexcept {
  if (lease_ == nullptr) return;
  Shard& shard = *lease_->shard;
  const std::lock_guard lock(shard.mutex);
  shard.holds.fetch_sub(1, std::memory_order_relaxed);
  const auto one = [](Lease& lease, Credits units) {
    lease.held -= units;
    if (!lease.is_lost) lease.free += units;
  };
  one(*lease_, units_);
  for (const Part& part : more_) one(*part.lease, part.units);
}

Escrow::Escrow(LedgerStore& store, const LedgerSettings& settings, base::Log& log,
               std::function<void(std::string_view)> restored)
    : store_(store),
      settings_(settings),
      log_(log),
      restored_(std::move(restored)),
      asks_(asks_max) {
  for (auto& shard : shards_) shard = std::make_shared<Shard>();
}

Escrow::~Escrow() {
  is_stopping_ = true;
  asks_.close();
  if (thread_.joinable()) thread_.join();
}

void Escrow::start() {
  leases_ = store_.open_leases();
  is_reachable_ = true;
  beat();  // the clock jump check compares with this beat
  thread_ = std::thread([this] { run(); });
}

void Escrow::stop() noexcept {
  returns_leases_ = true;
  is_stopping_ = true;
  asks_.close();
  if (thread_.joinable()) thread_.join();
}

const std::shared_ptr<Shard>& Escrow::shard_of(std::string_view account_id) const noexcept {
  // Uses other hash bits than the map within the shard.
  return shards_[(Shard::Hash{}(account_id) >> 16) % shard_count];
}

// REQUIRES: the shard's lock, as does payer_in().
PayerEscrow* Escrow::find_payer(Shard& shard, const Payer& payer) {
  const auto found = shard.accounts.find(payer.account_id);
  if (found == shard.accounts.end()) return nullptr;
  AccountEscrow& account = *found->second;
  if (payer.capped_key_id.empty()) return &account.own;
  const auto key = account.keys.find(payer.capped_key_id);
  return key == account.keys.end() ? nullptr : &key->second;
}

PayerEscrow& Escrow::payer_in(Shard& shard, const Payer& payer, std::int64_t now_ns) {
  if (PayerEscrow* known = find_payer(shard, payer)) return *known;
  auto account = shard.accounts.find(payer.account_id);
  if (account == shard.accounts.end()) {
    auto escrow = std::make_unique<AccountEscrow>();
    escrow->own.account_id = payer.account_id;
    escrow->own.account = escrow.get();
    const std::string_view id = escrow->own.account_id;
    account = shard.accounts.emplace(id, std::move(escrow)).first;
  }
  PayerEscrow* made = &account->second->own;
  if (!payer.capped_key_id.empty()) {
    made = &account->second->keys[std::string(payer.capped_key_id)];
    made->account_id = payer.account_id;
    made->key_id = payer.capped_key_id;
    made->account = account->second.get();
  }
  made->spent_since_ns = now_ns;
  return *made;
}

Result<Hold, base::Error> Escrow::hold(const Payer& payer, Credits units, runtime::Deadline until) {
  if (is_stopping_.load(std::memory_order_relaxed)) return stopping();
  const std::int64_t now_ns = runtime::now_ns();
  if (!available(now_ns)) return ledger_unavailable();
  const std::int64_t settle_by_ns =
      std::min(until.ns, now_ns + call_max_ms * ns_per_ms) + settings_.commit_budget_ms * ns_per_ms;
  std::shared_ptr<HoldWaiter> waiter;
  {
    const std::shared_ptr<Shard>& shard = shard_of(payer.account_id);
    const std::lock_guard lock(shard->mutex);
    PayerEscrow& escrow = payer_in(*shard, payer, now_ns);
    escrow.last_hold_ns = now_ns;
    escrow.call_units = units;
    if (escrow.waiters.empty()) {
      if (auto taken = take(escrow, units, settle_by_ns, now_ns)) {
        shard->holds.fetch_add(1, std::memory_order_relaxed);
        if (now_ns >= escrow.renew_at_ns || free_units(escrow) < escrow.low_water) {
          ask_early(shard, escrow);
        }
        return *std::move(taken);
      }
    }
    if (now_ns < escrow.refused_until_ns && units >= escrow.refused_units) {
      return refusal(units, escrow.shortage).value_or(reserved());
    }
    waiter = std::make_shared<HoldWaiter>();
    waiter->units = units;
    waiter->settle_by_ns = settle_by_ns;
    if (!ask(shard, escrow)) return stopping();
    escrow.waiters.push_back(waiter);
  }
  const auto wait_until = until.earlier(runtime::Deadline::after_ms(settings_.commit_budget_ms));
  if (waiter->answer.wait(wait_until) == runtime::Wake::ready) return waiter->answer.take();
  return ledger_unavailable();  // a later answer returns its units when the waiter is destroyed
}

// REQUIRES: the shard's lock.
std::optional<Hold> Escrow::take(PayerEscrow& payer, Credits units, std::int64_t settle_by_ns,
                                 std::int64_t now_ns) const {
  const auto give = [&](Lease& lease, Credits part) {
    lease.free -= part;
    lease.held += part;
  };
  Credits within_reach = 0;
  for (const auto& lease : payer.leases) {
    if (!usable(*lease, settle_by_ns, now_ns)) continue;
    if (within_reach == 0 && lease->free >= units) {  // the common case: one lease pays
      give(*lease, units);
      payer.spent += units;
      return Hold(lease, units);
    }
    within_reach += lease->free;
  }
  if (within_reach < units) return std::nullopt;
  Hold hold;
  Credits missing = units;
  for (const auto& lease : payer.leases) {
    const Credits part = std::min(missing, lease->free);
    if (part == 0 || !usable(*lease, settle_by_ns, now_ns)) continue;
    give(*lease, part);
    missing -= part;
    if (hold.lease_ == nullptr) {
      hold.lease_ = lease;
      hold.units_ = part;
    } else {
      hold.more_.push_back({lease, part});
    }
  }
  payer.spent += units;
  return hold;
}

// REQUIRES: the shard's lock. A second request while one is queued has no effect.
bool Escrow::ask(const std::shared_ptr<Shard>& shard, PayerEscrow& payer) {
  if (payer.is_early) {
    payer.is_early = false;
    return asks_.push({});
  }
  if (!payer.is_asking) payer.is_asking = asks_.push({shard, &payer});
  return payer.is_asking;
}

// REQUIRES: the shard's lock. Requests units before a call has to wait: many such payers share one
// transaction.
void Escrow::ask_early(const std::shared_ptr<Shard>& shard, PayerEscrow& payer) {
  if (payer.is_asking) return;
  payer.is_asking = payer.is_early = true;
  const std::lock_guard lock(early_mutex_);
  early_.push_back({shard, &payer});
}

// Replaces the empty asks.
void Escrow::take_early(Asks& asks) {
  std::erase_if(asks, [](const Ask& ask) { return ask.payer == nullptr; });
  const std::lock_guard lock(early_mutex_);
  asks.insert(asks.end(), early_.begin(), early_.end());
  early_.clear();
}

Credits Escrow::spend(Hold& hold, std::int64_t now_ns) noexcept {
  if (hold.lease_ == nullptr) return -1;
  Shard& shard = *hold.lease_->shard;
  const std::lock_guard lock(shard.mutex);
  AccountEscrow& account = *hold.lease_->account;
  account.balance -= hold.units();
  shard.holds.fetch_sub(1, std::memory_order_relaxed);
  hold.lease_->held -= hold.units_;
  for (const Hold::Part& part : hold.more_) part.lease->held -= part.units;
  hold.forget();
  return now_ns < account.balance_until_ns ? std::max<Credits>(account.balance, 0) : -1;
}

std::size_t Escrow::share_count(const Hold& hold) noexcept {
  return hold.lease_ == nullptr ? 0 : 1 + hold.more_.size();
}

void Escrow::append_shares(const Hold& hold, std::vector<LeaseShare>& to) {
  if (hold.lease_ == nullptr) return;
  to.push_back({hold.lease_->id, hold.lease_->epoch, hold.units_});
  for (const Hold::Part& part : hold.more_) {
    to.push_back({part.lease->id, part.lease->epoch, part.units});
  }
}

std::string Escrow::capped_key(const Hold& hold) {
  return hold.lease_ == nullptr ? std::string() : hold.lease_->key_id;
}

void Escrow::lose(const Hold& hold, std::int64_t lease_id) noexcept {
  if (hold.lease_ == nullptr) return;
  const std::lock_guard lock(hold.lease_->shard->mutex);
  const auto one = [&](Lease& lease) {
    if (lease.id != lease_id) return;
    lease.is_lost = true;
    lease.free = 0;
  };
  one(*hold.lease_);
  for (const Hold::Part& part : hold.more_) one(*part.lease);
}

std::int64_t Escrow::holds_in_flight() const noexcept {
  std::int64_t holds = 0;
  for (const auto& shard : shards_) holds += shard->holds.load(std::memory_order_relaxed);
  return holds;
}

// ---- the escrow Thread --------------------------------------------------------------------------

void Escrow::run() {
  base::name_this_thread("escrow");
  Asks asks;
  runtime::Deadline next_beat = runtime::Deadline::after_ms(0);
  while (!is_stopping_) {
    asks.clear();
    const runtime::Deadline next =
        recalled_.empty() ? next_beat : next_beat.earlier({next_poll_ns_});
    (void)asks_.take(asks, 1, next);
    if (!recalled_.empty() && runtime::now_ns() >= next_poll_ns_) {
      asks.insert(asks.end(), recalled_.begin(), recalled_.end());
      recalled_.clear();
    }
    take_early(asks);
    if (!asks.empty()) answer(asks);
    if (next_beat.passed()) {
      beat();
      next_beat = runtime::Deadline::after_ms(settings_.heartbeat_ms);
    }
  }
  stop_asking();
}

void Escrow::stop_asking() {
  Asks asks = std::move(recalled_);
  (void)asks_.take(asks, 1, runtime::Deadline::after_ms(0));
  take_early(asks);
  for (const Ask& each : asks) refuse(each, stopping());
  if (!returns_leases_) return;
  std::vector<LeaseReturn> leases;
  for (std::size_t shard = 0; shard < shard_count; ++shard) {
    collect_idle(shard, std::numeric_limits<std::int64_t>::max(), leases);
  }
  close(leases);
}

void Escrow::answer(Asks& asks) {
  const std::int64_t asked_ns = runtime::now_ns();
  std::vector<LeaseRequest> requests;
  std::vector<Unheld> surplus;
  requests.reserve(asks.size());
  for (const Ask& each : asks) requests.push_back(request_of(each, asked_ns, surplus));
  const auto answers = leases_->acquire(requests);
  if (!answers) {
    fail(asks, answers.error());
  } else {
    believe(asked_ns);
    Waiters served;  // destroyed last: a gone waiter's answer returns units under the lock
    runtime::WakeBatch wakes;
    for (std::size_t at = 0; at < asks.size(); ++at) {
      const std::lock_guard lock(asks[at].shard->mutex);
      add(asks[at], (*answers)[at], asked_ns);
      note_balance(asks[at], (*answers)[at], surplus, asked_ns);
      serve(asks[at], (*answers)[at], served, wakes);
    }
  }
  give_back(surplus);
}

// Units of a commit of unknown outcome are not counted: they return when the lease is closed.
void Escrow::fail(const Asks& asks, const StoreFailure& failure) {
  is_reachable_ = false;
  report("lease_failed", failure);
  for (const Ask& each : asks) {
    {
      const std::lock_guard lock(each.shard->mutex);
      for (const auto& lease : each.payer->leases) lease->is_doubtful = true;
    }
    refuse(each, ledger_unavailable());
  }
}

LeaseRequest Escrow::request_of(const Ask& ask, std::int64_t now_ns,
                                std::vector<Unheld>& surplus) const {
  const std::lock_guard lock(ask.shard->mutex);
  PayerEscrow& payer = *ask.payer;
  LeaseRequest request;
  request.account_id = payer.account_id;
  request.key_id = payer.key_id;
  std::int64_t calls_end_ns = 0;
  Credits needed = 0;
  for (const auto& waiter : payer.waiters) {
    waiter->is_asked = true;
    request.calls.push_back(waiter->units);
    needed += waiter->units;
    calls_end_ns = std::max(calls_end_ns, waiter->settle_by_ns);
  }
  for (const auto& lease : payer.leases) {
    request.known.push_back(lease->id);
    if (!lasts(*lease, now_ns)) continue;
    request.free += lease->free;
    if (now_ns >= lease->renew_at_ns || calls_end_ns > lease->settle_until_ns) {
      request.renews.push_back({lease->id, lease->epoch});
    }
  }
  const Credits wanted =
      wanted_units(payer.call_units, payer.spent, (now_ns - payer.spent_since_ns) / ns_per_ms,
                   settings_.lease_hold_ms / 4);
  payer.spent = 0;
  payer.spent_since_ns = now_ns;
  const bool is_scarce = now_ns < payer.scarce_until_ns;
  request.wanted = is_scarce ? 0 : std::max<Credits>(0, needed + wanted - request.free);
  // The rate has fallen: units far beyond it are returned, those that expire last first.
  Credits beyond = request.free > needed + 2 * wanted ? request.free - needed - wanted : 0;
  request.free -= beyond;
  for (auto at = payer.leases.rbegin(); at != payer.leases.rend() && beyond > 0; ++at) {
    if (!lasts(**at, now_ns)) continue;
    const Credits units = std::min(beyond, (*at)->free);
    if (units == 0) continue;
    (*at)->free -= units;
    beyond -= units;
    surplus.push_back({*at, units});
  }
  const std::int64_t settle_by_ns =
      std::max(now_ns + (settings_.lease_hold_ms + settings_.settle_margin_ms) * ns_per_ms,
               calls_end_ns + clock_margin_ms * ns_per_ms);
  request.hold_ms = settings_.lease_hold_ms;
  request.settle_ms = (settle_by_ns - now_ns) / ns_per_ms + 1;
  return request;
}

// REQUIRES: the shard's lock.
void Escrow::set_time(Lease& lease, std::int64_t asked_ns, std::int64_t hold_ms,
                      std::int64_t settle_ms) const {
  lease.hold_until_ns = asked_ns + hold_ms * ns_per_ms;
  lease.settle_until_ns = std::max(lease.settle_until_ns, asked_ns + settle_ms * ns_per_ms);
  const bool is_bounded = hold_ms < settings_.lease_hold_ms;
  lease.renew_at_ns = is_bounded ? std::numeric_limits<std::int64_t>::max()
                                 : asked_ns + hold_ms * ns_per_ms / 3 * 2;
}

// REQUIRES: the shard's lock.
void Escrow::add(const Ask& ask, const LeaseAnswer& answer, std::int64_t asked_ns) const {
  auto& leases = ask.payer->leases;
  const auto find = [&](std::int64_t id) {
    return std::find_if(leases.begin(), leases.end(),
                        [&](const auto& lease) { return lease->id == id; });
  };
  for (const LeaseRenewal& renewal : answer.renewed) {
    const auto found = find(renewal.lease_id);
    if (found != leases.end()) set_time(**found, asked_ns, renewal.hold_ms, renewal.settle_ms);
  }
  for (const LeaseGrant& grant : answer.grants) {
    auto found = find(grant.lease_id);
    if (found == leases.end()) {
      const auto lease =
          std::make_shared<Lease>(ask.shard, *ask.payer->account, ask.payer->key_id, grant);
      // None of it is held: what an earlier request may have added without our knowing is ours too.
      lease->free = grant.unsettled;
      found = leases.insert(std::upper_bound(leases.begin(), leases.end(), lease, leased_before),
                            lease);
    } else {
      (*found)->free += grant.units;
    }
    set_time(**found, asked_ns, grant.hold_ms, grant.settle_ms);
  }
  ask.payer->renew_at_ns = std::numeric_limits<std::int64_t>::max();
  for (const auto& lease : leases) {
    if (!lasts(*lease, asked_ns)) continue;
    ask.payer->renew_at_ns = std::min(ask.payer->renew_at_ns, lease->renew_at_ns);
  }
}

// REQUIRES: the shard's lock. `surplus` is being returned: it is no longer in memory, and not yet
// in the store.
void Escrow::note_balance(const Ask& ask, const LeaseAnswer& answer,
                          std::span<const Unheld> surplus, std::int64_t asked_ns) {
  AccountEscrow& account = *ask.payer->account;
  account.balance = answer.elsewhere;
  const auto add_payer = [&](const PayerEscrow& payer) {
    for (const auto& lease : payer.leases) account.balance += lease->free + lease->held;
  };
  add_payer(account.own);
  for (const auto& [id, key] : account.keys) add_payer(key);
  for (const Unheld& each : surplus) {
    if (each.lease->account == &account) account.balance += each.units;
  }
  account.balance_until_ns = asked_ns + balance_known_ms * ns_per_ms;
}

// REQUIRES: the shard's lock. Every waiter that was part of the request gets its answer, or
// continues to wait for recalled units.
void Escrow::serve(const Ask& ask, const LeaseAnswer& answer, Waiters& served,
                   runtime::WakeBatch& wakes) {
  PayerEscrow& payer = *ask.payer;
  const std::int64_t now_ns = runtime::now_ns();
  payer.is_asking = payer.is_early = false;
  Waiters waiting;
  bool is_late = false;
  for (auto& waiter : payer.waiters) {
    if (auto taken = take(payer, waiter->units, waiter->settle_by_ns, now_ns)) {
      ask.shard->holds.fetch_add(1, std::memory_order_relaxed);
      waiter->answer.set(*std::move(taken), wakes);
      served.push_back(std::move(waiter));
    } else if (waiter->is_asked && refuse_or_wait(payer, *waiter, answer, now_ns, wakes)) {
      served.push_back(std::move(waiter));
    } else {
      is_late = is_late || !waiter->is_asked;
      waiting.push_back(std::move(waiter));
    }
  }
  payer.waiters = std::move(waiting);
  payer.low_water =
      answer.grants.empty() || now_ns < payer.scarce_until_ns ? 0 : free_units(payer) / 4;
  if (payer.waiters.empty()) return;
  if (is_late) {
    this->ask(ask.shard, payer);
    return;
  }
  payer.is_asking = true;
  if (recalled_.empty()) {
    next_poll_ns_ = now_ns + settings_.recall_wait_ms * ns_per_ms / recall_polls;
  }
  recalled_.push_back(ask);
}

// REQUIRES: the shard's lock. False: the units exist, and other nodes may return them in time.
bool Escrow::refuse_or_wait(PayerEscrow& payer, HoldWaiter& waiter, const LeaseAnswer& answer,
                            std::int64_t now_ns, runtime::WakeBatch& wakes) const {
  // No shortage means that a lease ended that had paid for the call: the units are requested again.
  auto error = answer.shortage ? refusal(waiter.units, *answer.shortage) : std::nullopt;
  if (!error) {
    if (waiter.give_up_at_ns == 0) {
      waiter.give_up_at_ns = now_ns + settings_.recall_wait_ms * ns_per_ms;
    }
    if (now_ns < waiter.give_up_at_ns) return false;
    error = reserved();
  }
  if (answer.shortage) {
    payer.shortage = *answer.shortage;
    payer.refused_units = waiter.units;
    payer.refused_until_ns = now_ns + settings_.refusal_memo_ms * ns_per_ms;
  }
  waiter.answer.set(*std::move(error), wakes);
  return true;
}

void Escrow::refuse(const Ask& ask, const base::Error& error) {
  Waiters refused;  // destroyed after the lock: a waiter may hold the last reference to its answer
  runtime::WakeBatch wakes;
  const std::lock_guard lock(ask.shard->mutex);
  ask.payer->is_asking = ask.payer->is_early = false;
  for (auto& waiter : ask.payer->waiters) waiter->answer.set(error, wakes);
  refused = std::move(ask.payer->waiters);
  ask.payer->waiters.clear();
}

// ---- the heartbeat ------------------------------------------------------------------------------

void Escrow::beat() {
  const std::int64_t began_ns = runtime::now_ns();
  const std::int64_t boot_ms = began_ns / ns_per_ms;
  const std::int64_t latest_ms = wall_offset_ms_ ? boot_ms + *wall_offset_ms_ + clock_jump_max_ms
                                                 : std::numeric_limits<std::int64_t>::max();
  const auto tended = leases_->tend(latest_ms);
  if (!tended) {
    if (is_reachable_.exchange(false)) report("ledger_unreachable", tended.error());
    return;
  }
  if (tended->restored) {
    is_reachable_ = false;
    is_stopping_ = true;
    if (restored_) restored_("the books were restored from a backup: start the gateway again");
    return;
  }
  believe(began_ns);
  if (!is_reachable_.exchange(true)) log_.write(Severity::info, "ledger_reachable");
  if (tended->paused != is_paused_.exchange(tended->paused)) {
    log_.write(Severity::warning, tended->paused ? "expiry_paused" : "expiry_resumed");
  }
  is_alone_ = tended->is_alone;
  if (!tended->paused) wall_offset_ms_ = tended->now_ms - boot_ms;
  heed(*tended, began_ns);
  std::vector<LeaseReturn> idle;
  for (std::size_t turn = 0; turn < shard_count / 4; ++turn) {  // every shard once a second
    collect_idle(next_shard_, runtime::now_ns(), idle);
    next_shard_ = (next_shard_ + 1) % shard_count;
  }
  close(idle);
}

// The store answered a request made at `asked_ns`.
void Escrow::believe(std::int64_t asked_ns) noexcept {
  believed_until_ns_ =
      asked_ns + std::max(settings_.believed_ms, 2 * settings_.heartbeat_ms) * ns_per_ms;
}

// Returns the unheld units of recalled accounts and of voided allocations.
void Escrow::heed(const Tended& tended, std::int64_t now_ns) {
  std::vector<Unheld> unheld;
  const auto empty = [&](const std::shared_ptr<Lease>& lease) {
    if (lease->is_lost || lease->free == 0) return;
    unheld.push_back({lease, std::exchange(lease->free, 0)});
  };
  for (const Recall& recall : tended.recalls) {
    Shard& shard = *shard_of(recall.account_id);
    const std::lock_guard lock(shard.mutex);
    const auto found = shard.accounts.find(recall.account_id);
    if (found == shard.accounts.end()) continue;
    const auto yield = [&](PayerEscrow& payer) {
      if (recall.is_own && payer.key_id == recall.key_id) return;
      payer.scarce_until_ns = now_ns + scarce_ms * ns_per_ms;
      payer.low_water = 0;
      for (const auto& lease : payer.leases) empty(lease);
    };
    yield(found->second->own);
    for (auto& [id, key] : found->second->keys) yield(key);
  }
  std::vector<LeaseReturn> unknown;
  for (const Withdrawal& withdrawal : tended.withdrawals) {
    Shard& shard = *shard_of(withdrawal.account_id);
    const std::lock_guard lock(shard.mutex);
    PayerEscrow* payer = find_payer(shard, {withdrawal.account_id, withdrawal.key_id});
    bool is_known = false;
    for (std::size_t at = 0; payer != nullptr && at < payer->leases.size(); ++at) {
      const std::shared_ptr<Lease>& lease = payer->leases[at];
      if (lease->id != withdrawal.lease.lease_id) continue;
      is_known = lease->is_withdrawn = true;
      empty(lease);
    }
    if (!is_known) unknown.push_back(withdrawal.lease);  // not in memory: no unit is held here
  }
  give_back(unheld);
  close(unknown);
}

// Removes unheld leases that are idle or too old from memory, and accounts without leases.
void Escrow::collect_idle(std::size_t index, std::int64_t now_ns, std::vector<LeaseReturn>& idle) {
  Shard& shard = *shards_[index];
  const std::lock_guard lock(shard.mutex);
  erase_if(shard.accounts, [&](auto& entry) {
    AccountEscrow& account = *entry.second;
    for (auto key = account.keys.begin(); key != account.keys.end();) {
      key = collect_idle(key->second, now_ns, idle) ? account.keys.erase(key) : std::next(key);
    }
    return collect_idle(account.own, now_ns, idle) && account.keys.empty();
  });
}

// Returns whether the payer may be removed.
bool Escrow::collect_idle(PayerEscrow& payer, std::int64_t now_ns,
                          std::vector<LeaseReturn>& idle) const {
  if (payer.is_asking) return false;
  const bool is_idle = payer.last_hold_ns < now_ns - settings_.idle_return_ms * ns_per_ms;
  std::erase_if(payer.leases, [&](const std::shared_ptr<Lease>& lease) {
    const bool is_over = is_idle || now_ns >= lease->hold_until_ns || lease->is_lost ||
                         lease->is_withdrawn || lease->is_doubtful;
    if (lease->held > 0 || !is_over) return false;
    if (!lease->is_lost) idle.push_back({lease->id, lease->epoch});
    lease->is_lost = true;
    return true;
  });
  return payer.leases.empty() && payer.waiters.empty() && is_idle;
}

void Escrow::close(std::span<const LeaseReturn> leases) {
  while (!leases.empty()) {
    const auto some = leases.first(std::min(leases.size(), returns_max));
    leases = leases.subspan(some.size());
    const auto closed = leases_->close(some);
    if (!closed) report("lease_return_failed", closed.error());  // they end by their own expiry
  }
}

// The units are no longer in memory. If the store did not accept them, they return when their lease
// is closed.
void Escrow::give_back(std::span<const Unheld> unheld) {
  if (unheld.empty()) return;
  std::vector<LeaseShare> shares;
  for (const Unheld& each : unheld)
    shares.push_back({each.lease->id, each.lease->epoch, each.units});
  const auto given = leases_->give_back(shares);
  if (given) return;
  report("lease_return_failed", given.error());
  for (const Unheld& each : unheld) {
    const std::lock_guard lock(each.lease->shard->mutex);
    each.lease->is_doubtful = true;
  }
}

void Escrow::report(std::string_view event, const StoreFailure& failure) {
  log_.write(Severity::error, event, {{"reason", failure.text}});
}

}  // namespace turnpike::ledger
