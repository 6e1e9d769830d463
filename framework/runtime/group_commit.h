// GroupCommit: one Thread that commits the work of many callers in groups, each group one
// transaction. While a group commits, further jobs queue up; they are the next group. Every caller
// waits until its own job has an outcome.
//
// A user defines the job and its outcome (GroupJob), and how a group is written (GroupWriter):
//   struct Job : GroupJob<Outcome> { ... };
//   GroupCommit<Job, Outcome> commit(writer, {.thread_name = "writer", ...});
//   commit.start();
//   auto job = std::make_shared<Job>(...);
//   if (!commit.push(job)) ...                        // stopped, or too many jobs wait
//   switch (commit.wait(*job, deadline)) ...          // answered: job->take_answer()
//
// Failures and their consequences:
//   nothing was written     the group is retried while its callers wait
//   the commit is unknown   nothing else is written until the writer knows the outcome; callers
//                           leave at their deadline, without a definite outcome
//   the database is broken  the callers of the group are told `unknown`, all others `not_written`
// A caller that leaves while its job is queued withdraws the job, which is then definitely not
// written. A caller that leaves later was told that the outcome is unknown; if its group then turns
// out not written, its job is dropped, and the writer is notified (GroupWriter::left()).
//
// Owned by its user; the writer must outlive it. push() and wait() from fibers and plain Threads;
// start(), stop() and the destructor from a plain Thread.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <iterator>
#include <limits>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "base/thread_name.h"
#include "runtime/wait.h"

namespace turnpike::runtime {

template <class Job, class Answer>
class GroupCommit;

// One caller's piece of work, shared by the caller and the writing Thread, since either may finish
// first.
template <class Answer>
class GroupJob {
 public:
  explicit GroupJob(std::size_t bytes = 0) noexcept : bytes_(bytes) {}
  GroupJob(const GroupJob&) = delete;
  GroupJob& operator=(const GroupJob&) = delete;

  [[nodiscard]] std::size_t size() const noexcept { return bytes_; }
  // For the writer, with a job that it was given to write: ends the caller's wait when the batch of
  // wakes is flushed. False: the caller has left, and was told that the outcome is unknown.
  [[nodiscard]] bool answer(Answer answer, WakeBatch& wakes) noexcept {
    return answer_from(State::taken, std::move(answer), wakes);
  }
  // For the caller, once, after its wait ended `answered`.
  [[nodiscard]] Answer take_answer() noexcept { return answer_.take(); }

 private:
  template <class, class>
  friend class GroupCommit;
  // queued -> taken -> queued ... -> answered; the caller leaves by queued -> withdrawn or
  // taken -> left.
  enum class State : std::uint8_t { queued, taken, answered, withdrawn, left };
  bool move(State from, State to) noexcept { return state_.compare_exchange_strong(from, to); }
  bool answer_from(State from, Answer answer, WakeBatch& wakes) noexcept {
    if (!move(from, State::answered)) return false;
    answer_.set(std::move(answer), wakes);
    return true;
  }

  const std::size_t bytes_;
  std::atomic<State> state_{State::queued};
  OneShot<Answer> answer_;
};

// The outcome of writing a group.
enum class Committed : std::uint8_t {
  done,         // committed, and every job in it is answered
  again,        // nothing was written; retry the remaining jobs at once
  unavailable,  // nothing was written; retry the remaining jobs after a pause
  unknown,      // may or may not have committed: call outcome()
  broken,       // may or may not have committed, and the database can no longer be trusted
};

// The number of jobs worth waiting for, and how long, when fewer are queued.
struct Patience {
  std::size_t jobs = 1;
  std::int64_t ns = 0;
};

// The previous group: its jobs, the jobs that waited at its end, and its duration.
struct LastGroup {
  std::size_t jobs = 0;
  std::size_t waiting = 0;
  std::int64_t ns = 0;
};

// Writes groups. The writing Thread calls everything except leaving() and stays().
template <class Job>
class GroupWriter {
 public:
  using Jobs = std::vector<std::shared_ptr<Job>>;

  // REQUIRES: waiting > 0.
  virtual Patience patience(std::size_t waiting, const LastGroup& last) = 0;
  // Returns whether the job may join the group. REQUIRES: true when the group is empty.
  virtual bool joins(const Jobs& /*group*/, const Job& /*job*/) { return true; }
  // Writes one transaction. The group may be empty, so that the writer can write other work than
  // jobs. Removes the jobs that need no further attempt, after answering them.
  virtual Committed write(Jobs& group) = 0;
  // Called after write() returned `unknown`, until it returns something else: `done`, or `again`
  // when the transaction has not committed and never will. `unknown`: not known yet.
  virtual Committed outcome(Jobs& group) = 0;
  // True if the writer has other work than jobs left: a stop waits for that, too.
  virtual bool has_more() { return false; }
  // Called after every group, and at least once per `idle_ms`.
  virtual void between_groups() {}

  // The caller left while the job was queued: the job was not written and will not be.
  virtual void withdrawn(const Job& /*job*/) {}
  // The caller left, told that the outcome is unknown. Now it is known: definitely not written.
  virtual void left(const std::shared_ptr<Job>& /*job*/) {}
  // Called on the caller's fiber or Thread when its deadline has passed: the caller is about to
  // leave, told that the outcome is unknown, and the writing Thread cannot know that yet. stays()
  // follows when the job was answered or put back at that moment.
  virtual void leaving(const Job& /*job*/) {}
  virtual void stays(const Job& /*job*/) {}

 protected:
  ~GroupWriter() = default;
};

template <class Job, class Answer>
class GroupCommit {
 public:
  using Writer = GroupWriter<Job>;
  using Jobs = typename Writer::Jobs;

  struct Settings {
    const char* thread_name;
    Answer not_written;  // answer: the job is definitely not written
    Answer unknown;      // answer: the job may be written
    std::size_t queued_max = 0;
    std::size_t group_jobs_max = 0;
    std::size_t group_bytes_max = 8 * 1024 * 1024;  // a single job may exceed it
    std::int64_t idle_ms = 0;                       // interval of write() without jobs
    std::int64_t retry_ms = 50;                     // retry interval of an absent database
    std::int64_t stop_ms = 0;                       // maximum time that a stop waits
    std::function<std::int64_t()> now_ns = runtime::now_ns;
    std::function<void()> on_thread = [] {};  // runs first on the writing Thread
  };

  GroupCommit(Writer& writer, Settings settings)
      : writer_(writer), settings_(std::move(settings)), queue_(settings_.queued_max) {}
  // Without stop(), as in a crash: queued jobs are not written; the group that is being committed
  // may be.
  ~GroupCommit() {
    is_abandoned_ = true;
    queue_.close();
    if (thread_.joinable()) thread_.join();
  }
  GroupCommit(const GroupCommit&) = delete;
  GroupCommit& operator=(const GroupCommit&) = delete;

  void start() {
    thread_ = std::thread([this] { run(); });
  }
  // Refuses further jobs, writes queued ones, and answers those that cannot be written in time.
  // Returns when every job has an outcome.
  void stop() noexcept {
    stop_by_ns_ = settings_.now_ns() + settings_.stop_ms * ns_per_ms;
    is_stopping_ = true;
    queue_.close();
    if (thread_.joinable()) thread_.join();
  }
  // The work of the writing Thread until stop(); start() calls it. Tests call it on their own
  // Thread.
  void run();

  // False if the job was not queued: stopped, or too many jobs wait. Never waits.
  [[nodiscard]] bool push(std::shared_ptr<Job> job) { return queue_.push(std::move(job)); }

  enum class Waited : std::uint8_t {
    answered,   // take_answer() has the outcome
    withdrawn,  // definitely not written, now or later
    left,       // the outcome is unknown
  };
  // Call after push(). A cancelled fiber waits nevertheless.
  [[nodiscard]] Waited wait(Job& job, Deadline until);

  // For the writer, in write(), with a job that it has removed from its group: the job joins a
  // later group.
  void postpone(std::shared_ptr<Job> job) {
    if (put_back(job)) waiting_.push_back(std::move(job));
  }

 private:
  using State = typename GroupJob<Answer>::State;
  static constexpr std::int64_t ns_per_ms = 1'000'000;

  [[nodiscard]] bool is_late() const { return settings_.now_ns() > stop_by_ns_; }
  void pause() const {
    (void)sleep_until(Deadline{settings_.now_ns() + settings_.retry_ms * ns_per_ms});
  }
  void gather();
  void take(std::size_t wanted, std::int64_t for_ns);
  Jobs next_group();
  void commit(Jobs& group);
  [[nodiscard]] Committed prove(Jobs& group);
  [[nodiscard]] bool put_back(const std::shared_ptr<Job>& job);
  void put_back(Jobs& group);

  Writer& writer_;
  const Settings settings_;
  BatchQueue<std::shared_ptr<Job>> queue_;
  std::deque<std::shared_ptr<Job>> waiting_;  // writing Thread only, as the next three
  Jobs fresh_;
  LastGroup last_;
  bool is_broken_ = false;
  std::atomic<bool> is_abandoned_ = false;  // the destructor ran without stop()
  std::atomic<bool> is_stopping_ = false;
  std::atomic<std::int64_t> stop_by_ns_ = 0;
  std::thread thread_;
};

template <class Job, class Answer>
typename GroupCommit<Job, Answer>::Waited GroupCommit<Job, Answer>::wait(Job& job, Deadline until) {
  const CancelMask mask;
  while (job.answer_.wait(until) != Wake::ready) {
    if (job.move(State::queued, State::withdrawn)) return Waited::withdrawn;
    writer_.leaving(job);
    if (job.move(State::taken, State::left)) return Waited::left;
    writer_.stays(job);
    // The job was put back, taken again or answered between the two checks.
  }
  return Waited::answered;
}

template <class Job, class Answer>
void GroupCommit<Job, Answer>::run() {
  base::name_this_thread(settings_.thread_name);
  settings_.on_thread();
  while (!is_broken_) {
    gather();
    const bool is_finished = waiting_.empty() && !writer_.has_more();
    if (is_abandoned_ || (is_stopping_ && (is_finished || is_late()))) break;
    Jobs group = next_group();
    const std::size_t jobs = group.size();
    const std::int64_t start_ns = settings_.now_ns();
    commit(group);
    last_ = {jobs, waiting_.size() + queue_.size(), settings_.now_ns() - start_ns};
    if (is_broken_) break;
    writer_.between_groups();
    // The writer's remaining work cannot be written now, and the queue is empty: wait before the
    // retry.
    if (is_stopping_ && jobs == 0 && writer_.has_more()) pause();
  }
  queue_.close();
  take(0, 0);
  WakeBatch wakes;
  for (const auto& job : waiting_) {
    (void)job->answer_from(State::queued, settings_.not_written, wakes);
  }
  waiting_.clear();
}

template <class Job, class Answer>
void GroupCommit<Job, Answer>::gather() {
  take(waiting_.empty() ? 1 : 0, settings_.idle_ms * ns_per_ms);
  if (waiting_.empty()) return;
  const Patience patience = writer_.patience(waiting_.size(), last_);
  if (waiting_.size() < patience.jobs) take(patience.jobs - waiting_.size(), patience.ns);
}

template <class Job, class Answer>
void GroupCommit<Job, Answer>::take(std::size_t wanted, std::int64_t for_ns) {
  (void)queue_.take(fresh_, wanted, Deadline{settings_.now_ns() + for_ns});
  std::move(fresh_.begin(), fresh_.end(), std::back_inserter(waiting_));
  fresh_.clear();  // keeps its memory for the next exchange with the queue
}

// Takes the first waiting job, and those of the others that may join it.
template <class Job, class Answer>
typename GroupCommit<Job, Answer>::Jobs GroupCommit<Job, Answer>::next_group() {
  Jobs group;
  Jobs passed;
  std::size_t bytes = 0;
  while (!waiting_.empty() && group.size() < settings_.group_jobs_max) {
    std::shared_ptr<Job> job = std::move(waiting_.front());
    waiting_.pop_front();
    const bool fits = group.empty() || bytes + job->size() <= settings_.group_bytes_max;
    if (fits && writer_.joins(group, *job)) {
      bytes += job->size();
      group.push_back(std::move(job));
    } else {
      passed.push_back(std::move(job));
    }
  }
  waiting_.insert(waiting_.begin(), std::make_move_iterator(passed.begin()),
                  std::make_move_iterator(passed.end()));
  return group;
}

// Writes the group until it has an outcome.
template <class Job, class Answer>
void GroupCommit<Job, Answer>::commit(Jobs& group) {
  const auto tell = [&](const Answer& answer, bool is_written_perhaps) {
    WakeBatch wakes;
    for (const auto& job : group) {
      if (!job->answer(answer, wakes) && !is_written_perhaps) writer_.left(job);
    }
  };
  while (!is_abandoned_) {
    std::erase_if(group, [&](const auto& job) {
      if (job->move(State::queued, State::taken)) return false;
      writer_.withdrawn(*job);
      return true;
    });
    Committed end = writer_.write(group);
    if (end == Committed::unknown) end = prove(group);
    switch (end) {
      case Committed::done:
        return;
      case Committed::again:
        put_back(group);
        break;
      case Committed::unavailable:
        if (group.empty()) return;
        if (is_stopping_) return tell(settings_.not_written, false);
        put_back(group);
        pause();
        break;
      case Committed::broken:
        is_broken_ = true;
        queue_.close();
        return tell(settings_.unknown, true);
      case Committed::unknown:  // the process ends before the outcome is known
        return tell(settings_.unknown, true);
    }
  }
  std::move(group.begin(), group.end(), std::back_inserter(waiting_));
}

// Nothing may be written before the outcome of that transaction is known.
template <class Job, class Answer>
Committed GroupCommit<Job, Answer>::prove(Jobs& group) {
  while (!is_abandoned_) {
    const Committed end = writer_.outcome(group);
    if (end != Committed::unknown) return end;
    if (is_stopping_ && is_late()) break;
    pause();
  }
  return Committed::unknown;
}

// Queues the job again, unless its caller has left: after a caller was told that the outcome is
// unknown, its job is never written.
template <class Job, class Answer>
bool GroupCommit<Job, Answer>::put_back(const std::shared_ptr<Job>& job) {
  if (job->move(State::taken, State::queued)) return true;
  writer_.left(job);
  return false;
}

template <class Job, class Answer>
void GroupCommit<Job, Answer>::put_back(Jobs& group) {
  std::erase_if(group, [&](const auto& job) { return !put_back(job); });
}

}  // namespace turnpike::runtime
