// How long each route takes on a store of 30,000 proposals in 30 DAOs, without the cache, and how
// fast records are imported. p50 of a route is printed as a counter.
#include <benchmark/benchmark.h>
#include <stdlib.h>

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

// Every reading lies beyond what the cache keeps; few enough of them that the data stays current.
constexpr int readings = 200;
class SteppingClock final : public Clock {
 public:
  [[nodiscard]] std::int64_t now_ms() const noexcept override { return time_ms_ += 301'000; }
  [[nodiscard]] std::int64_t monotonic_ns() const noexcept override { return 0; }

 private:
  mutable std::int64_t time_ms_ = govdata::now_ms;
};

// One DAO's proposals as the hub answers them: 2.7 kB of text each, spread over three years.
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

void BM_Route(benchmark::State& state, Operation operation, const char* query,
              std::vector<std::string_view> path_values) {
  SteppingClock clock;
  ServiceOptions options;
  options.database = large_store().path();
  Service service(options, clock);
  service.check();
  std::vector<double> microseconds;
  std::size_t bytes = 0;
  for (auto _ : state) {
    const auto begin = std::chrono::steady_clock::now();
    const Answer answer = service.answer({operation, path_values, query, "r"});
    const auto took = std::chrono::steady_clock::now() - begin;
    microseconds.push_back(std::chrono::duration<double, std::micro>(took).count());
    bytes = answer.body.size();
    if (answer.status != 200) state.SkipWithError(answer.body.c_str());
  }
  if (microseconds.empty()) return;
  const auto middle = microseconds.begin() + static_cast<std::ptrdiff_t>(microseconds.size() / 2);
  std::nth_element(microseconds.begin(), middle, microseconds.end());
  state.counters["p50_us"] = *middle;
  state.counters["bytes"] = static_cast<double>(bytes);
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
