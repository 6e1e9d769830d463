#include "ledger/escrow.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include "ledger/draw.h"

namespace turnpike::ledger {
namespace {

constexpr std::int64_t ns_per_ms = 1'000'000;
constexpr std::int64_t call_max_ms = 15 * 60 * 1000;  // a hold without a nearer end counts as this
constexpr std::int64_t refusal_memo_ms = 100;
constexpr std::int64_t clock_jump_max_ms = 5 * 60 * 1000;
constexpr std::int64_t clock_margin_ms = 5'000;  // between our clock and the database's
constexpr std::size_t asks_max = 1 << 20;
constexpr std::size_t returns_max = 500;  // in one transaction

base::Error unavailable() {
  return {base::ErrorCode::billing_ledger_unavailable,
          "The Credit ledger cannot be reached; nothing was charged.", 1};
}

base::Error stopping() {
  return {base::ErrorCode::gateway_stopping, "The gateway is stopping; nothing was charged.", 1};
}

// `reach`: all units of the account that are not spent, wherever they are held.
base::Error refusal(Credits units, Credits reach) {
  if (units <= reach) {
    return {base::ErrorCode::billing_credits_reserved,
            "The remaining Credits are reserved by calls that are in flight.", 1};
  }
  return {base::ErrorCode::billing_credits_exhausted,
          "The account has too few Credits for this call."};
}

bool usable(const Lease& lease, std::int64_t settle_by_ns, std::int64_t now_ns) noexcept {
  return !lease.is_lost && now_ns < lease.hold_until_ns && settle_by_ns <= lease.settle_until_ns;
}

bool leased_before(const std::shared_ptr<Lease>& left,
                   const std::shared_ptr<Lease>& right) noexcept {
  return std::tie(left->expires_at_ms, left->created_at_ms, left->allocation_id) <
         std::tie(right->expires_at_ms, right->created_at_ms, right->allocation_id);
}

Credits free_units(const AccountEscrow& account) noexcept {
  Credits free = 0;
  for (const auto& lease : account.leases) free += lease->free;
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

Escrow::Escrow(LedgerStore& store, const LedgerSettings& settings, base::Log& log)
    : store_(store), settings_(settings), log_(log), asks_(asks_max) {
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
  beat();  // from here on the clock is compared with what it was
  thread_ = std::thread([this] { run(); });
}

void Escrow::stop() noexcept {
  returns_leases_ = true;
  is_stopping_ = true;
  asks_.close();
  if (thread_.joinable()) thread_.join();
}

const std::shared_ptr<Shard>& Escrow::shard_of(std::string_view account_id) const noexcept {
  return shards_[Shard::Hash{}(account_id) % shard_count];
}

Result<Hold, base::Error> Escrow::hold(std::string_view account_id, Credits units,
                                       runtime::Deadline until) {
  if (is_stopping_.load(std::memory_order_relaxed)) return stopping();
  if (!available()) return unavailable();
  const std::int64_t now_ns = runtime::now_ns();
  const std::int64_t settle_by_ns =
      std::min(until.ns, now_ns + call_max_ms * ns_per_ms) + settings_.commit_budget_ms * ns_per_ms;
  std::shared_ptr<HoldWaiter> waiter;
  {
    const std::shared_ptr<Shard>& shard = shard_of(account_id);
    const std::lock_guard lock(shard->mutex);
    auto found = shard->accounts.find(account_id);
    if (found == shard->accounts.end()) {
      found = shard->accounts.emplace(std::string(account_id), AccountEscrow{}).first;
      found->second.account_id = found->first;
      found->second.spent_since_ns = now_ns;
    }
    AccountEscrow& account = found->second;
    account.last_hold_ns = now_ns;
    account.call_units = units;
    if (account.waiters.empty()) {
      if (auto taken = take(account, units, settle_by_ns, now_ns)) {
        shard->holds.fetch_add(1, std::memory_order_relaxed);
        if (free_units(account) < account.low_water) ask(shard, account);
        return *std::move(taken);
      }
    }
    if (now_ns < account.refused_until_ns && units >= account.refused_units) {
      return refusal(units, account.refused_reach);
    }
    waiter = std::make_shared<HoldWaiter>();
    waiter->units = units;
    waiter->settle_by_ns = settle_by_ns;
    if (!ask(shard, account)) return stopping();
    account.waiters.push_back(waiter);
  }
  const auto wait_until = until.earlier(runtime::Deadline::after_ms(settings_.commit_budget_ms));
  if (waiter->answer.wait(wait_until) == runtime::Wake::ready) return waiter->answer.take();
  return unavailable();  // an answer that comes later gives its units back with the waiter
}

// REQUIRES: the shard's lock.
std::optional<Hold> Escrow::take(AccountEscrow& account, Credits units, std::int64_t settle_by_ns,
                                 std::int64_t now_ns) const {
  const auto give = [&](Lease& lease, Credits part) {
    lease.free -= part;
    lease.held += part;
  };
  Credits within_reach = 0;
  for (const auto& lease : account.leases) {
    if (!usable(*lease, settle_by_ns, now_ns)) continue;
    if (within_reach == 0 && lease->free >= units) {  // the common case: one lease pays
      give(*lease, units);
      account.spent += units;
      return Hold(lease, units);
    }
    within_reach += lease->free;
  }
  if (within_reach < units) return std::nullopt;
  Hold hold;
  Credits missing = units;
  for (const auto& lease : account.leases) {
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
  account.spent += units;
  return hold;
}

// REQUIRES: the shard's lock. Asking twice is asking once.
bool Escrow::ask(const std::shared_ptr<Shard>& shard, AccountEscrow& account) {
  if (!account.is_asking) account.is_asking = asks_.push({shard, &account});
  return account.is_asking;
}

void Escrow::spend(Hold& hold) noexcept {
  if (hold.lease_ == nullptr) return;
  Shard& shard = *hold.lease_->shard;
  const std::lock_guard lock(shard.mutex);
  shard.holds.fetch_sub(1, std::memory_order_relaxed);
  hold.lease_->held -= hold.units_;
  for (const Hold::Part& part : hold.more_) part.lease->held -= part.units;
  hold.forget();
}

std::vector<LeaseShare> Escrow::shares(const Hold& hold) {
  std::vector<LeaseShare> shares;
  if (hold.lease_ == nullptr) return shares;
  shares.reserve(1 + hold.more_.size());
  shares.push_back({hold.lease_->id, hold.lease_->epoch, hold.units_});
  for (const Hold::Part& part : hold.more_) {
    shares.push_back({part.lease->id, part.lease->epoch, part.units});
  }
  return shares;
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

// ---- the escrow Thread
// ----------------------------------------------------------------------------

void Escrow::run() {
  std::vector<Ask> asks;
  runtime::Deadline next_beat = runtime::Deadline::after_ms(0);
  while (!is_stopping_) {
    asks.clear();
    const runtime::Wake wake = asks_.take(asks, 1, next_beat);
    if (!asks.empty()) answer(asks);
    if (wake == runtime::Wake::deadline || next_beat.passed()) {
      beat();
      next_beat = runtime::Deadline::after_ms(settings_.heartbeat_ms);
    }
  }
  asks.clear();
  (void)asks_.take(asks, 1, runtime::Deadline::after_ms(0));
  for (const Ask& each : asks) refuse(each, stopping());
  if (!returns_leases_) return;
  std::vector<LeaseReturn> leases;
  for (std::size_t shard = 0; shard < shard_count; ++shard) {
    collect_idle(shard, std::numeric_limits<std::int64_t>::max(), leases);
  }
  give_back(leases);
}

void Escrow::answer(std::vector<Ask>& asks) {
  const std::int64_t asked_ns = runtime::now_ns();
  std::vector<LeaseRequest> requests;
  requests.reserve(asks.size());
  for (const Ask& each : asks) requests.push_back(request_of(each, asked_ns));
  const auto answers = leases_->acquire(requests);
  if (!answers) {
    // Units of an unknown commit are not counted: they return when the lease is closed.
    is_reachable_ = false;
    report("lease_failed", answers.error());
    for (const Ask& each : asks) refuse(each, unavailable());
    return;
  }
  Waiters served;  // ends last: an answer whose waiter has left gives its units back under the lock
  runtime::WakeBatch wakes;
  for (std::size_t at = 0; at < asks.size(); ++at) {
    const std::lock_guard lock(asks[at].shard->mutex);
    for (const LeaseGrant& grant : (*answers)[at].grants) add(asks[at], grant, asked_ns);
    serve(asks[at], (*answers)[at], served, wakes);
  }
}

LeaseRequest Escrow::request_of(const Ask& ask, std::int64_t now_ns) const {
  const std::lock_guard lock(ask.shard->mutex);
  AccountEscrow& account = *ask.account;
  std::int64_t settle_by_ns =
      now_ns + (settings_.lease_hold_ms + settings_.settle_margin_ms) * ns_per_ms;
  Credits needed = 0;
  for (const auto& waiter : account.waiters) {
    waiter->is_asked = true;
    needed += waiter->units;
    settle_by_ns = std::max(settle_by_ns, waiter->settle_by_ns + clock_margin_ms * ns_per_ms);
  }
  Credits free = 0;
  for (const auto& lease : account.leases) {
    if (usable(*lease, settle_by_ns, now_ns)) free += lease->free;
  }
  const Credits wanted =
      wanted_units(account.call_units, account.spent, (now_ns - account.spent_since_ns) / ns_per_ms,
                   settings_.lease_hold_ms / 4);
  account.spent = 0;
  account.spent_since_ns = now_ns;
  LeaseRequest request;
  request.account_id = account.account_id;
  request.needed = std::max<Credits>(0, needed - free);
  request.wanted = std::max<Credits>(0, needed + wanted - free);
  request.hold_ms = settings_.lease_hold_ms;
  request.settle_ms = (settle_by_ns - now_ns) / ns_per_ms + 1;
  return request;
}

// REQUIRES: the shard's lock.
void Escrow::add(const Ask& ask, const LeaseGrant& grant, std::int64_t asked_ns) const {
  auto& leases = ask.account->leases;
  auto found = std::find_if(leases.begin(), leases.end(), [&](const auto& lease) {
    return lease->id == grant.lease_id && lease->epoch == grant.epoch;
  });
  if (found == leases.end()) {
    auto lease = std::make_shared<Lease>(ask.shard, grant);
    found =
        leases.insert(std::upper_bound(leases.begin(), leases.end(), lease, leased_before), lease);
  }
  Lease& lease = **found;
  lease.free += grant.units;
  lease.hold_until_ns = asked_ns + grant.hold_ms * ns_per_ms;
  lease.settle_until_ns = std::max(lease.settle_until_ns, asked_ns + grant.settle_ms * ns_per_ms);
}

// REQUIRES: the shard's lock. Every waiter that was part of the request gets its answer.
void Escrow::serve(const Ask& ask, const LeaseAnswer& answer, Waiters& served,
                   runtime::WakeBatch& wakes) {
  AccountEscrow& account = *ask.account;
  const std::int64_t now_ns = runtime::now_ns();
  account.is_asking = false;
  Waiters late;
  for (auto& waiter : account.waiters) {
    if (auto taken = take(account, waiter->units, waiter->settle_by_ns, now_ns)) {
      ask.shard->holds.fetch_add(1, std::memory_order_relaxed);
      waiter->answer.set(*std::move(taken), wakes);
    } else if (waiter->is_asked) {
      account.refused_reach = answer.spendable + answer.leased;
      account.refused_units = waiter->units;
      account.refused_until_ns = now_ns + refusal_memo_ms * ns_per_ms;
      waiter->answer.set(refusal(waiter->units, account.refused_reach), wakes);
    } else {
      late.push_back(std::move(waiter));
      continue;
    }
    served.push_back(std::move(waiter));
  }
  account.waiters = std::move(late);
  account.low_water = answer.grants.empty() ? 0 : free_units(account) / 4;
  if (!account.waiters.empty()) this->ask(ask.shard, account);
}

void Escrow::refuse(const Ask& ask, const base::Error& error) {
  const std::lock_guard lock(ask.shard->mutex);
  ask.account->is_asking = false;
  runtime::WakeBatch wakes;
  for (auto& waiter : ask.account->waiters) waiter->answer.set(error, wakes);
  ask.account->waiters.clear();
}

void Escrow::beat() {
  const std::int64_t boot_ms = runtime::now_ns() / ns_per_ms;
  const std::int64_t latest_ms = wall_offset_ms_ ? boot_ms + *wall_offset_ms_ + clock_jump_max_ms
                                                 : std::numeric_limits<std::int64_t>::max();
  const auto tended = leases_->tend(latest_ms);
  if (!tended) {
    if (is_reachable_.exchange(false)) report("ledger_unreachable", tended.error());
    return;
  }
  if (!is_reachable_.exchange(true)) log_.write(Severity::info, "ledger_reachable");
  if (tended->paused != is_paused_.exchange(tended->paused)) {
    log_.write(Severity::warning, tended->paused ? "expiry_paused" : "expiry_resumed");
  }
  if (!tended->paused) wall_offset_ms_ = tended->now_ms - boot_ms;
  std::vector<LeaseReturn> idle;
  for (std::size_t turn = 0; turn < shard_count / 4; ++turn) {  // every shard once a second
    collect_idle(next_shard_, runtime::now_ns(), idle);
    next_shard_ = (next_shard_ + 1) % shard_count;
  }
  give_back(idle);
}

// Takes leases that nobody holds and that are idle or too old out of memory, and forgets accounts
// that have none left.
void Escrow::collect_idle(std::size_t index, std::int64_t now_ns, std::vector<LeaseReturn>& idle) {
  Shard& shard = *shards_[index];
  const std::lock_guard lock(shard.mutex);
  const std::int64_t idle_ns = settings_.idle_return_ms * ns_per_ms;
  for (auto entry = shard.accounts.begin(); entry != shard.accounts.end();) {
    AccountEscrow& account = entry->second;
    if (account.is_asking) {
      ++entry;
      continue;
    }
    const bool is_idle = account.last_hold_ns < now_ns - idle_ns;
    std::erase_if(account.leases, [&](const std::shared_ptr<Lease>& lease) {
      if (lease->held > 0 || (!is_idle && now_ns < lease->hold_until_ns && !lease->is_lost)) {
        return false;
      }
      if (!lease->is_lost) idle.push_back({lease->id, lease->epoch});
      lease->is_lost = true;
      return true;
    });
    const bool is_empty = account.leases.empty() && account.waiters.empty() && is_idle;
    entry = is_empty ? shard.accounts.erase(entry) : std::next(entry);
  }
}

void Escrow::give_back(std::span<const LeaseReturn> leases) {
  while (!leases.empty()) {
    const auto some = leases.first(std::min(leases.size(), returns_max));
    leases = leases.subspan(some.size());
    const auto closed = leases_->close(some);
    if (!closed) report("lease_return_failed", closed.error());  // they end by their own time
  }
}

void Escrow::report(std::string_view event, const StoreFailure& failure) {
  log_.write(Severity::error, event, {{"reason", failure.text}});
}

}  // namespace turnpike::ledger
