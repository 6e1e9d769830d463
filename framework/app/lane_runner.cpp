#include "app/lane_runner.h"

#include <algorithm>

#include "exchange/live_call.h"

namespace turnpike::app {
namespace {

using runtime::Deadline;

constexpr std::int64_t run_timeout_ms = 300'000;
constexpr std::uint32_t retry_ms = 5'000;         // after a failure
constexpr std::int64_t program_check_ms = 1'000;  // how soon a new generation's lane is run

}  // namespace

LaneRunner::LaneRunner(runtime::Runtime& runtime, const Generations& generations, base::Log& log,
                       std::span<const std::string> lanes)
    : generations_(generations), log_(log) {
  for (const std::string& lane : lanes) {
    Worker& worker = workers_.emplace_back();
    worker.lane = lane;
    worker.fiber = runtime.loops().front()->spawn([this, &worker] { work(worker); },
                                                  runtime::FiberKind::background);
  }
}

LaneRunner::~LaneRunner() {
  cancel();
  (void)has_ended(Deadline::never());
}

void LaneRunner::cancel() {
  for (Worker& worker : workers_) worker.fiber.cancel();
}

bool LaneRunner::has_ended(Deadline deadline) {
  return std::all_of(workers_.begin(), workers_.end(), [&](Worker& worker) {
    return worker.ended.wait(deadline) == runtime::Wake::ready;
  });
}

void LaneRunner::work(Worker& worker) {
  runtime::Fiber::current()->set_name("lane " + worker.lane);
  const void* seen = nullptr;
  Deadline due = Deadline::never();
  do {
    const auto program = generations_.published().current();
    const bool is_new = program != nullptr && program.get() != seen;
    if (!is_new && due.ns > Deadline::after_ms(0).ns) continue;
    seen = program.get();
    const auto next_ms =
        program == nullptr ? std::nullopt : run_once(*program->service, worker.lane);
    due = next_ms ? Deadline::after_ms(*next_ms) : Deadline::never();
  } while (!runtime::cancelled() &&
           runtime::sleep_until(due.earlier(Deadline::after_ms(program_check_ms))) ==
               runtime::Wake::deadline);
  worker.ended.set();
}

std::optional<std::uint32_t> LaneRunner::run_once(const exchange::Service& service,
                                                  const std::string& name) {
  for (const exchange::LaneRow& row : service.lanes().rows) {
    const auto& lane = service.lane(row);
    if (row.name != name || lane.bound == nullptr) continue;
    exchange::LiveCall call("", Deadline::after_ms(run_timeout_ms), nullptr);
    const auto next_ms = lane.bound->run(call);
    if (next_ms.ok()) return *next_ms == 0 ? std::nullopt : std::optional(*next_ms);
    log_.write(Severity::warning, "lane_work_failed",
               {{"lane", name}, {"reason", next_ms.error().message}});
    return retry_ms;
  }
  return std::nullopt;
}

}  // namespace turnpike::app
