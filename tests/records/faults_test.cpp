// Sessions that end, lost answers and server restarts on PostgreSQL, and killed processes on both
// databases. An apply is done exactly once, and its outcome becomes known.
#include <atomic>
#include <optional>
#include <thread>

#include "records/fixture.h"
#include "storage/engine/transaction.h"
#include "support/held_answers.h"
#include "support/victim.h"

namespace turnpike::records {
namespace {

using storage::Connection;

class PostgresFaults : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = support::missing(storage::Engine::postgres); !why.empty()) {
      GTEST_SKIP() << why;
    }
    on_.emplace(storage::Engine::postgres);
    store_ = on_->gateway.stores.store_of("p");
    outside_ = connect();
  }
  std::unique_ptr<Connection> connect() {
    return storage::Database(on_->database.settings()).connect();
  }
  // Ends all sessions except this one.
  void end_sessions() {
    (void)outside_->query_once(
        "SELECT COUNT(pg_terminate_backend(pid))::text FROM pg_stat_activity"
        " WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()",
        "t");
  }
  StoreApplied apply(const Checks& checks, const Writes& writes, std::int64_t wait_ms = 120'000) {
    TestCall call(wait_ms);
    return store_->apply(checks, writes, call);
  }
  std::string value(std::string_view key) {
    TestCall call;
    const auto record = store_->get(key, call);
    EXPECT_TRUE(record.ok());
    return record.ok() && *record ? (*record)->value : "(none)";
  }

  // Many callers at once; `disturb` runs after every 20th begun apply. Each caller increments its
  // own number and leaves a trace each time: an apply done twice would conflict, a lost one would
  // be missing.
  void raise_numbers(const std::function<void()>& disturb) {
    constexpr int callers = 6;
    constexpr int raises = 40;
    constexpr int disturbed_each = 20;
    std::atomic<int> begun = 0;
    runtime::Semaphore due{0};
    std::vector<std::thread> threads;
    for (int caller = 0; caller < callers; ++caller) {
      threads.emplace_back([&, caller] {
        const std::string key = "number/" + std::to_string(caller);
        std::uint64_t version = 0;
        for (int number = 1; number <= raises; ++number) {
          if (++begun % disturbed_each == 0) due.release();
          const std::string text = std::to_string(number);
          const std::string trace = "trace/" + std::to_string(caller) + "/" + text;
          const StoreApplied applied = apply({{key, version}}, {{key, text}, {trace, text}});
          EXPECT_EQ(applied.outcome, StoreOutcome::applied) << key << " " << number;
          version = applied.version;
        }
      });
    }
    for (int at = 0; at < callers * raises / disturbed_each; ++at) {
      (void)due.acquire(runtime::Deadline::never());
      disturb();  // on this Thread, since a server ends with the Thread that started it
    }
    for (std::thread& thread : threads) thread.join();
    for (int caller = 0; caller < callers; ++caller) {
      EXPECT_EQ(value("number/" + std::to_string(caller)), std::to_string(raises));
    }
    TestCall call;
    const auto traces = store_->scan("trace/", "", 1'000, call);
    ASSERT_TRUE(traces.ok());
    EXPECT_EQ(traces->size(), static_cast<std::size_t>(callers) * raises);
  }

  std::optional<OnDatabase> on_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<Connection> outside_;
};

TEST_F(PostgresFaults, SessionsThatEndCostNoApplyAndDoubleNone) {
  raise_numbers([this] { end_sessions(); });
}

TEST_F(PostgresFaults, ARestartOfTheServerCostsNoApplyAndDoublesNone) {
  int restarts = 0;
  raise_numbers([&] {
    if (++restarts > 3) return;
    support::shared_postgres()->stop();
    support::shared_postgres()->start();
  });
  outside_ = connect();
}

// The commit is durable but its answer is not sent: the session ends while it waits for a standby.
TEST_F(PostgresFaults, ACommitWhoseAnswerIsLostIsFoundOut) {
  const StoreApplied before = apply({}, {{"kept", "1"}, {"removed", "1"}});
  ASSERT_EQ(before.outcome, StoreOutcome::applied);
  std::optional<support::HeldAnswers> held(on_->database.settings());
  StoreApplied claimed;
  StoreApplied refused;
  StoreApplied removed;
  std::thread claim([&] { claimed = apply({{"claim", 0}}, {{"claim", "mine"}}); });
  held->wait_for_commit();
  std::thread refuse([&] { refused = apply({{"kept", 0}}, {{"other", "x"}}); });
  std::thread remove([&] { removed = apply({{"removed", before.version}}, {{"removed", {}}}); });
  held->end_others();
  held.reset();
  for (std::thread* thread : {&claim, &refuse, &remove}) thread->join();
  EXPECT_EQ(claimed.outcome, StoreOutcome::applied);
  EXPECT_EQ(refused.outcome, StoreOutcome::conflict);
  EXPECT_EQ(removed.outcome, StoreOutcome::applied);
  EXPECT_EQ(value("claim"), "mine");
  EXPECT_EQ(value("removed"), "(none)");
  TestCall call;
  EXPECT_EQ((*store_->get("claim", call))->version, claimed.version);
}

TEST_F(PostgresFaults, ACommitThatIsNotFoundOutInTimeIsUnknownAndThere) {
  ASSERT_EQ(apply({}, {{"a", "1"}}).outcome, StoreOutcome::applied);
  std::optional<support::HeldAnswers> held(on_->database.settings());
  // On a busy machine the write may not begin in time; then nothing is written.
  int wait_ms = 300;
  StoreApplied late = apply({{"b", 0}}, {{"b", "1"}}, wait_ms);
  while (late.outcome == StoreOutcome::unavailable && (wait_ms *= 2) < 60'000) {
    late = apply({{"b", 0}}, {{"b", "1"}}, wait_ms);
  }
  EXPECT_EQ(late.outcome, StoreOutcome::unknown);
  held.reset();
  EXPECT_EQ(apply({{"c", 0}}, {{"c", "1"}}).outcome, StoreOutcome::applied);
  EXPECT_EQ(value("b"), "1");
}

TEST_F(PostgresFaults, AServerThatIsAwayIsToldWithinTheDeadline) {
  support::shared_postgres()->stop();
  EXPECT_NE(apply({}, {{"a", "1"}}, 200).outcome, StoreOutcome::applied);
  TestCall call(200);
  EXPECT_FALSE(store_->get("a", call).ok());
  support::shared_postgres()->start();
  outside_ = connect();
  EXPECT_EQ(apply({}, {{"b", "1"}}).outcome, StoreOutcome::applied);
  EXPECT_EQ(value("a"), "(none)") << "whoever asked for it has left";
}

TEST_F(PostgresFaults, TheClockIsTheServers) {
  support::ManualClock clock(0);  // in 1970
  auto node = storage::Node::open(on_->database.settings("other"), storage::Role::tool,
                                  {clock, on_->database.random});
  ASSERT_TRUE(node.ok()) << node.error();
  Running running((*node)->records(), clock, on_->database.random);
  const auto store = running.stores.store_of("p");
  const auto server_ms = [this] {
    return outside_
        ->query_once("SELECT (EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::bigint AS ms", "i")
        .number(0, 0);
  };
  EXPECT_LE(store->now_ms(), server_ms());  // this process's clock stands still
  EXPECT_GT(store->now_ms(), server_ms() - 60'000);
}

class PostgresOutcome : public PostgresFaults {
 protected:
  void SetUp() override {
    PostgresFaults::SetUp();
    if (IsSkipped()) return;
    writer_ = *on_->node->records().open_writer();
    const StoreWrite write{"a", "1"};
    const Apply batch[] = {{"p", {}, {&write, 1}, 11}};
    ASSERT_TRUE(writer_->write(batch).ok());
    stream_ =
        std::to_string(outside_->query_once("SELECT MAX(id) FROM record_stream", "i").number(0, 0));
  }
  std::int64_t count(const std::string& where) {
    return outside_->query_once("SELECT COUNT(*) FROM " + where, "i").number(0, 0);
  }
  // The statement of the writer's next group, written by hand.
  [[nodiscard]] std::string group() const {
    return "SELECT write_records_v1(" + stream_ +
           ", 2, '[{\"p\":\"p\",\"k\":\"a\"}]', '[{\"a\":1,\"p\":\"p\",\"k\":\"b\",\"v\":7}]',"
           " '[{\"a\":0,\"p\":\"p\",\"k\":\"a\",\"v\":12,\"b\":\"32\"}]', NULL)";
  }
  std::unique_ptr<Writer> writer_;
  std::string stream_;
};

// The group may still be running on the server when the writer asks.
TEST_F(PostgresOutcome, IsKnownOnlyOnceTheGroupHasEnded) {
  for (const bool commits : {false, true}) {
    if (commits) SetUp();  // the first round fenced its stream
    const auto other = connect();
    std::mutex writer;
    auto open =
        std::make_unique<storage::Transaction>(*other, storage::Transaction::Kind::write, writer);
    open->run_once(group());
    std::atomic<bool> is_known = false;
    std::optional<Conflicts> outcome;
    std::thread prober([&] {
      outcome = *writer_->outcome();
      is_known = true;
    });
    while (count("pg_locks WHERE NOT granted") == 0) std::this_thread::yield();
    EXPECT_FALSE(is_known);
    if (commits) open->commit();
    open.reset();
    prober.join();
    EXPECT_EQ(outcome, commits ? std::optional(Conflicts{1}) : std::nullopt);
    EXPECT_EQ(value("a"), commits ? "2" : "1");
  }
}

TEST_F(PostgresOutcome, KeepsOutAGroupThatComesLate) {
  EXPECT_EQ(*writer_->outcome(), std::nullopt);
  EXPECT_THROW(outside_->run_once(group()), storage::StoreError);
  EXPECT_EQ(value("a"), "1");
  const StoreWrite write{"a", "3"};
  const Apply batch[] = {{"p", {}, {&write, 1}, 13}};
  EXPECT_TRUE(writer_->write(batch).ok());
  EXPECT_EQ(value("a"), "3");
  EXPECT_EQ(count("record_stream WHERE id = " + stream_), 0) << "nobody asks about it any more";
}

class StoreKill : public testing::TestWithParam<storage::Engine> {};
INSTANTIATE_TEST_SUITE_P(Engines, StoreKill, testing::ValuesIn(support::engines),
                         [](const auto& each) { return support::name_of(each.param); });

TEST_P(StoreKill, WhatWasAnsweredOutlivesTheProcessAndNothingIsHalfDone) {
  if (const std::string why = support::missing(GetParam()); !why.empty()) GTEST_SKIP() << why;
  const support::TestStore database(GetParam());
  for (int killed = 0; killed < 3; ++killed) {
    support::Victim victim("records_kill_child", database.settings(), {std::to_string(killed)});
    ASSERT_GE(victim.wait_for(100), 100);
    const int promised = victim.kill();
    ASSERT_GE(promised, 100);
    const auto node = database.open();
    const std::string prefix = std::to_string(killed) + "/";
    int raised = 0;
    const auto numbers = *node->records().scan("p", prefix + "number/", "", 100);
    for (const StoreRecord& record : numbers) raised += std::stoi(record.value);
    EXPECT_GE(raised, promised);
    int traces = 0;
    std::string after;
    while (true) {
      const auto page = *node->records().scan("p", prefix + "trace/", after, 1'000);
      if (page.empty()) break;
      traces += static_cast<int>(page.size());
      after = page.back().key;
    }
    EXPECT_EQ(traces, raised);
  }
}

}  // namespace
}  // namespace turnpike::records
