#include "runtime/runtime.h"

#include <string>

#include "base/thread_name.h"
#include "runtime/fault.h"

namespace turnpike::runtime {

LoopSeat::LoopSeat(Loop& loop) noexcept : loop_(&loop) {
  loop.seats_.fetch_add(1, std::memory_order_relaxed);
}

void LoopSeat::reset() noexcept {
  Loop* const loop = std::exchange(loop_, nullptr);
  if (loop != nullptr) loop->seats_.fetch_sub(1, std::memory_order_relaxed);
}

Runtime::Runtime(RuntimeOptions options) {
  for (unsigned index = 0; index < options.loops; ++index) {
    loops_.push_back(std::make_unique<Loop>(index));
  }
  pool_ = std::make_unique<BlockingPool>(options.pool_threads, options.pool_queued_max);
  try {
    for (const auto& loop : loops_) {
      threads_.emplace_back([&loop] {
        base::name_this_thread(("loop-" + std::to_string(loop->index())).c_str());
        const FaultStack fault_stack;
        loop->run();
      });
    }
    watchdog_ =
        std::make_unique<Watchdog>(loops_, options.stall_threshold_ms, std::move(options.on_stall));
  } catch (...) {
    end_loops();
    throw;
  }
}

Runtime::~Runtime() {
  if (!threads_.empty()) stop(Deadline{0}, Deadline::never());
}

LoopSeat Runtime::take_seat() noexcept {
  // Starting at another loop each time distributes ties.
  const std::size_t start = next_seat_.fetch_add(1, std::memory_order_relaxed);
  Loop* best = loops_[start % loops_.size()].get();
  for (std::size_t step = 1; step < loops_.size(); ++step) {
    Loop* const loop = loops_[(start + step) % loops_.size()].get();
    if (loop->seats() < best->seats()) best = loop;
  }
  return LoopSeat(*best);
}

std::vector<FiberInfo> Runtime::list_fibers(Deadline deadline) {
  struct Collected {
    std::mutex mutex;
    std::vector<FiberInfo> fibers;
    Semaphore answers{0};
  };
  const auto collected = std::make_shared<Collected>();
  for (const auto& loop : loops_) {
    loop->post([collected, &loop] {
      {
        const std::lock_guard lock(collected->mutex);
        loop->list_fibers(collected->fibers);
      }
      collected->answers.release();
    });
  }
  for (std::size_t answers = 0; answers < loops_.size(); ++answers) {
    if (collected->answers.acquire(deadline) != Wake::ready) break;
  }
  const std::lock_guard lock(collected->mutex);
  return collected->fibers;
}

StopReport Runtime::stop(Deadline drain, Deadline give_up) {
  StopReport report;
  report.drained = wait_until_idle(true, drain);
  for (const auto& loop : loops_) {
    loop->post([&loop] { loop->cancel_fibers(); });
  }
  if (!wait_until_idle(false, give_up)) {
    for (const auto& loop : loops_) report.fibers_left += loop->fibers();
    pool_->stop(give_up);
    return report;
  }
  end_loops();
  report.pool_stopped = pool_->stop(give_up);
  return report;
}

bool Runtime::wait_until_idle(bool calls_only, Deadline deadline) {
  const auto idle_loops = std::make_shared<Semaphore>(0);
  for (const auto& loop : loops_) {
    loop->post([idle_loops, &loop, calls_only] {
      loop->notify_when_idle([idle_loops] { idle_loops->release(); }, calls_only);
    });
  }
  for (std::size_t idle = 0; idle < loops_.size(); ++idle) {
    if (idle_loops->acquire(deadline) != Wake::ready) return false;
  }
  return true;
}

void Runtime::end_loops() {
  for (const auto& loop : loops_) loop->exit();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

}  // namespace turnpike::runtime
