#include "app/plugins/plugin_runner.h"

#include <algorithm>

#include "exchange/live_call.h"

namespace turnpike::app {
namespace {

using runtime::Deadline;

constexpr std::int64_t run_timeout_ms = 300'000;
constexpr std::uint32_t retry_ms = 5'000;         // after a failure
constexpr std::int64_t program_check_ms = 1'000;  // how soon a new generation's objects are run

// Sleeps until `due`, or until the next check for a new generation; false: cancelled.
bool rest_until(Deadline due) {
  return runtime::sleep_until(due.earlier(Deadline::after_ms(program_check_ms))) ==
         runtime::Wake::deadline;
}

}  // namespace

PluginRunner::PluginRunner(runtime::Runtime& runtime, const Serving& serving, base::Log& log)
    : serving_(serving), log_(log) {
  supervisor_ =
      runtime.loops().front()->spawn([this] { supervise(); }, runtime::FiberKind::background);
}

PluginRunner::~PluginRunner() {
  cancel();
  (void)has_ended(Deadline::never());
}

void PluginRunner::cancel() { supervisor_.cancel(); }

bool PluginRunner::has_ended(Deadline deadline) {
  return ended_.wait(deadline) == runtime::Wake::ready;
}

void PluginRunner::supervise() {
  runtime::Fiber::current()->set_name("plugins' own work");
  const void* seen = nullptr;
  do {
    const auto program = serving_.current();
    if (program != nullptr && program.get() != seen) start_new(*program->service);
    seen = program.get();
  } while (rest_until(Deadline::never()));
  const runtime::CancelMask mask;
  for (Worker& worker : workers_) worker.fiber.cancel();
  for (Worker& worker : workers_) (void)worker.ended.wait(Deadline::never());
  ended_.set();
}

void PluginRunner::start_new(const exchange::Service& service) {
  for (const exchange::Offering& offering : service.offerings()) {
    const auto is_its_own = [&](const Worker& worker) {
      return worker.plugin == offering.plugin && worker.upstream_id == offering.upstream_id;
    };
    if (!offering.offers.has_own_work ||
        std::any_of(workers_.begin(), workers_.end(), is_its_own)) {
      continue;
    }
    Worker& worker = workers_.emplace_back();
    worker.plugin = offering.plugin;
    worker.upstream_id = offering.upstream_id;
    worker.fiber = runtime::Loop::current()->spawn([this, &worker] { work(worker); },
                                                   runtime::FiberKind::background);
  }
}

void PluginRunner::work(Worker& worker) {
  runtime::Fiber::current()->set_name("plugin " + worker.plugin + " " + worker.upstream_id);
  const void* seen = nullptr;
  Deadline due = Deadline::never();
  do {
    const auto program = serving_.current();
    const bool is_new = program != nullptr && program.get() != seen;
    if (!is_new && due.ns > Deadline::after_ms(0).ns) continue;
    seen = program.get();
    const auto next_ms = program == nullptr ? std::nullopt : run_once(*program->service, worker);
    due = next_ms ? Deadline::after_ms(*next_ms) : Deadline::never();
  } while (!runtime::cancelled() && rest_until(due));
  worker.ended.set();
}

std::optional<std::uint32_t> PluginRunner::run_once(const exchange::Service& service,
                                                    const Worker& worker) {
  for (const exchange::Offering& offering : service.offerings()) {
    if (offering.plugin != worker.plugin || offering.upstream_id != worker.upstream_id) continue;
    exchange::LiveCall call("", Deadline::after_ms(run_timeout_ms), nullptr);
    const auto next_ms = offering.object->run(call);
    if (next_ms.ok()) return *next_ms == 0 ? std::nullopt : std::optional(*next_ms);
    log_.write(Severity::warning, "plugin_work_failed",
               {{"plugin", worker.plugin},
                {"upstream", worker.upstream_id},
                {"reason", next_ms.error().message}});
    return retry_ms;
  }
  return std::nullopt;
}

}  // namespace turnpike::app
