// The results of applies when the database fails, with a table that fails as the test says.
#include <gmock/gmock.h>

#include <deque>
#include <thread>

#include "base/limits.h"
#include "records/fixture.h"
#include "runtime/on_both.h"

namespace turnpike::records {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// The table of one plugin. Each write() uses one line of the script; after the last, all succeed.
class ScriptedTable final : public Table {
 public:
  enum class Line : std::uint8_t { well, unavailable, lost_after, lost_before, fatal };

  Stored<std::unique_ptr<Writer>> open_writer() override {
    return std::unique_ptr<Writer>(std::make_unique<ScriptedWriter>(*this));
  }
  Stored<std::optional<StoreRecord>> get(std::string_view, std::string_view) override {
    reading.set();
    (void)read_gate.wait(runtime::Deadline::never());
    return failure(TableFailure::Kind::unavailable);
  }
  Stored<std::vector<StoreRecord>> scan(std::string_view, std::string_view, std::string_view,
                                        std::uint32_t) override {
    return failure(TableFailure::Kind::unavailable);
  }

  static TableFailure failure(TableFailure::Kind kind) { return {kind, "the script says so"}; }

  std::deque<Line> script;
  int outcome_failures = 0;  // failures before outcome() answers
  std::optional<std::int64_t> now_ms;
  runtime::Event writing;  // set when a write() begins
  runtime::Event gate;     // the write() waits for it
  runtime::Event reading;
  runtime::Event read_gate;
  // The members below are written by the writing Thread and read once the stores have stopped or
  // answered.
  std::vector<std::string> groups;  // the keys that each wrote, in order; "!" marks a failed one
  std::map<std::string, StoreRecord> records;

 private:
  class ScriptedWriter final : public Writer {
   public:
    explicit ScriptedWriter(ScriptedTable& table) : table_(table) {}

    Stored<Conflicts> write(std::span<const Apply> batch) override {
      table_.writing.set();
      (void)table_.gate.wait(runtime::Deadline::never());
      std::string keys;
      for (const Apply& apply : batch) {
        for (const StoreWrite& write : apply.writes) keys += write.key;
      }
      Line line = Line::well;
      if (!table_.script.empty()) {
        line = table_.script.front();
        table_.script.pop_front();
      }
      const bool is_written = line == Line::well || line == Line::lost_after;
      table_.groups.push_back(is_written ? keys : keys + "!");
      last_.reset();
      if (is_written) last_ = apply(batch);
      switch (line) {
        case Line::well:
          return *last_;
        case Line::unavailable:
          return failure(TableFailure::Kind::unavailable);
        case Line::fatal:
          return failure(TableFailure::Kind::fatal);
        case Line::lost_after:
        case Line::lost_before:
          break;
      }
      return failure(TableFailure::Kind::unknown);
    }

    Stored<std::optional<Conflicts>> outcome() override {
      if (table_.outcome_failures-- > 0) return failure(TableFailure::Kind::unavailable);
      return last_;
    }
    Stored<std::optional<std::int64_t>> now_ms() override { return table_.now_ms; }

   private:
    Conflicts apply(std::span<const Apply> batch) {
      Conflicts conflicts;
      for (std::size_t at = 0; at < batch.size(); ++at) {
        bool holds = true;
        for (const StoreCheck& check : batch[at].checks) {
          const auto found = table_.records.find(std::string(check.key));
          holds &= (found == table_.records.end() ? 0 : found->second.version) == check.version;
        }
        if (!holds) conflicts.push_back(at);
        for (const StoreWrite& write : batch[at].writes) {
          const std::string key(write.key);
          if (holds) table_.records[key] = {key, std::string(*write.value), batch[at].version};
        }
      }
      return conflicts;
    }

    ScriptedTable& table_;
    std::optional<Conflicts> last_;
  };
};

class DurableStoresTest : public testing::Test {
 protected:
  using Line = ScriptedTable::Line;
  void SetUp() override { run(); }
  void run() {
    running_.emplace(table_, clock_, random_);
    store_ = running_->stores.store_of("p");
  }
  void open() { table_.gate.set(); }
  StoreApplied put(std::string_view key, std::int64_t wait_ms = 30'000, const Checks& checks = {}) {
    TestCall call(wait_ms);
    return store_->apply(checks, Writes{{key, "v"}}, call);
  }
  // An apply whose caller leaves during the write. On a busy machine the write may not have begun
  // by the deadline, and then the apply is withdrawn; the deadline grows until one has begun.
  StoreOutcome leave_during_the_write(std::string_view key) {
    StoreOutcome outcome = StoreOutcome::unavailable;
    for (int wait_ms = 100; outcome == StoreOutcome::unavailable && wait_ms < 60'000;
         wait_ms *= 2) {
      outcome = put(key, wait_ms).outcome;
    }
    return outcome;
  }
  // Runs `function` on a fiber of one loop; it runs until it waits before the next one begins.
  void start(std::function<void()> function) { lines_.start(std::move(function)); }
  void start_put(std::string_view key, StoreOutcome expected, const Checks& checks = {}) {
    start([this, key, expected, checks] { EXPECT_EQ(put(key, 30'000, checks).outcome, expected); });
  }
  // Writes a group that holds the writing Thread until the gate opens.
  void hold_the_writer() {
    start_put("held", StoreOutcome::applied);
    (void)table_.writing.wait(runtime::Deadline::never());
  }
  std::string metrics() { return running_->metrics->text(); }

  runtime::Lines lines_{true, 1};  // ends after the Thread that wakes its fibers
  support::ManualClock clock_;
  support::SeededRandom random_{1};
  ScriptedTable table_;
  std::optional<Running> running_;
  std::unique_ptr<Store> store_;
};

TEST_F(DurableStoresTest, WhatCameDuringAWriteGoesTogetherInTheNext) {
  hold_the_writer();
  for (const char* key : {"a", "b", "c"}) start_put(key, StoreOutcome::applied);
  start([this] { open(); });
  lines_.join();
  EXPECT_THAT(table_.groups, ElementsAre("held", "abc"));
  EXPECT_THAT(metrics(), HasSubstr("turnpike_store_groups_total 2"));
  EXPECT_THAT(metrics(), HasSubstr("turnpike_store_applied_total 4"));
}

TEST_F(DurableStoresTest, NoKeyThatAGroupWritesIsNamedTwiceInIt) {
  hold_the_writer();
  start_put("a", StoreOutcome::applied);
  start_put("a", StoreOutcome::applied);
  start_put("b", StoreOutcome::conflict, {{"a", 0}});  // checks what the first one writes
  start_put("c", StoreOutcome::applied, {{"x", 0}});
  start_put("d", StoreOutcome::applied, {{"x", 0}});  // both only check x
  start_put("x", StoreOutcome::applied);              // this one writes it
  start_put("e", StoreOutcome::applied);
  start([this] { open(); });
  lines_.join();
  EXPECT_THAT(table_.groups, ElementsAre("held", "acde", "ax", "b"));
  EXPECT_THAT(metrics(), HasSubstr("turnpike_store_conflicts_total 1"));
}

TEST_F(DurableStoresTest, TheSameKeyOfTwoPluginsIsTwoKeys) {
  const auto other = running_->stores.store_of("q");
  hold_the_writer();
  start_put("a", StoreOutcome::applied);
  start([&] {
    TestCall call;
    EXPECT_EQ(other->apply({}, Writes{{"a", "v"}}, call).outcome, StoreOutcome::applied);
  });
  start([this] { open(); });
  lines_.join();
  EXPECT_THAT(table_.groups, ElementsAre("held", "aa"));
}

TEST_F(DurableStoresTest, AnOutageIsWaitedOut) {
  table_.script = {Line::unavailable, Line::unavailable};
  open();
  EXPECT_EQ(put("a").outcome, StoreOutcome::applied);
  EXPECT_THAT(table_.groups, ElementsAre("a!", "a!", "a"));
}

TEST_F(DurableStoresTest, WhoLeavesTheQueueTakesItsApplyAlong) {
  hold_the_writer();
  EXPECT_EQ(put("b", 1).outcome, StoreOutcome::unavailable);
  open();
  EXPECT_EQ(put("c").outcome, StoreOutcome::applied);
  lines_.join();
  EXPECT_THAT(table_.groups, ElementsAre("held", "c"));
}

TEST_F(DurableStoresTest, ADeadlineThatIsOverQueuesNothing) {
  EXPECT_EQ(put("a", -1).outcome, StoreOutcome::unavailable);
  open();
  EXPECT_EQ(put("b").outcome, StoreOutcome::applied);
  EXPECT_THAT(table_.groups, ElementsAre("b"));
}

TEST_F(DurableStoresTest, WhoLeavesDuringAWriteDoesNotKnow) {
  EXPECT_EQ(leave_during_the_write("a"), StoreOutcome::unknown);
  open();
  EXPECT_EQ(put("b").outcome, StoreOutcome::applied);
  EXPECT_EQ(table_.records.size(), 2u);
  EXPECT_THAT(metrics(), HasSubstr("turnpike_store_unknown_total 1"));
}

TEST_F(DurableStoresTest, ALostAnswerIsFoundOutWhereItWasWritten) {
  table_.script = {Line::lost_after};
  table_.outcome_failures = 2;
  open();
  const StoreApplied applied = put("a");
  EXPECT_EQ(applied.outcome, StoreOutcome::applied);
  EXPECT_THAT(table_.groups, ElementsAre("a"));
  EXPECT_EQ(table_.records["a"].version, applied.version);
}

TEST_F(DurableStoresTest, ALostAnswerTellsConflictsToo) {
  table_.script = {Line::well, Line::lost_after};
  open();
  EXPECT_EQ(put("a").outcome, StoreOutcome::applied);
  EXPECT_EQ(put("a", 30'000, {{"a", 0}}).outcome, StoreOutcome::conflict);
  EXPECT_THAT(table_.groups, ElementsAre("a", "a"));
}

TEST_F(DurableStoresTest, WhatWasLostIsWrittenAgain) {
  table_.script = {Line::lost_before, Line::unavailable, Line::lost_before};
  open();
  EXPECT_EQ(put("a").outcome, StoreOutcome::applied);
  EXPECT_THAT(table_.groups, ElementsAre("a!", "a!", "a!", "a"));
}

TEST_F(DurableStoresTest, WhatWasLostIsNotWrittenAfterItsCallerLeft) {
  table_.script = {Line::lost_before};
  EXPECT_EQ(leave_during_the_write("a"), StoreOutcome::unknown);
  open();
  EXPECT_EQ(put("b").outcome, StoreOutcome::applied);
  EXPECT_THAT(table_.groups, ElementsAre("a!", "b"));
}

TEST_F(DurableStoresTest, ABrokenDatabaseEndsTheProcess) {
  table_.script = {Line::fatal};
  start_put("a", StoreOutcome::unknown);
  (void)table_.writing.wait(runtime::Deadline::never());
  start_put("b", StoreOutcome::unavailable);
  start([this] { open(); });
  lines_.join();
  EXPECT_EQ(put("c").outcome, StoreOutcome::unavailable);
  running_->stores.stop();
  EXPECT_EQ(running_->fatal, "the script says so");
  EXPECT_THAT(table_.groups, ElementsAre("a!"));
}

TEST_F(DurableStoresTest, StoppingWritesWhatIsQueuedAndNothingAfterwards) {
  hold_the_writer();
  start_put("a", StoreOutcome::applied);
  start_put("a", StoreOutcome::applied);
  start([this] { open(); });
  runtime::Event queued;  // comes after the two on their loop
  start([&] { queued.set(); });
  (void)queued.wait(runtime::Deadline::never());
  running_->stores.stop();
  EXPECT_EQ(put("b").outcome, StoreOutcome::unavailable);
  lines_.join();
  EXPECT_THAT(table_.groups, ElementsAre("held", "a", "a"));
}

TEST_F(DurableStoresTest, StoppingDoesNotWaitForADatabaseThatIsAway) {
  table_.script.assign(1'000'000, Line::unavailable);
  start_put("a", StoreOutcome::unavailable);
  (void)table_.writing.wait(runtime::Deadline::never());
  open();
  running_->stores.stop();
  lines_.join();
  EXPECT_TRUE(table_.records.empty());
}

TEST_F(DurableStoresTest, ACancelledFiberStillLearnsWhatBecameOfItsApply) {
  runtime::Event ended;
  auto fiber = lines_.runtime().loops()[0]->spawn([&] {
    EXPECT_EQ(put("a").outcome, StoreOutcome::applied);
    EXPECT_TRUE(runtime::cancelled());
    ended.set();
  });
  (void)table_.writing.wait(runtime::Deadline::never());
  fiber.cancel();
  open();
  (void)ended.wait(runtime::Deadline::never());
  EXPECT_THAT(table_.groups, ElementsAre("a"));
}

TEST_F(DurableStoresTest, AReadEndsAtItsDeadlineOrTellsThatTheDatabaseIsAway) {
  TestCall brief(1);
  EXPECT_EQ(store_->get("a", brief).error().kind, FailureKind::timeout);
  table_.read_gate.set();
  TestCall call;
  EXPECT_EQ(store_->get("a", call).error().kind, FailureKind::unavailable);
  EXPECT_EQ(store_->scan("", "", 1, call).error().kind, FailureKind::unavailable);
}

TEST_F(DurableStoresTest, TheBytesThatWaitAreBounded) {
  hold_the_writer();
  const std::string value(base::limits::store_value_bytes_max - 1, 'v');
  const std::size_t fit = base::limits::store_waiting_bytes_max / (value.size() + 2);
  std::vector<std::string> keys;
  for (std::size_t at = 0; at < fit; ++at) keys.push_back(std::string(1, char('A' + at)));
  for (const std::string& key : keys) {
    start([this, &key, &value] {
      TestCall call;
      EXPECT_EQ(store_->apply({}, Writes{{key, value}}, call).outcome, StoreOutcome::applied);
    });
  }
  start([&] {
    TestCall call;
    EXPECT_EQ(store_->apply({}, Writes{{"z", value}}, call).outcome, StoreOutcome::unavailable);
    open();
  });
  lines_.join();
  EXPECT_EQ(put("z").outcome, StoreOutcome::applied);
  for (std::size_t at = 1; at + 1 < table_.groups.size(); ++at) {
    EXPECT_LE(table_.groups[at].size(), 4u);  // 8 MiB
  }
}

TEST_F(DurableStoresTest, TheKeysOfAGroupAreBounded) {
  constexpr std::size_t group_keys_max = 512;
  hold_the_writer();
  std::vector<std::string> keys;  // shown as one byte each in `groups`
  for (std::size_t at = 0; at < base::limits::store_keys_max; ++at) {
    keys.push_back(std::string(1, char('!' + at)));
  }
  std::vector<std::unique_ptr<Store>> stores;
  for (int at = 0; at < 20; ++at) {
    stores.push_back(running_->stores.store_of("q" + std::to_string(at)));
    start([&keys, store = stores.back().get()] {
      Writes writes;
      for (const std::string& key : keys) writes.push_back({key, "v"});
      TestCall call;
      EXPECT_EQ(store->apply({}, writes, call).outcome, StoreOutcome::applied);
    });
  }
  start([this] { open(); });
  lines_.join();
  ASSERT_EQ(table_.groups.size(), 4u);
  EXPECT_EQ(table_.groups[1].size(), group_keys_max);
  EXPECT_EQ(table_.groups[2].size(), group_keys_max);
  EXPECT_EQ(table_.groups[3].size(), 4 * keys.size());
}

TEST_F(DurableStoresTest, TheDatabasesClockGoesOnBetweenTwoLooks) {
  EXPECT_EQ(store_->now_ms(), clock_.now_ms());  // the database has no clock
  clock_.step_ms(5'000);
  EXPECT_EQ(store_->now_ms(), clock_.now_ms());
  open();
  store_.reset();
  running_.reset();
  table_.now_ms = 1'000'000;
  run();
  EXPECT_EQ(store_->now_ms(), 1'000'000);
  clock_.move_ms(250);
  clock_.step_ms(-90'000);
  EXPECT_EQ(store_->now_ms(), 1'000'250);
}

}  // namespace
}  // namespace turnpike::records
