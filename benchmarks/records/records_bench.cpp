// What a paid call costs the store of its lane on both databases: three applies one after the
// other, each durable before the next (claim, keep the reply, note the settlement), by concurrent
// callers that are fibers of two loops, as in the gateway. For comparison, how fast the bare disk
// makes small appends durable one at a time, before and after: `per_fdatasync` is the number of
// applies answered in the mean time of one such append.
#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "base/sources.h"
#include "records/durable_stores.h"
#include "runtime/runtime.h"
#include "support/patient_call.h"
#include "support/stores.h"
#include "text/encoding.h"

namespace turnpike::records {
namespace {

// Makes 300 small appends durable, one at a time, and adds the time of each to `took_us`.
void append_durably(std::vector<double>& took_us) {
  const support::TemporaryDirectory directory;
  const int file = ::open((directory.path() + "/bare").c_str(), O_CREAT | O_WRONLY, 0600);
  const std::string page(4096, 'x');
  for (int at = 0; at < 300; ++at) {
    const auto start = std::chrono::steady_clock::now();
    if (::write(file, page.data(), page.size()) < 0 || ::fdatasync(file) != 0) std::abort();
    took_us.push_back(
        std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start)
            .count());
  }
  ::close(file);
}

class Bench {
 public:
  explicit Bench(storage::Engine engine) : database_(engine, 4), node_(database_.open()) {
    if (!stores_.start().ok()) std::abort();
  }
  ~Bench() { stores_.stop(); }

  double groups() const {
    const std::string text = metrics_->text();
    const std::string_view name = "\nturnpike_store_groups_total ";
    return std::stod(text.substr(text.find(name) + name.size()));
  }

  // Makes the three applies of one payment. False if the last was not applied.
  bool pay(Random& random) {
    std::array<std::uint8_t, 32> digest{};
    random.fill(digest);
    const std::string key = "payment/" + text::hex(digest);
    const std::string index = "open/" + text::hex(digest);
    support::PatientCall call(30'000);
    const StoreCheck absent[] = {{key, 0}};
    const StoreWrite claim[] = {{key, claim_}, {index, ""}};
    const StoreApplied claimed = store_->apply(absent, claim, call);
    const StoreCheck is_claimed[] = {{key, claimed.version}};
    const StoreWrite settling[] = {{key, reply_}};
    const StoreApplied settles = store_->apply(is_claimed, settling, call);
    const StoreCheck is_settling[] = {{key, settles.version}};
    const StoreWrite settled[] = {{key, reply_}, {index, {}}};
    return store_->apply(is_settling, settled, call).outcome == StoreOutcome::applied;
  }

 private:
  const std::string claim_ = std::string(400, 'c');
  const std::string reply_ = std::string(1'400, 'r');
  support::TestStore database_;
  std::unique_ptr<storage::Node> node_;
  std::unique_ptr<base::Log> log_ = base::make_silent_log();
  std::unique_ptr<base::Metrics> metrics_ = base::make_metrics();
  base::SystemClock clock_;
  base::SystemRandom random_;
  runtime::BlockingPool pool_{2, 64};
  DurableStores stores_{node_->records(), {clock_, random_, *log_, *metrics_, pool_, nullptr}};
  std::unique_ptr<Store> store_ = stores_.store_of("bench");
};

void pay(benchmark::State& state) {
  const auto engine = static_cast<storage::Engine>(state.range(0));
  const int callers = static_cast<int>(state.range(1));
  runtime::Runtime runtime({.loops = 2});
  const auto& loops = runtime.loops();
  runtime::Semaphore ended{0};
  Bench bench(engine);
  std::vector<double> bare_us;
  append_durably(bare_us);
  const int payments_each = callers == 1 ? 1'000 : 6'400 / callers;
  std::int64_t payments = 0;
  double seconds = 0;
  for (auto _ : state) {
    std::atomic<int> refused = 0;
    const auto start = std::chrono::steady_clock::now();
    for (int caller = 0; caller < callers; ++caller) {
      loops[static_cast<std::size_t>(caller) % loops.size()]->spawn([&] {
        base::SystemRandom random;
        for (int at = 0; at < payments_each; ++at) refused += bench.pay(random) ? 0 : 1;
        ended.release();
      });
    }
    for (int caller = 0; caller < callers; ++caller) {
      (void)ended.acquire(runtime::Deadline::never());
    }
    seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (refused != 0) state.SkipWithError("an apply was refused");
    payments += static_cast<std::int64_t>(callers) * payments_each;
  }
  append_durably(bare_us);
  const auto applies = 3 * static_cast<double>(payments);
  const auto count = static_cast<double>(bare_us.size());
  const double mean_us = std::accumulate(bare_us.begin(), bare_us.end(), 0.0) / count;
  std::nth_element(bare_us.begin(), bare_us.begin() + 300, bare_us.end());
  state.SetItemsProcessed(payments);
  state.counters["fdatasync_p50_us"] = bare_us[300];
  state.counters["fdatasync_mean_us"] = mean_us;
  state.counters["per_fdatasync"] = applies / seconds * mean_us / 1e6;
  state.counters["group"] = applies / bench.groups();
  state.counters["group_us"] = seconds * 1e6 / bench.groups();
  state.SetLabel(support::name_of(engine) + ", " + std::to_string(callers) + " callers");
}
BENCHMARK(pay)
    ->ArgsProduct({{static_cast<int>(storage::Engine::sqlite),
                    static_cast<int>(storage::Engine::postgres)},
                   {1, 32, 256}})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace turnpike::records

BENCHMARK_MAIN();
