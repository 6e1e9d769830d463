// Most tests run the writing Thread's loop on their own Thread with a clock that they move. All its
// times are long past, so no wait of the loop takes time.
#include "runtime/group_commit.h"

#include <gmock/gmock.h>

#include <map>
#include <optional>
#include <set>
#include <string>

#include "runtime/on_both.h"

namespace turnpike::runtime {
namespace {

using testing::ElementsAre;

enum class Told : std::uint8_t { written, not_written, unknown };

struct Job : GroupJob<Told> {
  explicit Job(char given_name, std::size_t bytes = 1) : GroupJob(bytes), name(given_name) {}
  const char name;
};
using Commit = GroupCommit<Job, Told>;
using Jobs = Commit::Jobs;
using Waited = Commit::Waited;

// Each write() of a non-empty group uses one line of the script; after the last line all writes
// succeed. An empty group stops the loop and thereby ends the test.
class Script final : public GroupWriter<Job> {
 public:
  struct Line {
    Committed end = Committed::done;
    std::function<void(Jobs&)> meanwhile = [](Jobs&) {};
  };

  Patience patience(std::size_t waiting, const LastGroup& last) override {
    asked.push_back({waiting, last});
    return waits_for;
  }
  bool joins(const Jobs& group, const Job& job) override {
    return std::none_of(group.begin(), group.end(),
                        [&](const auto& other) { return other->name == job.name; });
  }
  Committed write(Jobs& group) override {
    if (group.empty()) return write_more();
    std::string names;
    for (const auto& job : group) names += job->name;
    Line line;
    if (!lines.empty()) {
      line = std::move(lines.front());
      lines.pop_front();
    }
    groups.push_back(names);
    line.meanwhile(group);
    if (line.end == Committed::done) answer(group);
    return line.end;
  }
  Committed outcome(Jobs& group) override {
    groups.push_back("?");
    const Committed end = outcomes.front();
    outcomes.pop_front();
    if (end == Committed::done) answer(group);
    return end;
  }
  bool has_more() override { return more > 0; }
  void between_groups() override { ++ended_groups; }
  void withdrawn(const Job& job) override { was_withdrawn += job.name; }
  void left(const std::shared_ptr<Job>& job) override { has_left += job->name; }
  void leaving(const Job& job) override {
    leaves += job.name;
    if (on_leaving) on_leaving();
  }
  void stays(const Job& job) override { stayed += job.name; }

  std::deque<Line> lines;
  std::deque<Committed> outcomes;
  int more = 0;                             // work besides jobs; each empty group writes one
  Committed end_of_more = Committed::done;  // the result of that, if not done
  Patience waits_for;
  std::function<void()> on_leaving;
  std::function<void()> stop;

  std::vector<std::string> groups;  // job names of each written group; "?": outcome()
  std::vector<std::pair<std::size_t, LastGroup>> asked;
  int ended_groups = 0;
  std::string was_withdrawn, has_left, leaves, stayed;
  std::string unheard;  // written after their callers had left

 private:
  Committed write_more() {
    if (more > 0 && end_of_more == Committed::done) --more;
    stop();
    return end_of_more;
  }
  void answer(Jobs& group) {
    WakeBatch wakes;
    for (const auto& job : group) {
      if (!job->answer(Told::written, wakes)) unheard += job->name;
    }
  }
};

class GroupCommitTest : public testing::Test {
 protected:
  static constexpr std::int64_t ms = 1'000'000;

  GroupCommitTest() {
    make({});
    script_.stop = [this] { commit_->stop(); };
  }
  struct Bounds {
    std::size_t queued = 100;
    std::size_t jobs = 10;
    std::size_t bytes = 10;
    bool real_clock = false;
  };
  void make(Bounds bounds) {
    Commit::Settings settings{.thread_name = "test",
                              .not_written = Told::not_written,
                              .unknown = Told::unknown,
                              .queued_max = bounds.queued,
                              .group_jobs_max = bounds.jobs,
                              .group_bytes_max = bounds.bytes,
                              .idle_ms = 100,
                              .retry_ms = bounds.real_clock ? 0 : 50,
                              .stop_ms = 1'000};
    if (!bounds.real_clock) settings.now_ns = [this] { return now_ns_; };
    commit_.emplace(script_, settings);
  }
  std::shared_ptr<Job> push(char name, std::size_t bytes = 1) {
    auto job = std::make_shared<Job>(name, bytes);
    EXPECT_TRUE(commit_->push(job));
    return job;
  }
  // The caller looks once without waiting.
  Waited look(const std::shared_ptr<Job>& job) { return commit_->wait(*job, Deadline{0}); }
  void expect_told(const std::shared_ptr<Job>& job, Told expected) {
    ASSERT_EQ(look(job), Waited::answered) << job->name;
    EXPECT_EQ(job->take_answer(), expected) << job->name;
  }

  std::int64_t now_ns_ = 1;
  Script script_;
  std::optional<Commit> commit_;
};

TEST_F(GroupCommitTest, WhatComesDuringAGroupIsTheNext) {
  std::vector<std::shared_ptr<Job>> jobs{push('a')};
  script_.lines = {{Committed::done, [&](Jobs&) {
                      jobs.push_back(push('b'));
                      jobs.push_back(push('c'));
                    }}};
  commit_->run();
  EXPECT_THAT(script_.groups, ElementsAre("a", "bc"));
  for (const auto& job : jobs) expect_told(job, Told::written);
  EXPECT_GE(script_.ended_groups, 2);
}

TEST_F(GroupCommitTest, JobsOfAGroupAreBounded) {
  make({.jobs = 2});
  for (const char name : {'a', 'b', 'c', 'd', 'e'}) push(name);
  commit_->run();
  EXPECT_THAT(script_.groups, ElementsAre("ab", "cd", "e"));
}

TEST_F(GroupCommitTest, BytesOfAGroupAreBoundedAndSmallerJobsGoFirst) {
  make({.bytes = 10});
  push('a', 4);
  push('b', 7);  // one byte too many
  push('c', 6);  // just fits
  push('d', 1);
  push('e', 3);
  push('f', 90);  // goes alone
  commit_->run();
  EXPECT_THAT(script_.groups, ElementsAre("ac", "bd", "e", "f"));
}

TEST_F(GroupCommitTest, JobsThatDoNotJoinWaitInTheirOrder) {
  for (const char name : {'a', 'a', 'b', 'a', 'b'}) push(name);
  commit_->run();
  EXPECT_THAT(script_.groups, ElementsAre("ab", "ab", "a"));
}

TEST_F(GroupCommitTest, TheQueueIsBounded) {
  make({.queued = 2});
  const auto a = push('a');
  const auto b = push('b');
  EXPECT_FALSE(commit_->push(std::make_shared<Job>('c')));
  commit_->run();
  EXPECT_THAT(script_.groups, ElementsAre("ab"));
}

TEST_F(GroupCommitTest, TheWriterLearnsOfTheGroupBefore) {
  make({.jobs = 2});
  for (const char name : {'a', 'b', 'c'}) push(name);
  script_.lines = {{Committed::done, [&](Jobs&) {
                      push('d');
                      now_ns_ += 5 * ms;
                    }}};
  commit_->run();
  EXPECT_THAT(script_.groups, ElementsAre("ab", "cd"));
  ASSERT_EQ(script_.asked.size(), 2u);
  EXPECT_EQ(script_.asked[0].first, 3u);
  EXPECT_EQ(script_.asked[1].first, 2u);
  const LastGroup& last = script_.asked[1].second;
  EXPECT_EQ(last.jobs, 2u);
  EXPECT_EQ(last.waiting, 2u);
  EXPECT_EQ(last.ns, 5 * ms);
}

// ---- callers that leave -------------------------------------------------------------------------

TEST_F(GroupCommitTest, WhoLeavesTheQueueWithdraws) {
  push('a');
  const auto b = push('b');
  EXPECT_EQ(look(b), Waited::withdrawn);
  commit_->run();
  EXPECT_THAT(script_.groups, ElementsAre("a"));
  EXPECT_EQ(script_.was_withdrawn, "b");
  EXPECT_EQ(script_.leaves + script_.has_left, "");
}

TEST_F(GroupCommitTest, WhoLeavesDuringTheWriteIsNotHeardOfAnOutcome) {
  const auto a = push('a');
  const auto b = push('b');
  script_.lines = {{Committed::done, [&](Jobs&) { EXPECT_EQ(look(a), Waited::left); }}};
  commit_->run();
  EXPECT_EQ(script_.leaves, "a");
  EXPECT_EQ(script_.unheard, "a");
  EXPECT_EQ(script_.has_left + script_.stayed, "");
  expect_told(b, Told::written);
}

TEST_F(GroupCommitTest, WhatIsNotWrittenIsDroppedWhenItsCallerHasLeft) {
  for (const Committed end : {Committed::again, Committed::unavailable, Committed::unknown}) {
    make({});
    script_.groups.clear();
    script_.has_left.clear();
    script_.outcomes = {Committed::again};
    const auto a = push('a');
    const auto b = push('b');
    script_.lines = {{end, [&](Jobs&) { EXPECT_EQ(look(a), Waited::left); }}};
    commit_->run();
    EXPECT_EQ(script_.groups.front(), "ab");
    EXPECT_EQ(script_.groups.back(), "b");
    EXPECT_EQ(script_.has_left, "a");
    EXPECT_EQ(script_.unheard, "");
    expect_told(b, Told::written);
  }
}

TEST_F(GroupCommitTest, AnOutcomeInTheMomentOfLeavingCounts) {
  const auto a = push('a');
  const auto b = push('b');
  script_.lines = {{Committed::again, [&](Jobs& group) {
                      group.clear();
                      script_.on_leaving = [&] {
                        WakeBatch wakes;
                        EXPECT_TRUE(a->answer(Told::written, wakes));
                      };
                      expect_told(a, Told::written);
                      script_.on_leaving = [&] { commit_->postpone(b); };
                      EXPECT_EQ(look(b), Waited::withdrawn);
                    }}};
  commit_->run();
  EXPECT_EQ(script_.leaves, "ab");
  EXPECT_EQ(script_.stayed, "ab");
  EXPECT_EQ(script_.was_withdrawn, "b");
}

TEST_F(GroupCommitTest, ACancelledFiberLearnsTheOutcomeNevertheless) {
  Lines lines(true, 1);
  Event ended;
  const auto a = push('a');
  auto fiber = lines.runtime().loops()[0]->spawn([&] {
    EXPECT_EQ(commit_->wait(*a, Deadline::never()), Waited::answered);
    EXPECT_TRUE(cancelled());
    ended.set();
  });
  fiber.cancel();
  commit_->run();
  (void)ended.wait(Deadline::never());
}

// ---- databases that fail ------------------------------------------------------------------------

TEST_F(GroupCommitTest, AnOutageIsWaitedOutWithTheSameGroup) {
  const auto a = push('a');
  script_.lines = {{Committed::unavailable, [&](Jobs&) { push('b'); }}, {Committed::unavailable}};
  commit_->run();
  EXPECT_THAT(script_.groups, ElementsAre("a", "a", "a", "b"));
  expect_told(a, Told::written);
}

TEST_F(GroupCommitTest, NothingIsWrittenBeforeAnUnknownOutcomeIsFoundOut) {
  const auto a = push('a');
  script_.lines = {{Committed::unknown, [&](Jobs&) { push('b'); }}};
  script_.outcomes = {Committed::unknown, Committed::unknown, Committed::done};
  commit_->run();
  EXPECT_THAT(script_.groups, ElementsAre("a", "?", "?", "?", "b"));
  expect_told(a, Told::written);
}

TEST_F(GroupCommitTest, WhatWasLostIsWrittenAgain) {
  const auto a = push('a');
  script_.lines = {{Committed::unknown}, {Committed::unknown}};
  script_.outcomes = {Committed::again, Committed::unknown, Committed::again};
  commit_->run();
  EXPECT_THAT(script_.groups, ElementsAre("a", "?", "a", "?", "?", "a"));
  expect_told(a, Told::written);
}

TEST_F(GroupCommitTest, ABrokenDatabaseIsNotWrittenAgain) {
  make({.jobs = 1});
  const auto a = push('a');
  const auto b = push('b');
  script_.lines = {{Committed::broken}};
  commit_->run();
  EXPECT_THAT(script_.groups, ElementsAre("a"));
  expect_told(a, Told::unknown);
  expect_told(b, Told::not_written);
  EXPECT_FALSE(commit_->push(std::make_shared<Job>('c')));
}

TEST_F(GroupCommitTest, TheWriterTakesJobsOutAndPostponesThem) {
  const auto a = push('a');
  const auto b = push('b');
  push('c');
  script_.lines = {{Committed::again, [&](Jobs& group) {
                      WakeBatch wakes;
                      EXPECT_TRUE(a->answer(Told::not_written, wakes));
                      commit_->postpone(b);
                      group.erase(group.begin(), group.begin() + 2);
                    }}};
  commit_->run();
  EXPECT_THAT(script_.groups, ElementsAre("abc", "c", "b"));
  expect_told(a, Told::not_written);
  expect_told(b, Told::written);
}

// ---- the end ------------------------------------------------------------------------------------

TEST_F(GroupCommitTest, StoppingWritesWhatIsQueuedAndRefusesTheRest) {
  const auto a = push('a');
  script_.lines = {{Committed::done, [&](Jobs&) {
                      push('b');
                      commit_->stop();
                      EXPECT_FALSE(commit_->push(std::make_shared<Job>('c')));
                    }}};
  commit_->run();
  EXPECT_THAT(script_.groups, ElementsAre("a", "b"));
}

TEST_F(GroupCommitTest, AStopWaitsAsLongAsItMayAndTellsTheRest) {
  for (const bool is_late : {false, true}) {
    make({.jobs = 1});
    script_.groups.clear();
    push('a');
    const auto b = push('b');
    script_.lines = {{Committed::done, [&](Jobs&) {
                        commit_->stop();
                        now_ns_ += 1'000 * ms + (is_late ? 1 : 0);
                      }}};
    commit_->run();
    EXPECT_EQ(script_.groups.back(), is_late ? "a" : "b");
    expect_told(b, is_late ? Told::not_written : Told::written);
  }
}

TEST_F(GroupCommitTest, AStopDoesNotWaitForADatabaseThatIsAway) {
  const auto a = push('a');
  const auto b = push('b');
  script_.lines = {{Committed::unavailable, [&](Jobs&) {
                      EXPECT_EQ(look(b), Waited::left);
                      commit_->stop();
                    }}};
  commit_->run();
  EXPECT_THAT(script_.groups, ElementsAre("ab"));
  expect_told(a, Told::not_written);
  EXPECT_EQ(script_.has_left, "b");
}

TEST_F(GroupCommitTest, WhatAStopCannotFindOutIsToldAsUnknown) {
  make({.jobs = 1});
  const auto a = push('a');
  const auto b = push('b');
  script_.outcomes = {Committed::unknown};
  script_.lines = {{Committed::unknown, [&](Jobs&) {
                      commit_->stop();
                      now_ns_ += 1'000 * ms + 1;
                    }}};
  commit_->run();
  EXPECT_THAT(script_.groups, ElementsAre("a", "?"));
  expect_told(a, Told::unknown);
  expect_told(b, Told::not_written);
  EXPECT_EQ(script_.has_left, "");
}

TEST_F(GroupCommitTest, AStopWaitsForWhatTheWriterHasBesidesJobs) {
  script_.more = 3;
  commit_->run();
  EXPECT_EQ(script_.more, 0);
}

TEST_F(GroupCommitTest, AStopDoesNotWaitForeverForWhatTheWriterHasBesidesJobs) {
  script_.more = 3;
  script_.end_of_more = Committed::unavailable;
  int stops = 0;
  script_.stop = [&] {
    if (++stops == 1) commit_->stop();
    if (stops == 5) now_ns_ += 1'000 * ms + 1;
  };
  commit_->run();
  EXPECT_EQ(stops, 5);
  EXPECT_EQ(script_.more, 3);
}

// ---- on Threads ---------------------------------------------------------------------------------

TEST_F(GroupCommitTest, AGroupWaitsForAsManyAsTheWriterSays) {
  make({.real_clock = true});
  script_.stop = [] {};
  script_.waits_for = {3, 3'600'000 * ms};
  commit_->start();
  const std::vector<std::shared_ptr<Job>> jobs{push('a'), push('b'), push('c')};
  for (const auto& job : jobs) {
    EXPECT_EQ(commit_->wait(*job, Deadline::never()), Waited::answered);
  }
  commit_->stop();
  EXPECT_THAT(script_.groups, ElementsAre("abc"));
}

TEST_F(GroupCommitTest, WithoutAStopWhatIsQueuedIsNotWritten) {
  make({.queued = SIZE_MAX, .real_clock = true});
  script_.stop = [] {};
  Event writing;
  Event gate;
  script_.lines = {{Committed::unavailable, [&](Jobs&) {
                      writing.set();
                      (void)gate.wait(Deadline::never());
                    }}};
  commit_->start();
  std::vector<std::shared_ptr<Job>> jobs{push('a')};
  (void)writing.wait(Deadline::never());
  Commit& commit = *commit_;
  std::thread crash([&] { commit_.reset(); });
  bool is_queued = true;
  while (is_queued) {  // until the destructor has begun, which waits for the group
    jobs.push_back(std::make_shared<Job>('b'));
    is_queued = commit.push(jobs.back());
    std::this_thread::yield();
  }
  jobs.pop_back();
  gate.set();
  crash.join();
  EXPECT_THAT(script_.groups, ElementsAre("a"));
  for (const auto& job : jobs) EXPECT_EQ(job->take_answer(), Told::not_written);
}

class GroupCommitStorm : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(OnFibersAndThreads, GroupCommitStorm, testing::Bool(),
                         [](const auto& it) { return it.param ? "Fibers" : "Threads"; });

struct NumberedJob : GroupJob<Told> {
  explicit NumberedJob(int given_number) : number(given_number) {}
  const int number;
};

using NumberedCommit = GroupCommit<NumberedJob, Told>;

// A database of numbers that fails at times.
class Numbers final : public GroupWriter<NumberedJob> {
 public:
  Patience patience(std::size_t, const LastGroup& last) override {
    return {last.jobs + last.waiting, 20'000};
  }
  Committed write(Jobs& group) override {
    if (group.empty()) return Committed::done;
    ++writes_;
    if (writes_ % 5 == 0) return Committed::unavailable;
    is_committed_ = writes_ % 7 != 0;
    if (is_committed_) {
      for (const auto& job : group) ++times_written[job->number];
    }
    if (writes_ % 7 < 2) return Committed::unknown;
    return answer(group);
  }
  Committed outcome(Jobs& group) override {
    if (++asks_ % 2 == 0) return Committed::unknown;
    return is_committed_ ? answer(group) : Committed::again;
  }
  void left(const std::shared_ptr<NumberedJob>& job) override { dropped.insert(job->number); }

  std::map<int, int> times_written;
  std::set<int> unheard;
  std::set<int> dropped;

 private:
  Committed answer(Jobs& group) {
    WakeBatch wakes;
    for (const auto& job : group) {
      if (!job->answer(Told::written, wakes)) unheard.insert(job->number);
    }
    return Committed::done;
  }
  int writes_ = 0;
  int asks_ = 0;
  bool is_committed_ = false;
};

TEST_P(GroupCommitStorm, EveryJobHasOneOutcomeAndItIsTrue) {
  constexpr int callers = 24;
  constexpr int jobs_each = 60;
  Numbers numbers;
  Lines lines(GetParam());  // ends after the Thread that wakes its fibers
  NumberedCommit commit(numbers, {.thread_name = "test",
                                  .not_written = Told::not_written,
                                  .unknown = Told::unknown,
                                  .queued_max = callers * jobs_each,
                                  .group_jobs_max = 8,
                                  .idle_ms = 100,
                                  .retry_ms = 0,
                                  .stop_ms = 60'000});
  commit.start();
  enum class End : std::uint8_t { written, not_written, left };
  std::vector<End> ends(callers * jobs_each, End::not_written);
  for (int caller = 0; caller < callers; ++caller) {
    lines.start([&, caller] {
      for (int at = 0; at < jobs_each; ++at) {
        const int number = caller * jobs_each + at;
        const auto job = std::make_shared<NumberedJob>(number);
        ASSERT_TRUE(commit.push(job));
        const Deadline until = at % 3 == 0 ? Deadline{now_ns() + number * 100} : Deadline::never();
        const auto waited = commit.wait(*job, until);
        End& end = ends[static_cast<std::size_t>(number)];
        if (waited == NumberedCommit::Waited::left) end = End::left;
        if (waited == NumberedCommit::Waited::answered) {
          EXPECT_EQ(job->take_answer(), Told::written);
          end = End::written;
        }
      }
    });
  }
  lines.join();
  commit.stop();
  for (int number = 0; number < callers * jobs_each; ++number) {
    const int times = numbers.times_written[number];
    const End end = ends[static_cast<std::size_t>(number)];
    if (end == End::left) {
      EXPECT_EQ(times, numbers.dropped.contains(number) ? 0 : 1) << number;
      EXPECT_NE(numbers.unheard.contains(number), numbers.dropped.contains(number)) << number;
    } else {
      EXPECT_EQ(times, end == End::written ? 1 : 0) << number;
    }
  }
}

}  // namespace
}  // namespace turnpike::runtime
