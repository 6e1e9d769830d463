// What Credits cost: an authenticated key from memory, a hold from the node's lease, and durable
// settlements by 1, 64 and 256 concurrent callers on both databases (real files, real commits).
#include <benchmark/benchmark.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/ids.h"
#include "base/sources.h"
#include "identity/accounts.h"
#include "identity/cached_authenticator.h"
#include "ledger/escrow/escrow_ledger.h"
#include "support/stores.h"

namespace turnpike::ledger {
namespace {

constexpr Credits granted = 1'000'000'000;
constexpr int accounts_count = 100;

// A node on a fresh database with its ledger, and accounts with Credits.
class Bench {
 public:
  explicit Bench(storage::Engine engine) : store_(engine, 4), node_(store_.open()) {
    ledger_ = std::make_unique<EscrowLedger>(
        node_->ledger(), LedgerSettings{},
        EscrowLedger::Sources{*log_, *metrics_, pool_, [](std::string_view) {}});
    if (!ledger_->start().ok()) std::abort();
    identity::Accounts accounts(node_->accounts(), {});
    for (int at = 0; at < accounts_count; ++at) {
      const auto account = accounts.create("bench");
      if (!account.ok()) std::abort();
      accounts_.push_back(account->id);
      const std::int64_t year_ms = 365ll * 24 * 60 * 60 * 1000;
      if (!node_->ledger()
               .grant({account->id, granted, Origin::operator_grant,
                       store_.clock.now_ms() + year_ms, 0})
               .ok()) {
        std::abort();
      }
    }
  }
  ~Bench() { ledger_->stop(); }

  EscrowLedger& ledger() { return *ledger_; }
  storage::Node& node() { return *node_; }
  runtime::BlockingPool& pool() { return pool_; }
  base::Log& log() { return *log_; }
  support::TestStore& store() { return store_; }
  const std::string& account(int at) const { return accounts_[at % accounts_count]; }

  // Does what one paid call does: a hold, and a durable settlement. False if anything was refused.
  bool charge(int caller, base::UuidSource& ids) {
    auto hold = ledger_->hold({account(caller)}, 1, runtime::Deadline::after_ms(30'000));
    if (!hold.ok()) return false;
    const base::UuidText id = ids.next();
    return std::holds_alternative<Settled>(
        ledger_->settle(*std::move(hold), fact(base::view(id), caller)));
  }

  UsageFact fact(std::string_view message_id, int caller) const {
    UsageFact fact;
    fact.message_id = fact.request_id = message_id;
    fact.account_id = account(caller);
    fact.api_key_id = "key_00000000000000000000000000";
    fact.occurred_at_ms = system_clock_.now_ms();
    fact.route_id = "route-00000000000000000000000000000000";
    fact.route_revision = 1;
    fact.method = "GET";
    fact.lane = "credits";
    fact.credit_cost = fact.price_version = 1;
    fact.generation = "gen_0000000000000000";
    fact.charged = true;
    fact.outcome_reason = "success";
    fact.upstream_status = 200;
    return fact;
  }

 private:
  support::TestStore store_;
  std::unique_ptr<storage::Node> node_;
  std::unique_ptr<base::Log> log_ = base::make_silent_log();
  std::unique_ptr<base::Metrics> metrics_ = base::make_metrics();
  runtime::BlockingPool pool_{2, 64};
  base::SystemClock system_clock_;
  std::unique_ptr<EscrowLedger> ledger_;
  std::vector<std::string> accounts_;
};

void settle(benchmark::State& state) {
  const auto engine = static_cast<storage::Engine>(state.range(0));
  const int callers = static_cast<int>(state.range(1));
  Bench bench(engine);
  constexpr int charges_each = 200;
  std::int64_t charged = 0;
  for (auto _ : state) {
    std::atomic<std::int64_t> refused{0};
    std::vector<std::thread> threads;
    for (int caller = 0; caller < callers; ++caller) {
      threads.emplace_back([&, caller] {
        const base::SystemClock clock;
        base::SystemRandom random;
        base::UuidSource ids(clock, random);
        for (int at = 0; at < charges_each; ++at) refused += bench.charge(caller, ids) ? 0 : 1;
      });
    }
    for (std::thread& thread : threads) thread.join();
    if (refused != 0) state.SkipWithError("a charge was refused");
    charged += static_cast<std::int64_t>(callers) * charges_each;
  }
  state.SetItemsProcessed(charged);
  state.SetLabel(support::name_of(engine) + ", " + std::to_string(callers) + " callers");
}
BENCHMARK(settle)
    ->ArgsProduct({{static_cast<int>(storage::Engine::sqlite),
                    static_cast<int>(storage::Engine::postgres)},
                   {1, 64, 256}})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

// What one fact costs the committer's Thread and the disk, in a batch of the given size.
void settle_batch(benchmark::State& state) {
  const auto engine = static_cast<storage::Engine>(state.range(0));
  const auto size = static_cast<std::size_t>(state.range(1));
  Bench bench(engine);
  const auto stream = *bench.node().ledger().open_stream();
  std::vector<LeaseRequest> requests(accounts_count);
  for (int at = 0; at < accounts_count; ++at) {
    requests[at].account_id = bench.account(at);
    requests[at].calls = {granted / 2};
    requests[at].hold_ms = requests[at].settle_ms = 3'600'000;
  }
  const auto leases = *stream->acquire(requests);
  const base::SystemClock clock;
  base::SystemRandom random;
  base::UuidSource ids(clock, random);
  std::vector<base::UuidText> names(size);
  std::vector<LeaseShare> shares(size);
  std::vector<UsageFact> facts(size);
  std::vector<SettleEntry> entries(size);
  std::int64_t number = 0;
  for (auto _ : state) {
    for (std::size_t at = 0; at < size; ++at) {
      const LeaseGrant& lease = leases[at % accounts_count].grants.back();
      names[at] = ids.next();
      facts[at] = bench.fact(base::view(names[at]), static_cast<int>(at));
      shares[at] = {lease.lease_id, lease.epoch, 1};
      entries[at] = {&facts[at], {&shares[at], 1}};
    }
    const auto answer = stream->settle(++number, entries);
    if (!answer.ok() || !answer->committed()) return state.SkipWithError("not committed");
  }
  state.SetItemsProcessed(number * static_cast<std::int64_t>(size));
  state.SetLabel(support::name_of(engine) + ", " + std::to_string(size) + " facts");
}
BENCHMARK(settle_batch)
    ->ArgsProduct({{static_cast<int>(storage::Engine::sqlite),
                    static_cast<int>(storage::Engine::postgres)},
                   {25, 100, 250}})
    ->Unit(benchmark::kMicrosecond);

void hold_and_release(benchmark::State& state) {
  Bench bench(storage::Engine::sqlite);
  for (auto _ : state) {
    auto hold = bench.ledger().hold({bench.account(0)}, 1, runtime::Deadline::after_ms(30'000));
    if (!hold.ok()) state.SkipWithError("refused");
  }  // a hold that is dropped is released
}
BENCHMARK(hold_and_release);

void authenticate(benchmark::State& state) {
  Bench bench(storage::Engine::sqlite);
  base::SystemRandom random;
  const base::SystemClock clock;
  identity::CachedAuthenticator authenticator(bench.node().keys(), {},
                                              {clock, bench.log(), bench.pool()});
  identity::ApiKeys keys(bench.node().keys(), identity::Environment::development, random);
  const auto created = keys.create(bench.account(0), "bench");
  if (!created.ok()) return state.SkipWithError("no key");
  for (auto _ : state) {
    const auto principal =
        authenticator.authenticate(created->secret, runtime::Deadline::after_ms(1'000));
    if (!principal.ok()) state.SkipWithError("refused");
  }
}
BENCHMARK(authenticate);

}  // namespace
}  // namespace turnpike::ledger

BENCHMARK_MAIN();
