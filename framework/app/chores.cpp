#include "app/chores.h"

#include <sys/resource.h>

#include <chrono>

#include "base/thread_name.h"

namespace turnpike::app {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds round_pause{1'000};
// Each so many rounds accounts are resumed, and usage is indexed however little it is: what fills a
// whole step need not wait, and many small ones cost more than few large ones.
constexpr int rounds_between_sweeps = 5;
// Far behind, it works for a quarter of the time of one core, so calls do not feel it.
constexpr int pause_for_work = 3;
constexpr int low_priority = 10;

}  // namespace

Chores::Chores(ledger::UsageStore& usage, identity::Accounts accounts, base::Log& log)
    : usage_(usage), accounts_(accounts), log_(log), thread_([this] { run(); }) {}

Chores::~Chores() {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  stop_wanted_.notify_all();
  thread_.join();
}

void Chores::run() {
  base::name_this_thread("chores");
  setpriority(PRIO_PROCESS, 0, low_priority);  // on Linux: of the calling thread alone
  bool is_failing = false;
  int rounds = 0;
  std::unique_lock lock(mutex_);
  Clock::duration pause = round_pause;
  while (!stop_wanted_.wait_for(lock, pause, [this] { return is_stopping_; })) {
    lock.unlock();
    const Clock::time_point began = Clock::now();
    const bool sweeps = ++rounds % rounds_between_sweeps == 0;
    const auto more = usage_.catch_up(sweeps ? ledger::Step::any : ledger::Step::full);
    pause = more.ok() && *more ? (Clock::now() - began) * pause_for_work : round_pause;
    bool failed = !more.ok();
    if (sweeps) failed = !accounts_.resume().ok() || failed;
    if (failed && !is_failing) log_.write(Severity::warning, "chores_failing");
    is_failing = failed;
    lock.lock();
  }
}

}  // namespace turnpike::app
