// What recording a finished call costs: its metrics alone, and its metrics with its rendered log
// line. The baseline is one relaxed atomic addition.
#include <benchmark/benchmark.h>

#include <atomic>

#include "hosts/access_log.h"
#include "hosts/log_to_nowhere.h"

namespace turnpike::hosts {
namespace {

AccessRecord paid_call(AccessLog& access_log) {
  AccessRecord record;
  record.request_id = "019a0000-0000-7000-8000-000000000001";
  record.peer = "127.0.0.1:50000";
  record.method = "GET";
  record.path = "/v1/gateway/govdata/global/v1/daos";
  record.endpoint = &access_log.endpoint("gateway");
  record.is_call = true;
  record.account_id = "acct_0000000000000000000000";
  record.key_id = "key_0000000000000000000000";
  record.provider = "govdata";
  record.operation = "GET /v1/gateway/govdata/global/v1/daos";
  record.route = "route-00000000000000000000000000000000";
  record.lane = "credits";
  record.status = 200;
  record.credits_charged = 1;
  record.reply_bytes = 1'024;
  record.total_us = 900;
  record.upstream_us = 700;
  return record;
}

void atomic_addition(benchmark::State& state) {
  std::atomic<std::uint64_t> counter{0};
  for (auto _ : state) counter.fetch_add(1, std::memory_order_relaxed);
  benchmark::DoNotOptimize(counter.load());
}
BENCHMARK(atomic_addition);

void metrics_of_a_call(benchmark::State& state) {
  const auto log = base::make_silent_log();
  const auto metrics = base::make_metrics();
  const auto access_log = make_access_log(*log, *metrics);
  const AccessRecord record = paid_call(*access_log);
  for (auto _ : state) access_log->write(record);
}
BENCHMARK(metrics_of_a_call);

void metrics_and_line_of_a_call(benchmark::State& state) {
  LogToNowhere log;
  log.gather_here();
  const auto metrics = base::make_metrics();
  const auto access_log = make_access_log(log, *metrics);
  const AccessRecord record = paid_call(*access_log);
  for (auto _ : state) access_log->write(record);
}
BENCHMARK(metrics_and_line_of_a_call);

}  // namespace
}  // namespace turnpike::hosts

BENCHMARK_MAIN();
