// BlockingPool: plain Threads for work that blocks or takes long (storage, files, name resolution,
// plugins that declare `blocking`, password hashes). The queue is bounded, and each user of the
// pool has a share, so a stuck user takes no more than its share. A full pool is an outcome, not an
// exception.
//
// Owned by Runtime. run(), call() and run_to_end() may be used from any fiber and any plain Thread
// and suspend the caller only; post() suspends no caller.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/deadline.h"
#include "runtime/wait.h"

namespace turnpike::runtime {

enum class PoolOutcome : std::uint8_t {
  done,
  refused,    // the pool, or the user's share of it, is full, or the pool is stopping
  deadline,   // not started in time (it never will be), or still running: abandoned
  cancelled,  // the same, because the calling fiber was cancelled
};

// One piece of work. The pool holds it until run() returned, also after the caller has left:
// everything that run() uses must belong to the work, never to the caller's stack.
class PoolWork {
 public:
  PoolWork() = default;
  PoolWork(const PoolWork&) = delete;
  PoolWork& operator=(const PoolWork&) = delete;
  virtual ~PoolWork() = default;
  virtual void run() noexcept = 0;
  // True if no caller waits for it any more. Any Thread.
  [[nodiscard]] bool abandoned() const noexcept {
    return is_abandoned_.load(std::memory_order_relaxed);
  }

 private:
  friend class BlockingPool;
  friend struct PoolCore;
  enum class Phase : std::uint8_t { queued, running, done, dropped };
  Event done_;
  std::atomic<bool> is_abandoned_{false};
  Phase phase_ = Phase::queued;  // guarded by the pool's mutex
};

// A share of the pool. A handle; copies refer to the same share. Any Thread.
class PoolUser {
 public:
  PoolUser() = default;
  struct Counts {
    std::uint32_t running = 0;
    std::uint32_t queued = 0;     // including posted work
    std::uint32_t abandoned = 0;  // running without a caller
  };
  [[nodiscard]] Counts counts() const;
  [[nodiscard]] const std::string& name() const noexcept;

 private:
  friend class BlockingPool;
  friend struct PoolCore;
  struct State;
  explicit PoolUser(std::shared_ptr<State> state) : state_(std::move(state)) {}
  std::shared_ptr<State> state_;
};

struct PoolCore;

// The answer of call(): it has a value exactly when the outcome is `done`.
template <class T>
struct PoolReply {
  PoolOutcome outcome = PoolOutcome::refused;
  std::optional<T> value;
};

class BlockingPool {
 public:
  BlockingPool(std::uint32_t threads, std::uint32_t queued_max);
  ~BlockingPool();  // waits for all started work
  BlockingPool(const BlockingPool&) = delete;
  BlockingPool& operator=(const BlockingPool&) = delete;

  // At most `threads_max` of its works run at a time and `queued_max` wait.
  [[nodiscard]] PoolUser add_user(std::string name, std::uint32_t threads_max,
                                  std::uint32_t queued_max);

  PoolOutcome run(const PoolUser& user, std::shared_ptr<PoolWork> work, Deadline deadline);

  // run() in two halves, for a caller with other work meanwhile, such as consuming the output of
  // the work: begin() does not wait (false: refused), end() waits as run() does. Each begin() that
  // returned true is followed by one end() of the same work, by the same caller.
  [[nodiscard]] bool begin(const PoolUser& user, std::shared_ptr<PoolWork> work);
  PoolOutcome end(const PoolUser& user, const std::shared_ptr<PoolWork>& work, Deadline deadline);

  // Takes work that must happen, such as the end of an admitted call. It is accepted even when the
  // pool or the user's share is full (the number of admitted calls bounds it), it starts before
  // other work of the user, and it is never dropped: stop() waits for it. The work itself must
  // report its end if needed. False once the pool has stopped: the caller must then run the work.
  [[nodiscard]] bool post(const PoolUser& user, std::shared_ptr<PoolWork> work);

  // run() for a function that owns what it uses and returns a value.
  template <class F>
  auto call(const PoolUser& user, F function, Deadline deadline)
      -> PoolReply<decltype(function())> {
    using T = decltype(function());
    struct Work final : PoolWork {
      explicit Work(F work) : function(std::move(work)) {}
      void run() noexcept override { value.emplace(function()); }
      F function;
      std::optional<T> value;
    };
    const auto work = std::make_shared<Work>(std::move(function));
    const PoolOutcome outcome = run(user, work, deadline);
    if (outcome != PoolOutcome::done) return {outcome, std::nullopt};
    return {outcome, std::move(work->value)};
  }

  // Runs short work of our own and waits until it returned, in any case, so it may use the caller's
  // stack. False when refused. `function` must not throw.
  template <class F>
  [[nodiscard]] bool run_to_end(const PoolUser& user, F&& function) {
    struct Work final : PoolWork {
      explicit Work(F& work) : function(work) {}
      void run() noexcept override { function(); }
      F& function;
    };
    const CancelMask mask;
    return run(user, std::make_shared<Work>(function), Deadline::never()) == PoolOutcome::done;
  }

  // Refuses new work, drops work that has not started (its callers get `refused`) and waits for the
  // rest and for posted work, destructors included. False when some of it has not ended at the
  // deadline.
  bool stop(Deadline deadline);

  [[nodiscard]] std::uint32_t threads() const noexcept;
  [[nodiscard]] std::uint32_t running() const;
  [[nodiscard]] std::uint32_t queued() const;

 private:
  std::unique_ptr<PoolCore> core_;
  std::vector<std::thread> threads_;
};

}  // namespace turnpike::runtime
