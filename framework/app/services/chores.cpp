#include "app/services/chores.h"

#include <sys/resource.h>

#include <chrono>

#include "base/thread_name.h"

namespace turnpike::app {
namespace {

using Steady = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds round_pause{1'000};
// Every this many rounds accounts are resumed, and usage is indexed even if it does not fill a
// batch. A full batch is indexed at once; many small batches cost more than few large ones.
constexpr int rounds_between_sweeps = 5;
constexpr int rounds_between_deletions = 600;
// With a backlog this work takes a quarter of the time of one core, so that calls do not notice it.
constexpr int pause_for_work = 3;
constexpr std::int64_t day_ms = 24 * 3'600'000ll;
constexpr int low_priority = 10;
constexpr std::int64_t line_interval_ns = 60'000'000'000;

}  // namespace

Chores::Chores(ledger::UsageStore& usage, identity::Accounts accounts,
               identity::SessionStore& sessions, oauth::GrantStore& grants,
               AuditLog audit, base::Log& log)
    : usage_(usage),
      accounts_(accounts),
      sessions_(sessions),
      grants_(grants),
      audit_(audit),
      log_(log),
      indexing_(line_interval_ns, 0),
      resuming_(line_interval_ns, 0),
      sweeping_(line_interval_ns, 0),
      ending_(line_interval_ns, 0),
      forgetting_(line_interval_ns, 0),
      thread_([this] { run(); }) {}

Chores::~Chores() {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  stop_wanted_.notify_all();
  thread_.join();
}

template <class Result>
bool Chores::report(base::Outage& outage, std::string_view chore, const Result& result) {
  const std::int64_t now_ns = Steady::now().time_since_epoch() / std::chrono::nanoseconds(1);
  if (result.ok()) {
    if (const auto failures = outage.worked(now_ns)) {
      log_.write(Severity::info, "chores_work_again", {{"chore", chore}, {"failures", failures}});
    }
  } else if (const auto failures = outage.failed(now_ns)) {
    log_.write(Severity::warning, "chores_failing",
               {{"chore", chore}, {"reason", result.error().message}, {"failures", failures}});
  }
  return result.ok();
}

void Chores::run() {
  base::name_this_thread("chores");
  setpriority(PRIO_PROCESS, 0, low_priority);  // on Linux this affects only the calling thread
  int rounds = 0;
  std::unique_lock lock(mutex_);
  Steady::duration pause = round_pause;
  while (!stop_wanted_.wait_for(lock, pause, [this] { return is_stopping_; })) {
    lock.unlock();
    const Steady::time_point began = Steady::now();
    const bool sweeps = ++rounds % rounds_between_sweeps == 0;
    const auto more = usage_.catch_up(sweeps ? ledger::Step::any : ledger::Step::full);
    const bool has_more = report(indexing_, "index usage", more) && *more;
    pause = has_more ? (Steady::now() - began) * pause_for_work : round_pause;
    if (sweeps) report(resuming_, "set up accounts", accounts_.resume());
    if (rounds % rounds_between_deletions == 0) {
      report(sweeping_, "delete ended sessions", sessions_.sweep());
      report(ending_, "delete ended grants", grants_.sweep());
      if (audit_.kept_days > 0) {
        report(forgetting_, "delete old audit events",
               audit_.store.sweep(audit_.kept_days * day_ms));
      }
    }
    lock.lock();
  }
}

}  // namespace turnpike::app
