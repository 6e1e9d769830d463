// What reading usage costs on both databases: a billing page of an account with 1,000,000 facts
// compared with one of an account with 1,000; and a summary of 30 days compared with adding up the
// facts one by one. Also what giving a fact its position costs off the commit path: for a million
// facts, for a thousand that came after them, and for what a thousand busy accounts left within
// seconds.
#include <benchmark/benchmark.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ledger/statements/statements.h"
#include "ledger/statements/usage_summary.h"
#include "storage/engine/database.h"
#include "support/stores.h"

namespace turnpike::ledger {
namespace {

constexpr std::int64_t day_ms = 86'400'000;
constexpr int many = 1'000'000;
constexpr int few = 1'000;
constexpr int batch = 1'000;
constexpr int days = 30;
constexpr int busy_accounts = 1'000;
constexpr int busy_batches = 131;  // 131,000 facts

// A database with two accounts, made once for each engine. Their calls are spread over 30 days, 10
// operations and 5 keys.
class Books {
 public:
  explicit Books(storage::Engine engine) : store_(engine, 4), node_(store_.open()) {
    if (!node_->ledger().start().ok()) std::abort();
    stream_ = *node_->ledger().open_stream();
    leases_ = node_->ledger().open_leases();
    for (int at = 0; at < 10; ++at)
      routes_.push_back("route-" + std::string(31, '0') + char('0' + at));
    for (int at = 0; at < 5; ++at) keys_.push_back("key_" + std::to_string(at));
    small_ = fill(few);
    large_ = fill(many);
    position_s_ = catch_up() / (many + few);
    fill(batch);
    late_position_s_ = catch_up() / batch;
    fill_busy();
    busy_position_s_ = catch_up() / (busy_accounts * busy_batches);
  }
  ~Books() {
    stream_.reset();
    leases_.reset();
  }

  UsageStore& usage() { return node_->usage(); }
  const std::string& account(bool is_large) const { return is_large ? large_ : small_; }
  std::int64_t to_ms() const { return (store_.clock.now_ms() / day_ms + 1) * day_ms; }
  // Seconds per fact: for all facts at once, for a few after them, and for many accounts.
  double position_s() const { return position_s_; }
  double late_position_s() const { return late_position_s_; }
  double busy_position_s() const { return busy_position_s_; }
  storage::Settings settings() const { return store_.settings(); }

 private:
  double catch_up() {
    const auto began = std::chrono::steady_clock::now();
    if (!catch_up_whole(node_->usage(), runtime::Deadline::after_ms(600'000)).ok()) std::abort();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  }

  std::string fill(int facts) {
    const auto account = node_->accounts().create("bench");
    if (!node_->accounts().activate(account->id, {facts, 10 * 365 * day_ms}).ok()) std::abort();
    for (int from = 0; from < facts; from += batch) settle(account->id, from, facts);
    return account->id;
  }

  void settle(const std::string& account, int from, int facts) {
    const LeaseRequest requests[] = {{.account_id = account,
                                      .calls = std::vector<Credits>(batch, 1),
                                      .hold_ms = 30'000,
                                      .settle_ms = 90'000}};
    const auto leases = leases_->acquire(requests);
    const LeaseGrant& lease = (*leases)[0].grants.at(0);
    const std::vector<LeaseShare> shares{{lease.lease_id, lease.epoch, 1}};
    std::vector<std::string> ids;
    for (int at = from; at < from + batch; ++at) ids.push_back(account + std::to_string(at));
    std::vector<UsageFact> rows;
    for (int at = from; at < from + batch; ++at) {
      const std::int64_t at_ms = to_ms() - days * day_ms + at * (days * day_ms / facts);
      rows.push_back(fact_of(ids[at - from], account, at, at_ms));
    }
    std::vector<SettleEntry> entries;
    for (const UsageFact& fact : rows) entries.push_back({&fact, shares});
    settle(entries);
  }
  void settle(const std::vector<SettleEntry>& entries) {
    const auto settled = stream_->settle(++number_, entries);
    if (!settled.ok() || !settled->committed()) std::abort();
  }

  // The fact keeps views of both texts.
  UsageFact fact_of(const std::string& id, const std::string& account, std::int64_t number,
                    std::int64_t at_ms) const {
    UsageFact fact;
    fact.message_id = fact.request_id = id;
    fact.account_id = account;
    fact.api_key_id = keys_[number % 5];
    fact.route_id = routes_[number % 10];
    fact.occurred_at_ms = at_ms;
    fact.method = "GET";
    fact.lane = "credits";
    fact.credit_cost = fact.price_version = 1;
    fact.generation = "gen_0000000000000000";
    fact.outcome_reason = "success";
    fact.upstream_status = 200;
    return fact;
  }

  // Each batch has one call of every account, all with the same key and operation.
  void fill_busy() {
    std::vector<std::string> accounts;
    std::vector<LeaseRequest> requests;
    for (int at = 0; at < busy_accounts; ++at) {
      const auto account = node_->accounts().create("bench");
      if (!node_->accounts().activate(account->id, {busy_batches, day_ms}).ok()) std::abort();
      accounts.push_back(account->id);
      requests.push_back({.account_id = account->id,
                          .calls = std::vector<Credits>(busy_batches, 1),
                          .hold_ms = 30'000,
                          .settle_ms = 90'000});
    }
    const auto leases = leases_->acquire(requests);
    std::vector<LeaseShare> shares;
    for (const auto& answer : *leases) {
      const LeaseGrant& lease = answer.grants.at(0);
      shares.push_back({lease.lease_id, lease.epoch, 1});
    }
    for (int number = 0; number < busy_batches; ++number) {
      std::vector<std::string> ids;
      for (const std::string& account : accounts) ids.push_back(account + std::to_string(number));
      std::vector<UsageFact> rows;
      std::vector<SettleEntry> entries;
      for (int at = 0; at < busy_accounts; ++at) {
        rows.push_back(fact_of(ids[at], accounts[at], number, to_ms() - day_ms + number * 50));
        rows.back().api_key_id = keys_[0];
        rows.back().route_id = routes_[0];
      }
      for (int at = 0; at < busy_accounts; ++at) {
        entries.push_back({&rows[at], {&shares[at], 1}});
      }
      settle(entries);
    }
  }

  support::TestStore store_;
  std::unique_ptr<storage::Node> node_;
  std::unique_ptr<SettlementStream> stream_;
  std::unique_ptr<LeaseStore> leases_;
  std::int64_t number_ = 0;
  std::vector<std::string> routes_;
  std::vector<std::string> keys_;
  std::string small_;
  std::string large_;
  double position_s_ = 0;
  double late_position_s_ = 0;
  double busy_position_s_ = 0;
};

Books& books(storage::Engine engine) {
  static std::map<storage::Engine, std::unique_ptr<Books>> made;
  auto& slot = made[engine];
  if (slot == nullptr) slot = std::make_unique<Books>(engine);
  return *slot;
}

void position(benchmark::State& state, storage::Engine engine, double (Books::*cost_s)() const) {
  const Books& with = books(engine);
  for (auto _ : state) state.SetIterationTime((with.*cost_s)());
}

// Reads pages from the newest to wherever the walk has come, so deep pages are among them.
void page(benchmark::State& state, storage::Engine engine, bool is_large) {
  Books& with = books(engine);
  PageQuery query{with.account(is_large), std::nullopt, 50};
  for (auto _ : state) {
    const auto read = with.usage().usage(query);
    if (!read.ok() || !read->has_value()) return state.SkipWithError("not read");
    query.after = (*read)->next;
  }
}

// `cut_ms` is taken off at both ends and falls within an hour.
void summary(benchmark::State& state, storage::Engine engine, std::int64_t cut_ms) {
  Books& with = books(engine);
  for (auto _ : state) {
    const auto sums = summarize(with.usage(),
                                {{with.account(true)},
                                 with.to_ms() - days * day_ms + cut_ms,
                                 with.to_ms() - cut_ms,
                                 Granularity::day},
                                runtime::Deadline::after_ms(60'000));
    if (!sums.ok() || (cut_ms == 0 && sums->totals.requests != many)) {
      return state.SkipWithError("not summed");
    }
  }
}

// The baseline of `summary`: what it would cost without the kept sums.
void sum_of_facts(benchmark::State& state, storage::Engine engine) {
  Books& with = books(engine);
  const storage::Database database(with.settings());
  const auto connection = database.connect();
  const std::string sum =
      "SELECT occurred_at / 86400000 AS a, COUNT(*) AS b, CAST(SUM(credits_charged) AS BIGINT) AS c"
      " FROM fact WHERE account_id = '" +
      with.account(true) + "' GROUP BY occurred_at / 86400000";
  for (auto _ : state) {
    if (connection->query_once(sum, "iii").empty()) return state.SkipWithError("not summed");
  }
}

template <class Step, class... Arguments>
benchmark::internal::Benchmark* add(storage::Engine engine, const std::string& what, Step step,
                                    Arguments... arguments) {
  const std::string name = support::name_of(engine) + ": " + what;
  return benchmark::RegisterBenchmark(name.c_str(), step, engine, arguments...);
}

void add_all(storage::Engine engine) {
  constexpr auto us = benchmark::kMicrosecond;
  constexpr auto ms = benchmark::kMillisecond;
  const auto add_position = [&](const std::string& of, double (Books::*cost_s)() const) {
    add(engine, "position of a fact, " + of, position, cost_s)
        ->UseManualTime()
        ->Iterations(1)
        ->Unit(us);
  };
  add_position("of 1,000,000", &Books::position_s);
  add_position("1,000 more", &Books::late_position_s);
  add_position("of 1,000 accounts", &Books::busy_position_s);
  add(engine, "page of 50, among 1,000 facts", page, false)->UseRealTime()->Unit(us);
  add(engine, "page of 50, among 1,000,000 facts", page, true)->UseRealTime()->Unit(us);
  add(engine, "baseline: adding up 1,000,000 facts", sum_of_facts)->UseRealTime()->Unit(ms);
  add(engine, "summary of these by day", summary, 0)->UseRealTime()->Unit(ms);
  add(engine, "summary of these, cut within hours", summary, 1'234'567)->UseRealTime()->Unit(ms);
}

}  // namespace
}  // namespace turnpike::ledger

int main(int argc, char** argv) {
  using namespace turnpike;
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  for (const storage::Engine engine : support::engines) {
    if (const std::string why = support::missing(engine); !why.empty()) {
      std::printf("%s\n", why.c_str());
    } else {
      ledger::add_all(engine);
    }
  }
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
