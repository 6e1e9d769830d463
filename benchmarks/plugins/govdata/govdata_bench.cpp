// How long each route takes without the cache on a store of 30,000 proposals in 30 DAOs, how fast
// records are imported, and how long feeds and lookups take on 100,000 proposals with a million
// votes and a million events. A route's p50 and p99 are printed as counters.
#include <benchmark/benchmark.h>
#include <stdlib.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "govdata/import/import.h"
#include "govdata/serve/service.h"
#include "govdata/store/schema.h"
#include "govdata/store/timestamp.h"

namespace turnpike::govdata {
namespace {

constexpr int daos = 30;
constexpr int proposals_per_dao = 1000;
constexpr std::int64_t now_ms = 1'772'366'400'000;  // 2026-03-01T12:00:00Z

// Each reading moves the clock beyond what the cache keeps. There are few enough readings that the
// data stays current.
constexpr int readings = 200;
class SteppingClock final : public Clock {
 public:
  [[nodiscard]] std::int64_t now_ms() const noexcept override { return time_ms_ += 301'000; }
  [[nodiscard]] std::int64_t monotonic_ns() const noexcept override { return 0; }

 private:
  mutable std::int64_t time_ms_ = govdata::now_ms;
};

// One DAO's proposals as the hub returns them: 2.7 kB of text each, spread over three years.
std::string proposals_of(int dao) {
  const std::string space = "space-" + std::to_string(dao) + ".eth";
  std::string text = "{\"data\":{\"proposals\":[";
  for (int at = 0; at < proposals_per_dao; ++at) {
    const std::int64_t start_s = now_ms / 1000 - std::int64_t{at} * 90'000;
    const nlohmann::json proposal = {
        {"id", "0x" + std::to_string(dao * 1'000'000 + at)},
        {"title", "Proposal " + std::to_string(at) + " on topic " + std::to_string(at % 97)},
        {"body", std::string(2700, static_cast<char>('a' + at % 26))},
        {"author", "0x5a"},
        {"type", "basic"},
        {"state", "closed"},
        {"choices", {"For", "Against", "Abstain"}},
        {"scores", {900.5 + at, 400, 12}},
        {"scores_total", 1312.5 + at},
        {"quorum", 100},
        {"votes", at % 300},
        {"created", start_s - 600},
        {"start", start_s},
        {"end", start_s + 432'000},
        {"discussion", "https://forum.example.org/t/topic/" + std::to_string(at)},
        {"space", {{"id", space}, {"name", "Space " + std::to_string(dao)}}}};
    text += (at > 0 ? "," : "") + proposal.dump();
  }
  return text + "]}}";
}

std::string topics() {
  nlohmann::json list = nlohmann::json::array();
  for (int at = 0; at < 5000; ++at) {
    list.push_back({{"id", at},
                    {"title", "Topic " + std::to_string(at)},
                    {"slug", "topic"},
                    {"posts_count", at % 40 + 1},
                    {"views", at},
                    {"category_id", at % 7},
                    {"created_at", iso_time(now_ms - at * ms_per_hour)},
                    {"last_posted_at", iso_time(now_ms - at * ms_per_hour / 2)}});
  }
  return nlohmann::json{{"topic_list", {{"topics", list}}}}.dump();
}

ImportSummary import(Database& store, Format format, const std::string& dao,
                     const std::string& text) {
  ImportOptions options;
  options.format = format;
  options.dao.dao_id = dao;
  options.base_url = "https://forum.example.org";
  options.now_ms = now_ms;
  Input input(open_memory(text));
  return run_import(store, input, options, nullptr);
}

class LargeStore {
 public:
  LargeStore() {
    std::string name = (std::filesystem::temp_directory_path() / "govdata-bench-XXXXXX").string();
    folder_ = mkdtemp(name.data());
    const auto store = open_for_import(path());
    for (int dao = 0; dao < daos; ++dao) {
      import(*store, Format::snapshot_graphql, "dao-" + std::to_string(dao), proposals_of(dao));
    }
    import(*store, Format::discourse, "dao-0", topics());
  }
  LargeStore(const LargeStore&) = delete;
  LargeStore& operator=(const LargeStore&) = delete;
  ~LargeStore() { std::filesystem::remove_all(folder_); }
  [[nodiscard]] std::string path() const { return folder_ + "/store.db"; }

 private:
  std::string folder_;
};

const LargeStore& large_store() {
  static const LargeStore store;
  return store;
}

// Ten events for each of 100,000 proposals, one every 946 s for three years, and ten votes each.
// They are written straight to the store, because importing as many would take minutes.
constexpr const char* huge_data = R"(
INSERT INTO dao(dao_id, name, first_seen_at, updated_at)
  SELECT 'dao-' || value, 'Dao ' || value, 0, 0 FROM generate(0, 99);
INSERT INTO source(dao_id, provider, scope, kind, as_of, last_success_at)
  SELECT 'dao-' || value, 'snapshot', 'space-' || value, 'proposal', :now, :now
    FROM generate(0, 99);
INSERT INTO proposal(proposal_pk, dao_id, source_id, provider, external_id, title, title_norm, url,
    url_norm, voting_system, lifecycle, outcome, execution, quorum, scores_total, votes_count,
    created_at, voting_starts_at, voting_ends_at, first_seen_at, last_seen_at, updated_at, body)
  SELECT value, 'dao-' || (value % 100), value % 100 + 1, 'snapshot', '0x' || value,
    'Proposal ' || value || ' on topic ' || (value % 97),
    'proposal ' || value || ' on topic ' || (value % 97),
    'https://snapshot.org/#/space-' || (value % 100) || '/proposal/0x' || value,
    'snapshot.org/#/space-' || (value % 100) || '/proposal/0x' || value,
    'basic', 'closed', 'passed', 'not_applicable', '100', '1312.5', value % 300,
    :now - value * 946000 - 432600000, :now - value * 946000 - 432000000,
    :now - value * 946000, 0, 0, :now - value * 946000, printf('%.2700c', 'x')
    FROM generate(1, 100000);
INSERT INTO proposal_choice(proposal_pk, choice_id, label, score)
  SELECT p.value, c.value, iif(c.value = 1, 'For', 'Against'), 900 / c.value
    FROM generate(1, 100000) p, generate(1, 2) c;
INSERT INTO vote(proposal_pk, voter, choice_json, choice_id, power, voted_at)
  SELECT p.value, printf('0x%040d', v.value * 7919), '1', '1', '12.5', :now - p.value * 946000
    FROM generate(1, 100000) p, generate(1, 10) v;
INSERT INTO governance_event SELECT 'evt_' || printf('%08x', (p.value * 10 + e.value) * 2654435761
      % 4294967296) || printf('%024x', p.value * 10 + e.value),
    'dao-' || (p.value % 100),
    CASE e.value WHEN 1 THEN 'proposal_created' WHEN 2 THEN 'proposal_voting_started'
      WHEN 3 THEN 'proposal_voting_ending_soon' WHEN 4 THEN 'proposal_voting_ended'
      ELSE 'proposal_updated' END,
    'proposal', p.value, 1, :now - p.value * 946000 - e.value * 7200000,
    :now - p.value * 946000 - e.value * 7200000, 'exact', 40 + (p.value * 7 + e.value) % 12 * 5,
    :now - p.value * 946000, '[{"code":"base","points":60}]',
    iif(e.value > 4, '{"changedFields":["body"],"from":null,"to":null,"revision":2}',
      '{"turnout":{"votes":12,"power":"1312.5"},"leadingChoice":null,"votingEndsAtMs":null}')
    FROM generate(1, 100000) p, generate(1, 10) e;
INSERT OR REPLACE INTO meta(key, value) VALUES ('derivation_rules', '1'), ('revision', '1');
)";

// generate(a, b) becomes a subquery with the numbers from a to b.
std::string expanded(std::string sql) {
  for (std::size_t at; (at = sql.find("generate(")) != sql.npos;) {
    const std::size_t comma = sql.find(',', at);
    const std::size_t close = sql.find(')', at);
    const std::string from = sql.substr(at + 9, comma - at - 9);
    const std::string to = sql.substr(comma + 1, close - comma - 1);
    sql.replace(at, close + 1 - at,
                "(WITH RECURSIVE n(value) AS (SELECT " + from +
                    " UNION ALL SELECT value + 1 FROM n WHERE value <" + to +
                    ") SELECT value FROM n)");
  }
  for (std::size_t at; (at = sql.find(":now")) != sql.npos;) {
    sql.replace(at, 4, std::to_string(now_ms));
  }
  return sql;
}

class HugeStore {
 public:
  HugeStore() {
    std::string name = (std::filesystem::temp_directory_path() / "govdata-bench-XXXXXX").string();
    folder_ = mkdtemp(name.data());
    const auto store = open_for_import(path());
    Transaction transaction(*store, Transaction::Kind::write);
    store->execute(expanded(huge_data).c_str());
    transaction.commit();
  }
  HugeStore(const HugeStore&) = delete;
  HugeStore& operator=(const HugeStore&) = delete;
  ~HugeStore() { std::filesystem::remove_all(folder_); }
  [[nodiscard]] std::string path() const { return folder_ + "/store.db"; }

 private:
  std::string folder_;
};

const HugeStore& huge_store() {
  static const HugeStore store;
  return store;
}

// CPU time of this thread: what a reading takes, whatever else the machine does.
double cpu_us() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_nsec) / 1e3;
}

void time_route(benchmark::State& state, const std::string& path, const ServiceCall& call) {
  SteppingClock clock;
  ServiceOptions options;
  options.database = path;
  Service service(options, clock);
  service.check();
  std::vector<double> microseconds;
  std::vector<double> cpu_microseconds;
  std::size_t bytes = 0;
  for (auto _ : state) {
    const double cpu_begin = cpu_us();
    const auto begin = std::chrono::steady_clock::now();
    const Answer answer = service.answer(call);
    const auto took = std::chrono::steady_clock::now() - begin;
    microseconds.push_back(std::chrono::duration<double, std::micro>(took).count());
    cpu_microseconds.push_back(cpu_us() - cpu_begin);
    bytes = answer.body.size();
    if (answer.status != 200) state.SkipWithError(answer.body.c_str());
  }
  if (microseconds.empty()) return;
  std::sort(microseconds.begin(), microseconds.end());
  std::sort(cpu_microseconds.begin(), cpu_microseconds.end());
  state.counters["p50_us"] = microseconds[microseconds.size() / 2];
  state.counters["p99_us"] = microseconds[microseconds.size() * 99 / 100];
  state.counters["p99_cpu_us"] = cpu_microseconds[microseconds.size() * 99 / 100];
  state.counters["bytes"] = static_cast<double>(bytes);
}

void BM_Route(benchmark::State& state, Operation operation, const char* query,
              std::vector<std::string_view> path_values) {
  time_route(state, large_store().path(), {operation, std::move(path_values), query, "r"});
}

// Puts a span of `days`, which ends where the clock begins, before `query`; 0 means no span.
void BM_Huge(benchmark::State& state, Operation operation, std::int64_t days, const char* query,
             std::vector<std::string_view> path_values) {
  const std::string span = "start_ms=" + std::to_string(now_ms - days * ms_per_day) +
                           "&end_ms=" + std::to_string(now_ms);
  const std::string whole = days > 0 ? span + query : query;
  time_route(state, huge_store().path(), {operation, std::move(path_values), whole, "r"});
}

BENCHMARK_CAPTURE(BM_Route, pricing, Operation::pricing, "", {})->Iterations(readings);
BENCHMARK_CAPTURE(BM_Route, daos, Operation::daos, "", {})->Iterations(readings);
BENCHMARK_CAPTURE(BM_Route, freshness, Operation::freshness, "", {})->Iterations(readings);
BENCHMARK_CAPTURE(BM_Route, lookup_id, Operation::lookup, "external_id=0x7000500", {})
    ->Iterations(readings);
BENCHMARK_CAPTURE(BM_Route, lookup_rare_title, Operation::lookup, "title=proposal+777+on", {})
    ->Iterations(readings);
BENCHMARK_CAPTURE(BM_Route, lookup_common_title, Operation::lookup, "title=topic", {})
    ->Iterations(readings);
BENCHMARK_CAPTURE(BM_Route, item, Operation::item, "", {"proposal", "0x7000500"})
    ->Iterations(readings);
BENCHMARK_CAPTURE(BM_Route, brief, Operation::brief, "", {"dao-7"})->Iterations(readings);
BENCHMARK_CAPTURE(BM_Route, activity, Operation::activity, "hours=168", {})->Iterations(readings);
BENCHMARK_CAPTURE(BM_Route, activity_one_dao, Operation::activity, "hours=168&dao_id=dao-7", {})
    ->Iterations(readings);

BENCHMARK_CAPTURE(BM_Huge, lookup_id, Operation::lookup, 0,
                  "external_id=0x70005", {})
    ->Iterations(readings);
BENCHMARK_CAPTURE(BM_Huge, lookup_url, Operation::lookup, 0,
                  "url=https://snapshot.org/%23/space-5/proposal/0x70005", {})
    ->Iterations(readings);
BENCHMARK_CAPTURE(BM_Huge, lookup_rare_title, Operation::lookup, 0,
                  "title=proposal+77777+on", {})
    ->Iterations(readings);
BENCHMARK_CAPTURE(BM_Huge, item, Operation::item, 0,
                  "", {"proposal", "0x70005"})
    ->Iterations(readings);
BENCHMARK_CAPTURE(BM_Huge, evidence, Operation::evidence, 0,
                  "", {"dao-5", "snapshot", "0x70005"})
    ->Iterations(readings);
BENCHMARK_CAPTURE(BM_Huge, activity, Operation::activity, 0,
                  "hours=168", {})
    ->Iterations(readings);
BENCHMARK_CAPTURE(BM_Huge, events_day, Operation::events, 1,
                  "", {})
    ->Iterations(readings);
BENCHMARK_CAPTURE(BM_Huge, events_month, Operation::events, 30,
                  "", {})
    ->Iterations(readings);
BENCHMARK_CAPTURE(BM_Huge, events_three_years, Operation::events, 1095,
                  "", {})
    ->Iterations(readings);
BENCHMARK_CAPTURE(BM_Huge, events_rare, Operation::events, 1095,
                  "&importance_min=95&event_types=proposal_voting_ended", {})
    ->Iterations(readings);
BENCHMARK_CAPTURE(BM_Huge, events_one_dao, Operation::events, 365,
                  "&dao_id=dao-7", {})
    ->Iterations(readings);
BENCHMARK_CAPTURE(BM_Huge, signals_day, Operation::signals, 1,
                  "", {})
    ->Iterations(readings);
BENCHMARK_CAPTURE(BM_Huge, signals_month, Operation::signals, 30,
                  "", {})
    ->Iterations(readings);
BENCHMARK_CAPTURE(BM_Huge, signals_year, Operation::signals, 365,
                  "", {})
    ->Iterations(readings);
BENCHMARK_CAPTURE(BM_Huge, signals_year_one_dao, Operation::signals, 365,
                  "&dao_id=dao-7", {})
    ->Iterations(readings);
BENCHMARK_CAPTURE(BM_Huge, signals_year_rare, Operation::signals, 365,
                  "&priority_min=70&signal_types=proposal_deadline_reminder", {})
    ->Iterations(readings);
BENCHMARK_CAPTURE(BM_Huge, signals_recent, Operation::signals, 365,
                  "&sort=recent", {})
    ->Iterations(readings);
BENCHMARK_CAPTURE(BM_Huge, signals_discovered, Operation::signals, 365,
                  "&time_basis=discovered_time", {})
    ->Iterations(readings);
BENCHMARK_CAPTURE(BM_Huge, signals_atlas_latest, Operation::signals, 365,
                  "&surface=atlas_latest", {})
    ->Iterations(readings);
BENCHMARK_CAPTURE(BM_Huge, signals_atlas_priority, Operation::signals, 365,
                  "&surface=atlas_priority", {})
    ->Iterations(readings);
BENCHMARK_CAPTURE(BM_Huge, signals_telegram, Operation::signals, 365,
                  "&surface=telegram_realtime", {})
    ->Iterations(readings);

void BM_ImportProposals(benchmark::State& state) {
  const std::string text = proposals_of(0);
  const bool again = state.range(0) == 1;
  const auto kept = open_for_import(":memory:");
  if (again) import(*kept, Format::snapshot_graphql, "dao", text);
  for (auto _ : state) {
    const auto fresh = again ? nullptr : open_for_import(":memory:");
    const ImportSummary summary =
        import(again ? *kept : *fresh, Format::snapshot_graphql, "dao", text);
    if (summary.rows_in != proposals_per_dao) state.SkipWithError(summary.error.c_str());
  }
  state.SetItemsProcessed(state.iterations() * proposals_per_dao);
  state.SetLabel(again ? "unchanged records" : "new records");
}
BENCHMARK(BM_ImportProposals)->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace turnpike::govdata

BENCHMARK_MAIN();
