#include "runtime/pool.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>

#include "base/thread_name.h"
#include "runtime/fault.h"

namespace turnpike::runtime {

// The core's mutex guards all fields of users and works below.
struct PoolUser::State {
  PoolCore& core;
  const std::string name;
  const std::uint32_t threads_max;
  const std::uint32_t queued_max;
  Counts counts;
  std::deque<std::shared_ptr<PoolWork>> queue;
  std::deque<std::shared_ptr<PoolWork>> posted;
  bool is_in_turn = false;

  [[nodiscard]] bool is_waiting() const noexcept { return !queue.empty() || !posted.empty(); }
};

struct PoolCore {
  using User = std::shared_ptr<PoolUser::State>;

  PoolCore(std::uint32_t pool_threads, std::uint32_t pool_queued_max)
      : threads(pool_threads), queued_max(pool_queued_max) {}

  bool enqueue(const User& user, std::shared_ptr<PoolWork> work);
  bool post(const User& user, std::shared_ptr<PoolWork> work);
  PoolOutcome leave(const User& user, PoolWork& work, Wake wake);
  void offer(const User& user);
  std::shared_ptr<PoolWork> take_from(PoolUser::State& user);
  void serve();

  const std::uint32_t threads;
  const std::uint32_t queued_max;
  std::mutex mutex;
  std::condition_variable has_work;
  std::condition_variable has_ended;
  std::deque<User> turns;  // users with work to start and a free share, each at most once
  std::vector<std::weak_ptr<PoolUser::State>> users;
  std::uint32_t running = 0;
  std::uint32_t held = 0;    // running, or ended but not yet released by its Thread
  std::uint32_t queued = 0;  // without posted work, which is bounded elsewhere
  std::uint32_t posted = 0;
  bool is_stopping = false;
};

bool PoolCore::enqueue(const User& user, std::shared_ptr<PoolWork> work) {
  const std::lock_guard lock(mutex);
  const PoolUser::Counts& counts = user->counts;
  if (is_stopping || running + queued >= threads + queued_max ||
      counts.running + counts.queued >= user->threads_max + user->queued_max) {
    return false;
  }
  user->queue.push_back(std::move(work));
  ++user->counts.queued;
  ++queued;
  offer(user);
  return true;
}

bool PoolCore::post(const User& user, std::shared_ptr<PoolWork> work) {
  const std::lock_guard lock(mutex);
  // Threads that still hold work look for more when they are done; idle Threads have ended.
  if (is_stopping && held == 0) return false;
  user->posted.push_back(std::move(work));
  ++user->counts.queued;
  ++posted;
  offer(user);
  return true;
}

void PoolCore::offer(const User& user) {
  if (user->is_in_turn || !user->is_waiting()) return;
  if (user->counts.running >= user->threads_max) return;
  user->is_in_turn = true;
  turns.push_back(user);
  has_work.notify_one();
}

// The caller stops waiting, whatever the state of the work.
PoolOutcome PoolCore::leave(const User& user, PoolWork& work, Wake wake) {
  const std::lock_guard lock(mutex);
  if (work.phase_ == PoolWork::Phase::done) return PoolOutcome::done;
  if (work.phase_ == PoolWork::Phase::dropped) return PoolOutcome::refused;
  work.is_abandoned_.store(true, std::memory_order_relaxed);
  if (work.phase_ == PoolWork::Phase::running) {
    ++user->counts.abandoned;
  } else {
    std::erase_if(user->queue, [&work](const auto& other) { return other.get() == &work; });
    --user->counts.queued;
    --queued;
  }
  return wake == Wake::cancelled ? PoolOutcome::cancelled : PoolOutcome::deadline;
}

std::shared_ptr<PoolWork> PoolCore::take_from(PoolUser::State& user) {
  const bool is_posted = !user.posted.empty();
  auto& works = is_posted ? user.posted : user.queue;
  std::shared_ptr<PoolWork> work = std::move(works.front());
  works.pop_front();
  --user.counts.queued;
  --(is_posted ? posted : queued);
  ++user.counts.running;
  ++running;
  ++held;
  work->phase_ = PoolWork::Phase::running;
  return work;
}

void PoolCore::serve() {
  std::unique_lock lock(mutex);
  while (true) {
    has_work.wait(lock, [this] { return is_stopping || !turns.empty(); });
    if (turns.empty()) return;
    const User user = std::move(turns.front());
    turns.pop_front();
    user->is_in_turn = false;
    if (!user->is_waiting()) continue;  // its callers left meanwhile
    std::shared_ptr<PoolWork> work = take_from(*user);
    offer(user);
    lock.unlock();
    {
      const WorkOf whose(user->name.c_str());
      work->run();
    }
    lock.lock();
    work->phase_ = PoolWork::Phase::done;
    if (work->abandoned()) --user->counts.abandoned;
    --user->counts.running;
    --running;
    offer(user);
    lock.unlock();
    work->done_.set();
    work.reset();  // objects that it owns may be destroyed here: stop() waits for that, too
    lock.lock();
    --held;
    if (is_stopping) has_ended.notify_all();
  }
}

PoolUser::Counts PoolUser::counts() const {
  const std::lock_guard lock(state_->core.mutex);
  return state_->counts;
}

const std::string& PoolUser::name() const noexcept { return state_->name; }

BlockingPool::BlockingPool(std::uint32_t threads, std::uint32_t queued_max)
    : core_(std::make_unique<PoolCore>(threads, queued_max)) {
  threads_.reserve(threads);
  try {
    while (threads_.size() < threads)
      threads_.emplace_back([this] {
        base::name_this_thread("pool");
        const FaultStack fault_stack;
        core_->serve();
      });
  } catch (...) {
    stop(Deadline::never());
    for (std::thread& thread : threads_) thread.join();
    throw;
  }
}

BlockingPool::~BlockingPool() {
  stop(Deadline::never());
  for (std::thread& thread : threads_) thread.join();
}

PoolUser BlockingPool::add_user(std::string name, std::uint32_t threads_max,
                                std::uint32_t queued_max) {
  auto state = std::make_shared<PoolUser::State>(
      PoolUser::State{*core_, std::move(name), threads_max, queued_max, {}, {}, {}, false});
  const std::lock_guard lock(core_->mutex);
  std::erase_if(core_->users, [](const auto& user) { return user.expired(); });
  core_->users.push_back(state);
  return PoolUser(std::move(state));
}

PoolOutcome BlockingPool::run(const PoolUser& user, std::shared_ptr<PoolWork> work,
                              Deadline deadline) {
  return begin(user, work) ? end(user, work, deadline) : PoolOutcome::refused;
}

bool BlockingPool::begin(const PoolUser& user, std::shared_ptr<PoolWork> work) {
  return core_->enqueue(user.state_, std::move(work));
}

bool BlockingPool::post(const PoolUser& user, std::shared_ptr<PoolWork> work) {
  return core_->post(user.state_, std::move(work));
}

PoolOutcome BlockingPool::end(const PoolUser& user, const std::shared_ptr<PoolWork>& work,
                              Deadline deadline) {
  const Wake wake = work->done_.wait(deadline);
  return core_->leave(user.state_, *work, wake);
}

bool BlockingPool::stop(Deadline deadline) {
  std::vector<std::shared_ptr<PoolWork>> dropped;
  std::unique_lock lock(core_->mutex);
  core_->is_stopping = true;
  for (const auto& weak_user : core_->users) {
    const auto user = weak_user.lock();
    if (user == nullptr) continue;
    for (auto& work : user->queue) {
      work->phase_ = PoolWork::Phase::dropped;
      dropped.push_back(std::move(work));
    }
    user->queue.clear();
    user->counts.queued = static_cast<std::uint32_t>(user->posted.size());
  }
  core_->queued = 0;
  core_->has_work.notify_all();
  lock.unlock();
  for (const auto& work : dropped) work->done_.set();
  lock.lock();
  while (core_->held > 0 || core_->posted > 0) {
    if (deadline.ns == Deadline::never().ns) {
      core_->has_ended.wait(lock);
      continue;
    }
    const std::int64_t left_ns = deadline.ns - now_ns();
    if (left_ns <= 0) return false;
    core_->has_ended.wait_for(lock, std::chrono::nanoseconds(left_ns));
  }
  return true;
}

std::uint32_t BlockingPool::threads() const noexcept { return core_->threads; }

std::uint32_t BlockingPool::running() const {
  const std::lock_guard lock(core_->mutex);
  return core_->running;
}

std::uint32_t BlockingPool::queued() const {
  const std::lock_guard lock(core_->mutex);
  return core_->queued;
}

}  // namespace turnpike::runtime
