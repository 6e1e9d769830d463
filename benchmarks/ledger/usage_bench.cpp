// What reading usage costs on both databases: a billing page of an account with 1,000,000 facts
// against one of an account with 1,000, a summary of 30 days against adding up the facts one by
// one, and what giving a fact its position costs, off the commit path.
#include <benchmark/benchmark.h>

#include <chrono>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ledger/statements.h"
#include "ledger/usage_summary.h"
#include "storage/database.h"
#include "support/stores.h"

namespace turnpike::ledger {
namespace {

constexpr std::int64_t day_ms = 86'400'000;
constexpr int many = 1'000'000;
constexpr int few = 1'000;
constexpr int batch = 1'000;
constexpr int days = 30;

// A database with two accounts, made once for each engine: their calls are spread over 30 days, 10
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
    const auto began = std::chrono::steady_clock::now();
    if (!catch_up_whole(node_->usage(), runtime::Deadline::after_ms(600'000)).ok()) std::abort();
    index_us_a_fact_ =
        std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - began)
            .count() /
        (many + few);
  }
  ~Books() {
    stream_.reset();
    leases_.reset();
  }

  UsageStore& usage() { return node_->usage(); }
  const std::string& account(bool is_large) const { return is_large ? large_ : small_; }
  std::int64_t to_ms() const { return (store_.clock.now_ms() / day_ms + 1) * day_ms; }
  double index_us_a_fact() const { return index_us_a_fact_; }
  storage::Settings settings() const { return store_.settings(); }

 private:
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
    for (int at = 0; at < batch; ++at) ids.push_back(account + std::to_string(from + at));
    std::vector<UsageFact> rows(batch);
    std::vector<SettleEntry> entries;
    for (int at = 0; at < batch; ++at) {
      UsageFact& fact = rows[at];
      const std::int64_t number = from + at;
      fact.message_id = fact.request_id = ids[at];
      fact.account_id = account;
      fact.api_key_id = keys_[number % 5];
      fact.route_id = routes_[number % 10];
      fact.occurred_at_ms = to_ms() - days * day_ms + number * (days * day_ms / facts);
      fact.method = "GET";
      fact.lane = "credits";
      fact.credit_cost = fact.price_version = 1;
      fact.generation = "gen_0000000000000000";
      fact.outcome_reason = "success";
      fact.upstream_status = 200;
      entries.push_back({&fact, shares});
    }
    const auto settled = stream_->settle(++number_, entries);
    if (!settled.ok() || !settled->committed()) std::abort();
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
  double index_us_a_fact_ = 0;
};

Books& books(storage::Engine engine) {
  static std::map<storage::Engine, std::unique_ptr<Books>> made;
  auto& slot = made[engine];
  if (slot == nullptr) slot = std::make_unique<Books>(engine);
  return *slot;
}

// Pages from the newest to wherever the walk is, so deep ones are among them.
void page(benchmark::State& state) {
  Books& with = books(static_cast<storage::Engine>(state.range(0)));
  const bool is_large = state.range(1) != 0;
  PageQuery query{with.account(is_large), std::nullopt, 50};
  for (auto _ : state) {
    const auto read = with.usage().usage(query);
    if (!read.ok() || !read->has_value()) return state.SkipWithError("not read");
    query.after = (*read)->next;
  }
  state.SetLabel(support::name_of(static_cast<storage::Engine>(state.range(0))) +
                 (is_large ? ", 1,000,000 facts" : ", 1,000 facts"));
  state.counters["index_us_a_fact"] = with.index_us_a_fact();
}
BENCHMARK(page)->ArgsProduct({{0, 1}, {0, 1}})->Unit(benchmark::kMicrosecond);

void summary(benchmark::State& state) {
  Books& with = books(static_cast<storage::Engine>(state.range(0)));
  const std::int64_t cut_ms = state.range(1);  // from both ends, into their hours
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
  state.SetLabel(support::name_of(static_cast<storage::Engine>(state.range(0))) +
                 (cut_ms == 0 ? ", whole days" : ", cut within hours"));
}
BENCHMARK(summary)->ArgsProduct({{0, 1}, {0, 1'234'567}})->Unit(benchmark::kMillisecond);

// The baseline of summary: what it would be without the kept sums.
void sum_of_facts(benchmark::State& state) {
  Books& with = books(static_cast<storage::Engine>(state.range(0)));
  const storage::Database database(with.settings());
  const auto connection = database.connect();
  const std::string sum =
      "SELECT occurred_at / 86400000 AS a, COUNT(*) AS b, CAST(SUM(credits_charged) AS BIGINT) AS c"
      " FROM fact WHERE account_id = '" +
      with.account(true) + "' GROUP BY occurred_at / 86400000";
  for (auto _ : state) {
    if (connection->query_once(sum, "iii").empty()) return state.SkipWithError("not summed");
  }
  state.SetLabel(support::name_of(static_cast<storage::Engine>(state.range(0))));
}
BENCHMARK(sum_of_facts)->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace turnpike::ledger

BENCHMARK_MAIN();
