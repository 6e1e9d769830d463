// The faults of Poco::Data that concern storage/. Each test shows that one is handled.
#include <gtest/gtest.h>
#include <malloc.h>

#include <atomic>
#include <barrier>
#include <chrono>
#include <filesystem>
#include <set>
#include <thread>
#include <vector>

#include "storage/engine/checkpointer.h"
#include "storage/engine/copy_rows.h"
#include "storage/engine/database.h"
#include "support/stores.h"

namespace turnpike::storage {
namespace {

constexpr Query select_one{"SELECT 1 AS one", "i"};
constexpr Query insert_row{"INSERT INTO thing (id, name) VALUES ($1, $2)"};
constexpr Query select_names{"SELECT name FROM thing WHERE id >= $1 ORDER BY id", "t"};
constexpr Query count_rows{"SELECT COUNT(*) AS n FROM thing", "i"};
constexpr Query sum_of_ids{"SELECT CAST(COALESCE(SUM(id), 0) AS BIGINT) AS n FROM thing", "i"};
constexpr Query own_process{"SELECT pg_backend_pid()::bigint AS pid", "i"};
constexpr Query kill_process{
    "SELECT CASE WHEN pg_terminate_backend($1::int) THEN 1 ELSE 0 END AS done", "i"};
constexpr Query kept_count{"SELECT COUNT(*) AS n FROM pg_prepared_statements", "i"};

class Pitfall : public testing::TestWithParam<Engine> {
 protected:
  void SetUp() override {
    if (const std::string why = support::missing(GetParam()); !why.empty()) GTEST_SKIP() << why;
    settings_.engine = GetParam();
    settings_.data_dir = directory_.path();
    settings_.sessions = 2;
    settings_.session_wait_ms = settings_.busy_timeout_ms = 20'000;
    if (GetParam() == Engine::postgres) {
      settings_.postgres_url = support::shared_postgres()->new_schema();
    }
    database_ = std::make_unique<Database>(settings_);
    database_->with([](Connection& connection) {
      connection.run_once("CREATE TABLE thing (id BIGINT PRIMARY KEY, name TEXT NOT NULL)");
    });
  }
  std::int64_t rows() {
    return database_->with(
        [](Connection& connection) { return connection.run(count_rows).number(0, 0); });
  }
  // Settings with short timeouts.
  Settings hurried() const {
    Settings hurried = settings_;
    hurried.session_wait_ms = 200;
    hurried.busy_timeout_ms = 300;
    return hurried;
  }
  std::unique_ptr<Transaction> begin(Connection& connection) {
    return std::make_unique<Transaction>(connection, Transaction::Kind::write, database_->writer());
  }

  support::TemporaryDirectory directory_;
  Settings settings_;
  std::unique_ptr<Database> database_;
};
INSTANTIATE_TEST_SUITE_P(Engines, Pitfall, testing::ValuesIn(support::engines),
                         [](const auto& each) { return support::name_of(each.param); });

// The checks of a Query at compile time.
static_assert(has_ordered_parameters("SELECT 1"));
static_assert(has_ordered_parameters("UPDATE t SET a = $1, b = $2 WHERE a > $1 AND c = $3"));
static_assert(has_ordered_parameters("VALUES ($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11)"));
static_assert(!has_ordered_parameters("SELECT a FROM t WHERE a <> $2 AND b = $1"));
static_assert(!has_ordered_parameters("VALUES ($1, $3)"));
static_assert(!has_ordered_parameters("VALUES ($1,$2,$3,$4,$5,$6,$7,$8,$10,$9)"));

TEST_P(Pitfall, ParametersAreNumberedByTheirFirstPlaceInTheText) {
  constexpr Query of_both{"SELECT name FROM thing WHERE id <> $1 AND name = $2 AND id <> $1", "t"};
  const auto connection = database_->connect();
  connection->run(insert_row, {std::int64_t{1}, "1"});
  connection->run(insert_row, {std::int64_t{2}, "2"});
  const Rows rows = connection->run(of_both, {std::int64_t{1}, "2"});
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows.text(0, 0), "2");
}

TEST_P(Pitfall, FailedTransactionRefusesToCommit) {
  const auto connection = database_->connect();
  {
    const auto transaction = begin(*connection);
    transaction->run(insert_row, {std::int64_t{1}, "a"});
    EXPECT_THROW(transaction->run(insert_row, {std::int64_t{1}, "again"}), StoreError);
    EXPECT_THROW(transaction->run(select_one), StoreError);
    EXPECT_THROW(transaction->commit(), StoreError);
  }
  EXPECT_EQ(rows(), 0);
  const auto next = begin(*connection);  // the session is clean
  next->run(insert_row, {std::int64_t{2}, "b"});
  next->commit();
  EXPECT_EQ(rows(), 1);
}

TEST_P(Pitfall, TransactionThatIsLeftIsRolledBack) {
  database_->with([&](Connection& connection) {
    const auto transaction = begin(connection);
    transaction->run(insert_row, {std::int64_t{1}, "a"});
  });
  EXPECT_EQ(rows(), 0);
  for (int turn = 0; turn < 4; ++turn) {  // no session is in the middle of a transaction
    database_->write([&](Transaction& transaction) {
      return transaction.run(insert_row, {std::int64_t{turn}, "x"}).size();
    });
  }
  EXPECT_EQ(rows(), 4);
}

TEST_P(Pitfall, KeptStatementIsBoundAgainAlsoAfterAFailure) {
  const auto connection = database_->connect();
  connection->run(insert_row, {std::int64_t{1}, "one"});
  connection->run(insert_row, {std::int64_t{2}, ""});
  EXPECT_THROW(connection->run(insert_row, {std::int64_t{1}, "again"}), StoreError);
  EXPECT_FALSE(connection->broken());
  connection->run(insert_row, {std::int64_t{3}, "it's \"$1\" ? \\ \n"});
  const Rows names = connection->run(select_names, {std::int64_t{1}});
  ASSERT_EQ(names.size(), 3u);
  EXPECT_EQ(names.text(1, 0), "");
  EXPECT_EQ(names.text(2, 0), "it's \"$1\" ? \\ \n");
  EXPECT_EQ(connection->run(select_names, {std::int64_t{3}}).size(), 1u);
  EXPECT_TRUE(connection->run(select_names, {std::int64_t{9}}).empty());
}

TEST_P(Pitfall, SumsAreExactBeyondADouble) {
  const auto connection = database_->connect();
  const std::int64_t large = (std::int64_t{1} << 53) + 1;
  connection->run(insert_row, {large, "a"});
  connection->run(insert_row, {std::int64_t{1'000}, "b"});
  EXPECT_EQ(connection->run(sum_of_ids).number(0, 0), large + 1'000);
}

TEST_P(Pitfall, ExhaustedPoolWaitsAndThenSaysSo) {
  std::atomic<bool> is_free = false;
  Database hurried_database(hurried());
  hurried_database.with([&](Connection&) {
    hurried_database.with([&](Connection&) {
      const auto began = std::chrono::steady_clock::now();
      EXPECT_THROW(hurried_database.with([](Connection&) { return 0; }), StoreError);
      EXPECT_GE(std::chrono::steady_clock::now() - began, std::chrono::milliseconds(190));
    });
  });
  std::thread other;
  database_->with([&](Connection&) {
    database_->with([&](Connection&) {
      other = std::thread([&] { is_free = database_->with([](Connection&) { return true; }); });
    });
  });
  other.join();
  EXPECT_TRUE(is_free);
}

TEST_P(Pitfall, UnreadableTargetIsAnErrorNotAWait) {
  Settings wrong = settings_;
  wrong.connect_timeout_s = 1;
  wrong.sqlite_path = "/proc/no/such/place.db";
  wrong.postgres_url = "postgres://nobody@127.0.0.1:1/none";
  EXPECT_THROW(Database(wrong).open_sessions(), StoreError);
}

class SqlitePitfall : public Pitfall {};
INSTANTIATE_TEST_SUITE_P(Engines, SqlitePitfall, testing::Values(Engine::sqlite),
                         [](const auto& each) { return support::name_of(each.param); });

TEST_P(SqlitePitfall, ANewFileMayBeOpenedBySeveralAtOnce) {
  constexpr int rounds = 50;
  for (int round = 0; round < rounds; ++round) {
    Settings settings = settings_;
    settings.sqlite_path = "new_" + std::to_string(round) + ".db";
    std::barrier begin(4);
    std::vector<std::jthread> nodes;
    for (int node = 0; node < 4; ++node) {
      nodes.emplace_back([&] {
        Database database(settings);
        begin.arrive_and_wait();
        EXPECT_NO_THROW(database.open_sessions());
      });
    }
  }
}

TEST_P(SqlitePitfall, SessionsAreDurableAndPatientForAShortTime) {
  const auto connection = database_->connect();
  EXPECT_EQ(connection->query_once("PRAGMA journal_mode", "t").text(0, 0), "wal");
  EXPECT_EQ(connection->query_once("PRAGMA synchronous", "i").number(0, 0), 2);  // FULL
  EXPECT_EQ(connection->query_once("PRAGMA foreign_keys", "i").number(0, 0), 1);
  EXPECT_EQ(connection->query_once("PRAGMA busy_timeout", "i").number(0, 0), 20'000);
}

TEST_P(SqlitePitfall, RelaxedSessionsDoNotWaitForTheDisk) {
  Settings relaxed = settings_;
  relaxed.is_durability_relaxed = true;
  const Database database(relaxed);
  const auto connection = database.connect();
  EXPECT_EQ(connection->query_once("PRAGMA journal_mode", "t").text(0, 0), "wal");
  EXPECT_EQ(connection->query_once("PRAGMA synchronous", "i").number(0, 0), 1);  // NORMAL
}

// A deferred transaction that reads first would fail here at once.
TEST_P(SqlitePitfall, WriteTransactionThatReadsFirstMeetsNoUpgradeFailure) {
  std::atomic<int> failures = 0;
  const auto add = [&](std::int64_t from) {
    const auto connection = database_->connect();
    std::mutex not_shared;  // like another process, without our writer lock
    for (std::int64_t turn = 0; turn < 100; ++turn) {
      try {
        Transaction transaction(*connection, Transaction::Kind::write, not_shared);
        transaction.run(count_rows);
        transaction.run(insert_row, {from + turn, "x"});
        transaction.commit();
      } catch (const StoreError&) {
        ++failures;
      }
    }
  };
  std::thread left([&] { add(0); });
  std::thread right([&] { add(1'000); });
  left.join();
  right.join();
  EXPECT_EQ(failures, 0);
  EXPECT_EQ(rows(), 200);
}

TEST_P(SqlitePitfall, WriterInAnotherProcessIsWaitedForOnlyShortly) {
  const auto blocker = database_->connect();
  std::mutex not_shared;
  Transaction open(*blocker, Transaction::Kind::write, not_shared);
  Database hurried_database(hurried());
  const auto began = std::chrono::steady_clock::now();
  EXPECT_THROW(hurried_database.write(
                   [](Transaction& transaction) { return transaction.run(count_rows).size(); }),
               StoreError);
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(15));
}

TEST_P(SqlitePitfall, ToolsWaitForTheFileThatAGatewayKeepsBusy) {
  const support::TestStore store(Engine::sqlite, hurried());
  const auto gateway = store.open();
  const auto tool = store.open(Role::tool);
  Database direct(store.settings());
  const auto blocker = direct.connect();
  auto open = std::make_unique<Transaction>(*blocker, Transaction::Kind::write, direct.writer());
  std::thread command([&] { EXPECT_TRUE(tool->accounts().create("by the tool").ok()); });
  EXPECT_FALSE(gateway->accounts().create("by the gateway").ok());
  open.reset();
  command.join();
}

TEST_P(SqlitePitfall, StatementPreparedOnceFollowsTheSchema) {
  const auto connection = database_->connect();
  connection->run(insert_row, {std::int64_t{1}, "a"});
  EXPECT_EQ(connection->run(count_rows).number(0, 0), 1);
  database_->with([](Connection& other) {
    other.run_once("ALTER TABLE thing RENAME TO thing_before");
    other.run_once("CREATE TABLE thing (extra TEXT DEFAULT '', id BIGINT, name TEXT)");
  });
  EXPECT_EQ(connection->run(count_rows).number(0, 0), 0);
  connection->run(insert_row, {std::int64_t{2}, "b"});
  EXPECT_EQ(rows(), 1);
}

TEST_P(SqlitePitfall, ATextDoesNotEndAtANul) {
  const auto connection = database_->connect();
  const std::string text("a\0b", 3);
  connection->run(insert_row, {std::int64_t{1}, text});
  EXPECT_EQ(connection->run(select_names, {std::int64_t{1}}).text(0, 0), text);
}

TEST_P(SqlitePitfall, TheLogIsCopiedBesideTheWriter) {
  Database database(settings_, {Checkpointer::prelude()});
  const auto connection = database.connect();
  for (std::int64_t id = 0; id < 100; ++id)
    connection->run(insert_row, {id, std::string(4096, 'x')});
  const auto file_bytes = [&] { return std::filesystem::file_size(sqlite_file(settings_)); };
  EXPECT_LT(file_bytes(), 100 * 4096u) << "a commit has copied it";
  const Checkpointer checkpointer(database);
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (file_bytes() < 100 * 4096u && std::chrono::steady_clock::now() < until) {
    std::this_thread::yield();
  }
  EXPECT_GE(file_bytes(), 100 * 4096u);
}

TEST_P(SqlitePitfall, BulkCountsWhatItChanged) {
  static constexpr Query insert_all{
      "INSERT INTO thing (id, name) VALUES (?, ?) ON CONFLICT DO NOTHING"};
  const auto connection = database_->connect();
  Bulk rows("it");
  for (const std::int64_t id : {1, 2, 2, 3}) {
    rows.add(0, id);
    rows.add(1, "n");
  }
  EXPECT_EQ(connection->run_bulk(insert_all, rows), 3u);
  rows.clear();
  EXPECT_EQ(connection->run_bulk(insert_all, rows), 0u);
  rows.add(0, std::int64_t{9});
  rows.add(1, "n");
  EXPECT_EQ(connection->run_bulk(insert_all, rows), 1u);
}

class PostgresPitfall : public Pitfall {};
INSTANTIATE_TEST_SUITE_P(Engines, PostgresPitfall, testing::Values(Engine::postgres),
                         [](const auto& each) { return support::name_of(each.param); });

TEST_P(PostgresPitfall, SessionsAreBounded) {
  const auto connection = database_->connect();
  EXPECT_EQ(connection->query_once("SHOW statement_timeout", "t").text(0, 0), "4s");
  EXPECT_EQ(connection->query_once("SHOW jit", "t").text(0, 0), "off");
  EXPECT_EQ(connection->query_once("SHOW idle_in_transaction_session_timeout", "t").text(0, 0),
            "4s");
  EXPECT_EQ(connection->query_once("SHOW synchronous_commit", "t").text(0, 0), "on");
  const std::string target = connection_target(settings_);
  EXPECT_NE(target.find("connect_timeout=3"), std::string::npos);
  EXPECT_NE(target.find("tcp_user_timeout=4000"), std::string::npos);
}

TEST_P(PostgresPitfall, RelaxedSessionsDoNotWaitForTheDisk) {
  Settings relaxed = settings_;
  relaxed.is_durability_relaxed = true;
  const Database database(relaxed);
  const auto connection = database.connect();
  EXPECT_EQ(connection->query_once("SHOW synchronous_commit", "t").text(0, 0), "off");
}

TEST_P(PostgresPitfall, SessionsWaitForTheDiskWhateverTheServerOrTheUrlSays) {
  const auto connection = database_->connect();
  connection->run_once("ALTER ROLE turnpike SET synchronous_commit = off");
  const Database database(settings_);
  EXPECT_EQ(database.connect()->query_once("SHOW synchronous_commit", "t").text(0, 0), "on");
  connection->run_once("ALTER ROLE turnpike RESET synchronous_commit");
  Settings lax = settings_;
  lax.postgres_url = support::shared_postgres()->url() + " options=-csynchronous_commit=off";
  const Database from_url(lax);
  EXPECT_EQ(from_url.connect()->query_once("SHOW synchronous_commit", "t").text(0, 0), "on");
}

// A server allows 100 connections by default, which commands must not use up eight at a time.
TEST_P(PostgresPitfall, SessionsAreOpenedWhenFirstUsed) {
  const std::string name = "opened_when_first_used";
  Settings settings = settings_;
  settings.sessions = 8;
  settings.postgres_url += " application_name=" + name;
  Database database(settings);
  const auto opened = [&] {
    return database.with([&](Connection& connection) {
      return connection
          .query_once(
              "SELECT COUNT(*) FROM pg_stat_activity WHERE application_name = '" + name + "'", "i")
          .number(0, 0);
    });
  };
  EXPECT_EQ(opened(), 1);
  EXPECT_EQ(opened(), 1);
  database.open_sessions();
  EXPECT_EQ(opened(), 8);
}

TEST_P(PostgresPitfall, StatementsAreKeptNotPreparedAgain) {
  const auto connection = database_->connect();
  connection->run(select_one);
  const std::int64_t before = connection->run(kept_count).number(0, 0);
  for (int turn = 0; turn < 10; ++turn) connection->run(select_one);
  EXPECT_EQ(connection->run(kept_count).number(0, 0), before);
  connection->run(insert_row, {std::int64_t{1}, "a"});
  for (int turn = 0; turn < 10; ++turn) {
    EXPECT_THROW(connection->run(insert_row, {std::int64_t{1}, "again"}), StoreError);
  }
  EXPECT_EQ(connection->run(kept_count).number(0, 0), before + 1);
}

TEST_P(PostgresPitfall, KeptStatementFollowsTheSchemaAfterOneFailure) {
  const auto connection = database_->connect();
  connection->run(insert_row, {std::int64_t{1}, "a"});
  EXPECT_EQ(connection->run(select_names, {std::int64_t{1}}).size(), 1u);
  connection->run_once("ALTER TABLE thing ALTER COLUMN name TYPE VARCHAR(10)");
  EXPECT_THROW(connection->run(select_names, {std::int64_t{1}}), StoreError);
  EXPECT_EQ(connection->run(select_names, {std::int64_t{1}}).text(0, 0), "a");
}

TEST_P(PostgresPitfall, WhatIsNoWholeNumberIsRefused) {
  constexpr Query half{"SELECT 0.5 AS half", "i"};
  EXPECT_THROW(database_->connect()->run(half), StoreError);
}

// A session keeps a plan that it made while the tables were small.
TEST_P(PostgresPitfall, SettlingReadsNoStreamButItsOwn) {
  const support::TestStore store(GetParam());
  Database database(store.settings());
  const auto connection = database.connect();
  constexpr Query settle{"SELECT settle_open_v1(1, $1, 1, 0, '', 1, '{\"1\":1}')::TEXT AS nothing",
                         "t"};
  constexpr Query streams_read{
      "SELECT seq_tup_read + COALESCE(idx_tup_fetch, 0) AS n"
      " FROM pg_stat_xact_user_tables WHERE relname = 'settle_stream'",
      "i"};
  const auto add_streams = [&](int from, int to) {
    connection->run_once("INSERT INTO settle_stream (stream, fence) SELECT i, 1 FROM" +
                         (" generate_series(" + std::to_string(from) + ", ") + std::to_string(to) +
                         ") AS i");
  };
  add_streams(1, 1);
  connection->run_once("ANALYZE settle_stream");  // as the server's autovacuum does in time
  std::int64_t batch = 0;
  while (batch < 6) connection->run(settle, {++batch});
  add_streams(2, 500);
  Transaction transaction(*connection, Transaction::Kind::write, database.writer());
  // For up to a second, the server may still count reads of the session's earlier transactions.
  const std::int64_t read_before = transaction.run(streams_read).number(0, 0);
  transaction.run(settle, {++batch});
  EXPECT_LE(transaction.run(streams_read).number(0, 0) - read_before, 2);
}

TEST_P(PostgresPitfall, SessionKilledByTheServerIsReplacedUnseen) {
  const std::int64_t victim = database_->with(
      [](Connection& connection) { return connection.run(own_process).number(0, 0); });
  const auto killer = database_->connect();
  ASSERT_EQ(killer->run(kill_process, {victim}).number(0, 0), 1);
  EXPECT_EQ(rows(), 0);
}

class PostgresRestart : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = support::missing(Engine::postgres); !why.empty()) {
      GTEST_SKIP() << why;
    }
    server_ = std::make_unique<support::Postgres>();
    settings_ = support::patient_settings(4);
    settings_.engine = Engine::postgres;
    settings_.postgres_url = server_->new_schema();
    database_ = std::make_unique<Database>(settings_);
    database_->with([](Connection& connection) {
      connection.run_once("CREATE TABLE thing (id BIGINT PRIMARY KEY, name TEXT NOT NULL)");
    });
  }
  void restart() {
    server_->stop();
    server_->start();
  }
  // Uses all sessions at once and returns their server processes.
  std::set<std::int64_t> use_all(std::size_t sessions = 4) {
    return database_->with([&](Connection& connection) {
      auto processes = sessions == 1 ? std::set<std::int64_t>() : use_all(sessions - 1);
      processes.insert(connection.run(own_process).number(0, 0));
      return processes;
    });
  }
  std::int64_t insert(std::int64_t id) {
    return database_->write([&](Transaction& transaction) {
      transaction.run(insert_row, {id, "x"});
      return id;
    });
  }

  std::unique_ptr<support::Postgres> server_;
  Settings settings_;
  std::unique_ptr<Database> database_;
};

TEST_F(PostgresRestart, CostsNoReadAndNoWrite) {
  EXPECT_EQ(use_all().size(), 4u);
  restart();
  EXPECT_EQ(database_->with([](auto& session) { return session.run(count_rows).number(0, 0); }), 0);
  EXPECT_EQ(use_all().size(), 4u);
  restart();
  for (std::int64_t id = 0; id < 6; ++id) EXPECT_EQ(insert(id), id);
  EXPECT_EQ(use_all().size(), 4u);
}

TEST_F(PostgresRestart, CostsNobodyAmongManyAtOnce) {
  EXPECT_EQ(use_all().size(), 4u);
  restart();
  std::atomic<int> failures = 0;
  std::vector<std::thread> callers;
  for (std::int64_t id = 0; id < 8; ++id) {
    callers.emplace_back([&, id] {
      try {
        insert(id);
      } catch (const StoreError&) {
        ++failures;
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(failures, 0);
}

TEST_F(PostgresRestart, AskingForAServerThatIsAwayCostsNoMemory) {
  server_->stop();
  EXPECT_THROW((void)database_->connect(), StoreError);
  const std::size_t before_bytes = ::mallinfo2().uordblks;
  for (int tries = 0; tries < 100; ++tries) {
    EXPECT_THROW((void)database_->connect(), StoreError);
  }
  EXPECT_LT(::mallinfo2().uordblks, before_bytes + 256 * 1024);
  server_->start();
  EXPECT_EQ(database_->connect()->run(count_rows).number(0, 0), 0);
}

TEST_F(PostgresRestart, SessionsOpenedAfterItAreKept) {
  (void)use_all();
  restart();
  const auto processes = use_all();
  EXPECT_EQ(use_all(), processes);
  EXPECT_EQ(processes.size(), 4u);
}

TEST_P(PostgresPitfall, SessionKilledMidwayWritesNothingAndIsTriedOnceMore) {
  int tries = 0;
  const auto killer = database_->connect();
  database_->write([&](Transaction& transaction) {
    transaction.run(insert_row, {std::int64_t{++tries}, "x"});
    if (tries == 1) {
      killer->run(kill_process, {transaction.run(own_process).number(0, 0)});
      transaction.run(count_rows);
    }
    return 0;
  });
  EXPECT_EQ(tries, 2);
  EXPECT_EQ(rows(), 1);
}

TEST_P(PostgresPitfall, CommitWithoutAnAnswerIsUnknown) {
  const auto killer = database_->connect();
  const auto connection = database_->connect();
  const auto transaction = begin(*connection);
  transaction->run(insert_row, {std::int64_t{1}, "x"});
  const std::int64_t victim = transaction->run(own_process).number(0, 0);
  ASSERT_EQ(killer->run(kill_process, {victim}).number(0, 0), 1);
  try {
    transaction->commit();
    FAIL() << "committed on a dead session";
  } catch (const StoreError& error) {
    EXPECT_EQ(error.kind(), StoreError::Kind::unknown);
  }
}

TEST_P(PostgresPitfall, UrlsAreReadAndBlanksRefused) {
  Settings settings;
  settings.engine = Engine::postgres;
  settings.postgres_url = "postgres://us%40er:pw@db.example:6432/books?sslmode=require";
  const std::string target = connection_target(settings);
  for (const char* part : {"user=us@er", "password=pw", "host=db.example", "port=6432",
                           "dbname=books", "sslmode=require"}) {
    EXPECT_NE(target.find(part), std::string::npos) << part;
  }
  settings.postgres_url = "postgresql:///books?host=/run/postgresql";
  EXPECT_NE(connection_target(settings).find("host=/run/postgresql"), std::string::npos);
  settings.postgres_url = "postgres://[::1]:5433/x";
  EXPECT_NE(connection_target(settings).find("host=::1"), std::string::npos);
  settings.postgres_url = "postgres://u:a%20b@h/x";
  EXPECT_THROW((void)connection_target(settings), StoreError);
  settings.postgres_url = "postgres://u@h/x?%zz=1";
  EXPECT_THROW((void)connection_target(settings), StoreError);
  settings.postgres_url = "";
  EXPECT_THROW((void)connection_target(settings), StoreError);
}

// The batch row of a running settlement makes the prober wait until the settlement has ended.
TEST_P(PostgresPitfall, ProberWaitsForTheTransactionItAsksAbout) {
  for (const bool commits : {true, false}) {
    const support::TestStore store(Engine::postgres);
    const auto node = store.open();
    ASSERT_TRUE(node->ledger().start().ok());
    const auto stream = *node->ledger().open_stream();
    Database direct(store.settings());
    const auto other = direct.connect();
    const Rows id = other->query_once("SELECT MAX(id) FROM incarnation", "i");
    auto open = std::make_unique<Transaction>(*other, Transaction::Kind::write, direct.writer());
    open->run_once("INSERT INTO settle_batch (stream, no, first_seq, facts, head) VALUES (" +
                   std::to_string(id.number(0, 0) * 64) + ", 7, 1, 1, '')");
    std::atomic<bool> is_known = false;
    bool was_committed = !commits;
    std::thread prober([&] {
      was_committed = *stream->committed(7);
      is_known = true;
    });
    const auto watcher = direct.connect();
    while (
        watcher->query_once("SELECT COUNT(*) FROM pg_locks WHERE NOT granted", "i").number(0, 0) ==
        0) {
      std::this_thread::yield();
    }
    EXPECT_FALSE(is_known);
    if (commits) open->commit();
    open.reset();
    prober.join();
    EXPECT_EQ(was_committed, commits);
  }
}

CopyRows rows_of(std::initializer_list<std::int64_t> ids) {
  CopyRows rows(1);
  for (const std::int64_t id : ids) {
    rows.begin_row();
    rows.add(id);
  }
  rows.end();
  return rows;
}

TEST_P(PostgresPitfall, RefusedScriptLeavesNothingAndItsSessionGoesOn) {
  const support::TestStore store(Engine::postgres);
  Database database(store.settings());
  const auto session = database.connect();
  session->run_once("CREATE TABLE thing (id BIGINT PRIMARY KEY)");
  const std::string script = "INSERT INTO thing VALUES (7); COPY thing FROM STDIN (FORMAT binary);";
  try {
    session->run_script(script, {rows_of({1, 1}).bytes()});
    FAIL() << "the same key twice";
  } catch (const ScriptRefused& refused) {
    EXPECT_EQ(refused.sqlstate(), "23505");
    EXPECT_EQ(refused.constraint(), "thing_pkey");
  }
  EXPECT_FALSE(session->broken());
  EXPECT_THROW(session->run_script("COPY thing FROM STDIN; nonsense", {"1\n"}), ScriptRefused);
  EXPECT_EQ(session->query_once("SELECT COUNT(*) FROM thing", "i").number(0, 0), 0);
  session->run_script(script, {rows_of({1, 2}).bytes()});
  EXPECT_EQ(session->query_once("SELECT SUM(id) FROM thing", "i").number(0, 0), 10);
}

TEST_P(PostgresPitfall, ScriptWithoutItsRowsOrItsServerBreaksTheSession) {
  const support::TestStore store(Engine::postgres);
  Database database(store.settings());
  const auto admin = database.connect();
  admin->run_once("CREATE TABLE thing (id BIGINT PRIMARY KEY)");
  const auto incomplete = database.connect();
  EXPECT_THROW(incomplete->run_script("COPY thing FROM STDIN", {}), StoreError);
  EXPECT_TRUE(incomplete->broken());
  const auto ended = database.connect();
  EXPECT_THROW(ended->run_script("INSERT INTO thing VALUES (1);"
                                 "SELECT pg_terminate_backend(pg_backend_pid());",
                                 {}),
               StoreError);
  EXPECT_TRUE(ended->broken());
  EXPECT_EQ(admin->query_once("SELECT COUNT(*) FROM thing", "i").number(0, 0), 0);
}

TEST_P(PostgresPitfall, LiteralIsReadBackAsItWas) {
  const support::TestStore store(Engine::postgres);
  Database database(store.settings());
  const auto session = database.connect();
  for (const char* text :
       {"", "plain", "it's", "a\\b", "\"q\"\n'; DROP TABLE fact; --", "\u00e9"}) {
    EXPECT_EQ(session->query_once("SELECT " + session->literal(text), "t").text(0, 0), text);
  }
}

}  // namespace
}  // namespace turnpike::storage
