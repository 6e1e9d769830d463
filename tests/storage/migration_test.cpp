#include "storage/migration.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "storage/engine/database.h"
#include "support/stores.h"

namespace turnpike::storage {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const Migration first{1, "first", 1,
                      "-- min_reader: 1\nCREATE TABLE thing (id BIGINT PRIMARY KEY);\n"};
const Migration expand{2, "expand", 1,
                       "-- min_reader: 1\nALTER TABLE thing ADD COLUMN name TEXT NOT NULL DEFAULT "
                       "'';\n"};
const Migration contract{3, "contract", 2,
                         "-- min_reader: 2\nCREATE TABLE other (id BIGINT PRIMARY KEY);\n\n"
                         "INSERT INTO other (id)\n  VALUES (1);\n"};

class MigrationTest : public testing::TestWithParam<Engine> {
 protected:
  void SetUp() override {
    if (const std::string why = support::missing(GetParam()); !why.empty()) GTEST_SKIP() << why;
    settings_.engine = GetParam();
    settings_.data_dir = directory_.path() + "/data";
    settings_.sessions = 1;
    if (GetParam() == Engine::postgres) {
      settings_.postgres_url = support::shared_postgres()->new_schema();
    }
    database_ = std::make_unique<Database>(settings_);
    connection_ = database_->connect();
  }
  std::size_t apply(const std::vector<Migration>& known, bool dry_run = false) {
    return apply_migrations(*connection_, database_->writer(), {known, {}}, 1, dry_run).size();
  }
  std::string check(const std::vector<Migration>& known) {
    return check_schema(*connection_, {known, {}});
  }

  support::TemporaryDirectory directory_;
  Settings settings_;
  std::unique_ptr<Database> database_;
  std::unique_ptr<Connection> connection_;
};
INSTANTIATE_TEST_SUITE_P(Engines, MigrationTest, testing::ValuesIn(support::engines),
                         [](const auto& each) { return support::name_of(each.param); });

TEST_P(MigrationTest, AppliesWhatIsMissingOnce) {
  EXPECT_NE(check({first}).find("run `turnpike migrate` first"), std::string::npos);
  EXPECT_EQ(apply({first}), 1u);
  EXPECT_EQ(check({first}), "");
  EXPECT_EQ(apply({first}), 0u);
  EXPECT_EQ(apply({first, expand, contract}), 2u);
  EXPECT_EQ(check({first, expand, contract}), "");
  EXPECT_EQ(connection_->query_once("SELECT id FROM other", "i").number(0, 0), 1);
}

TEST_P(MigrationTest, DryRunTellsAndWritesNothing) {
  EXPECT_EQ(apply({first, expand}, true), 2u);
  EXPECT_NE(check({first}), "");
}

TEST_P(MigrationTest, BehindIsRefused) {
  apply({first});
  EXPECT_NE(check({first, expand}).find("schema version 1, this build needs 2"), std::string::npos);
}

TEST_P(MigrationTest, PreviousReleaseRunsOnAnExpandedSchemaButNotOnAContractedOne) {
  apply({first});
  apply({first, expand});
  EXPECT_EQ(check({first}), "");  // the old build, during the update
  EXPECT_EQ(check({first, expand}), "");
  apply({first, expand, contract});
  EXPECT_EQ(check({first, expand}), "");
  EXPECT_NE(check({first}).find("install a newer release"), std::string::npos);
  EXPECT_THROW(apply({first}), StoreError);
}

TEST_P(MigrationTest, ChangedMigrationIsRefused) {
  apply({first});
  Migration changed = first;
  changed.sql += "\n";
  EXPECT_NE(check({changed}).find("another checksum"), std::string::npos);
  EXPECT_THROW(apply({changed, expand}), StoreError);
}

TEST_P(MigrationTest, SchemaChangedByHandIsRefused) {
  apply({first});
  connection_->run_once("CREATE INDEX by_hand ON thing (id)");
  EXPECT_NE(check({first}).find("by hand"), std::string::npos);
  EXPECT_THROW(apply({first, expand}), StoreError);
  connection_->run_once("DROP INDEX by_hand");
  EXPECT_EQ(check({first}), "");
}

TEST_P(MigrationTest, FailingMigrationLeavesNothingBehind) {
  const Migration broken{2, "broken", 1,
                         "CREATE TABLE half (id BIGINT);\nCREATE TABLE thing (id BIGINT);\n"};
  apply({first});
  EXPECT_THROW(apply({first, broken}), StoreError);
  EXPECT_EQ(check({first}), "");
}

TEST_P(MigrationTest, AnEmptyDatabaseGetsAllMigrationsOrNone) {
  const Migration broken{3, "broken", 1, "CREATE TABLE thing (id BIGINT);\n"};
  EXPECT_THROW(apply({first, expand, broken}), StoreError);
  EXPECT_NE(check({first}).find("the database is empty"), std::string::npos);
  EXPECT_EQ(apply({first, expand, contract}), 3u);
  EXPECT_EQ(check({first, expand, contract}), "");
  EXPECT_EQ(connection_->query_once("SELECT COUNT(*) FROM schema_migration", "i").number(0, 0), 3);
  connection_->run_once("CREATE INDEX by_hand ON thing (id)");
  EXPECT_NE(check({first, expand, contract}).find("by hand"), std::string::npos);
}

TEST_P(MigrationTest, AnUnreleasedDatabaseIsRefusedWithWhatToDo) {
  Migration books = first;
  books.name = "books";
  books.min_reader = 15;
  apply({books});
  const std::string fault = check({first});
  EXPECT_NE(fault.find("\"books\""), std::string::npos);
  EXPECT_NE(fault.find("turnpike export"), std::string::npos);
  EXPECT_NE(fault.find("empty database"), std::string::npos);
  EXPECT_THROW(apply({first}), StoreError);
}

TEST_P(MigrationTest, ShippedMigrationsAreNumberedWithoutGapsOnBothEngines) {
  const auto shipped = shipped_schema(GetParam()).migrations;
  const auto others =
      shipped_schema(GetParam() == Engine::sqlite ? Engine::postgres : Engine::sqlite).migrations;
  ASSERT_FALSE(shipped.empty());
  ASSERT_EQ(shipped.size(), others.size());
  for (std::size_t at = 0; at < shipped.size(); ++at) {
    EXPECT_EQ(shipped[at].version, at + 1);
    EXPECT_GE(shipped[at].min_reader, 1u);
    EXPECT_LE(shipped[at].min_reader, shipped[at].version);
    // A change on one engine has its number on both.
    EXPECT_FALSE(statements_of(shipped[at].sql).empty() && statements_of(others[at].sql).empty());
  }
}

// ---- functions ----------------------------------------------------------------------------------

class FunctionsTest : public MigrationTest {
 protected:
  static Functions answering(std::uint32_t version, int answer) {
    return {version, "CREATE OR REPLACE FUNCTION answer() RETURNS INT LANGUAGE sql AS $$ SELECT " +
                         std::to_string(answer) + " $$;\n"};
  }
  std::vector<std::string> apply(const Schema& known, bool dry_run = false) {
    std::vector<std::string> names;
    for (const MigrationStep& step :
         apply_migrations(*connection_, database_->writer(), known, 1, dry_run)) {
      names.push_back(step.name);
    }
    return names;
  }
  std::string check(const Schema& known) { return check_schema(*connection_, known); }
  std::int64_t answer() { return connection_->query_once("SELECT answer()", "i").number(0, 0); }
};
INSTANTIATE_TEST_SUITE_P(Engines, FunctionsTest, testing::Values(Engine::postgres),
                         [](const auto& each) { return support::name_of(each.param); });

TEST_P(FunctionsTest, AreRunAfterTheMigrationsAndAgainWhenTheyChanged) {
  EXPECT_THAT(apply({{first}, answering(1, 1)}, true), ElementsAre("first", "functions"));
  EXPECT_THAT(apply({{first}, answering(1, 1)}), ElementsAre("first", "functions"));
  EXPECT_EQ(answer(), 1);
  EXPECT_EQ(check({{first}, answering(1, 1)}), "");
  EXPECT_THAT(apply({{first}, answering(1, 1)}), IsEmpty());
  for (const Functions& changed : {answering(1, 2), answering(2, 2), answering(2, 3)}) {
    EXPECT_NE(check({{first}, changed}).find("run `turnpike migrate` first"), std::string::npos);
    EXPECT_THAT(apply({{first}, changed}, true), ElementsAre("functions"));
    EXPECT_THAT(apply({{first}, changed}), ElementsAre("functions"));
    EXPECT_EQ(check({{first}, changed}), "");
  }
  EXPECT_EQ(answer(), 3);
}

TEST_P(FunctionsTest, ThePreviousReleaseLeavesThoseOfTheNextAlone) {
  apply({{first}, answering(1, 1)});
  apply({{first, expand}, answering(2, 2)});
  EXPECT_EQ(check({{first}, answering(1, 1)}), "");
  EXPECT_THAT(apply({{first}, answering(1, 1)}), IsEmpty());
  EXPECT_EQ(answer(), 2);
}

TEST_P(FunctionsTest, ChangedByHandAreRefused) {
  apply({{first}, answering(1, 1)});
  connection_->run_once(statements_of(answering(1, 9).sql)[0]);
  EXPECT_NE(check({{first}, answering(1, 1)}).find("by hand"), std::string::npos);
  EXPECT_THROW(apply({{first}, answering(1, 1)}), StoreError);
  connection_->run_once(statements_of(answering(1, 1).sql)[0]);
  EXPECT_EQ(check({{first}, answering(1, 1)}), "");
}

TEST_P(FunctionsTest, AMigrationMayDropOne) {
  apply({{first}, answering(1, 1)});
  const Migration dropping{2, "dropping", 2, "-- min_reader: 2\nDROP FUNCTION answer();\n"};
  apply({{first, dropping}, answering(1, 1)});
  EXPECT_EQ(check({{first, dropping}, answering(1, 1)}), "");
}

TEST_P(FunctionsTest, FailingOnesLeaveTheOldOnes) {
  apply({{first}, answering(1, 1)});
  Functions broken = answering(2, 2);
  broken.sql += "CREATE OR REPLACE FUNCTION half() RETURNS INT LANGUAGE sql AS $$ SELECT x $$;\n";
  EXPECT_THROW(apply({{first}, broken}), StoreError);
  EXPECT_EQ(answer(), 1);
  EXPECT_EQ(check({{first}, answering(1, 1)}), "");
}

// ---- usage that was indexed before there were sums of its hours ---------------------------------

class UsageSumsTest : public MigrationTest {
 protected:
  // 24 hours around the turn of a day, each with two keys of two accounts.
  void add_hours(std::int64_t first_hour) {
    connection_->run_once(
        "INSERT INTO usage_hour SELECT 'acc_' || account, " + std::to_string(first_hour) +
        " + hour, 'route', 'GET', 'key_' || key, 3, 2, 1, 10 * hour + key, 1, 2 "
        "FROM generate_series(0, 23) AS hour, generate_series(1, 2) AS key, "
        "generate_series(1, 2) AS account");
  }
  // Rows of `table` whose sums are not those of their hours; `columns` name such a row, and `of`
  // says what they are in the table of hours.
  std::int64_t wrong_in(const std::string& table, const std::string& columns,
                        const std::string& of) {
    return connection_
        ->query_once("SELECT count(*) FROM (SELECT " + of +
                         ", SUM(requests) AS requests, SUM(charged) AS charged, SUM(released) AS "
                         "released, SUM(credits) AS credits FROM usage_hour GROUP BY " +
                         columns + ") AS h FULL JOIN " + table + " AS t USING (" + columns +
                         ") WHERE (h.requests, h.charged, h.released, h.credits) IS DISTINCT FROM "
                         "(t.requests, t.charged, t.released, t.credits)",
                     "i")
        .number(0, 0);
  }
  void expect_sums(std::int64_t days, std::int64_t account_hours) {
    EXPECT_EQ(count("usage_day"), days);
    EXPECT_EQ(count("usage_account_hour"), account_hours);
    EXPECT_EQ(wrong_in("usage_day", "account_id, day, route_id, method, api_key_id",
                       "account_id, hour / 24 AS day, route_id, method, api_key_id"),
              0);
    EXPECT_EQ(wrong_in("usage_account_hour", "account_id, hour", "account_id, hour"), 0);
  }
  std::int64_t count(const std::string& table) {
    return connection_->query_once("SELECT count(*) FROM " + table, "i").number(0, 0);
  }
};
INSTANTIATE_TEST_SUITE_P(Engines, UsageSumsTest, testing::Values(Engine::postgres),
                         [](const auto& each) { return support::name_of(each.param); });

TEST_P(UsageSumsTest, AreMadeByTheMigrationsAndKeptByWhoeverIndexesAfterThem) {
  const std::vector<Migration> all = shipped_schema(GetParam()).migrations;
  const auto before = [&](std::string_view name) {
    const auto found = std::find_if(all.begin(), all.end(), [&](const Migration& one) {
      return one.name.find(name) != one.name.npos;
    });
    EXPECT_NE(found, all.end()) << name;
    return std::vector<Migration>(all.begin(), found);
  };
  apply(before("usage_days"));
  add_hours(12);
  apply(before("usage_account_hours"));
  EXPECT_EQ(count("usage_day"), 8);
  add_hours(36);
  apply(all);
  expect_sums(12, 96);

  add_hours(60);
  expect_sums(16, 144);
  connection_->run_once("UPDATE usage_hour SET requests = requests + 1, credits = credits + hour "
                        "WHERE hour > 20");
  expect_sums(16, 144);
  connection_->run_once("TRUNCATE usage_hour");
  expect_sums(0, 0);
}

TEST(Statements, EndAtSemicolonsOutsideBodies) {
  const auto statements = statements_of(
      "-- a comment;\nCREATE TABLE a (b TEXT DEFAULT ';x');\n\nCREATE FUNCTION f() AS $$\n"
      "BEGIN;\n  END;\n$$;\n");
  ASSERT_EQ(statements.size(), 2u);
  EXPECT_EQ(statements[0], "CREATE TABLE a (b TEXT DEFAULT ';x')");
  EXPECT_TRUE(statements[1].ends_with("$$"));
  EXPECT_THROW(statements_of("CREATE TABLE a (b)"), StoreError);
}

class NodeTest : public MigrationTest {};
INSTANTIATE_TEST_SUITE_P(Engines, NodeTest, testing::ValuesIn(support::engines),
                         [](const auto& each) { return support::name_of(each.param); });

TEST_P(NodeTest, OpensOnlyAMigratedDatabase) {
  const support::ManualClock clock;
  support::SeededRandom random(1);
  const auto refused = Node::open(settings_, Role::gateway, {clock, random});
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().find("turnpike migrate"), std::string::npos);
  ASSERT_TRUE(migrate(settings_, clock, false).ok());
  EXPECT_TRUE(migrate(settings_, clock, true)->empty());
  EXPECT_TRUE(Node::open(settings_, Role::gateway, {clock, random}).ok());
}

TEST_P(NodeTest, ADatabaseThatCannotBeOpenedIsNamed) {
  const support::ManualClock clock;
  Settings settings = settings_;
  std::string where = "storage.postgres.url: ";
  if (GetParam() == Engine::postgres) {
    settings.postgres_url = "postgresql:///x?host=" + directory_.path();
  } else {
    settings.data_dir = directory_.path();
    where = sqlite_file(settings) + ": ";
    std::ofstream(sqlite_file(settings)) << std::string(4096, 'x');
  }
  const auto migrated = migrate(settings, clock, false);
  ASSERT_FALSE(migrated.ok());
  EXPECT_TRUE(migrated.error().starts_with(where)) << migrated.error();
}

TEST_P(NodeTest, OneGatewayHoldsADataDirAndToolsComeBeside) {
  const support::ManualClock clock;
  support::SeededRandom random(1);
  ASSERT_TRUE(migrate(settings_, clock, false).ok());
  auto gateway = Node::open(settings_, Role::gateway, {clock, random});
  ASSERT_TRUE(gateway.ok());
  const auto second = Node::open(settings_, Role::gateway, {clock, random});
  ASSERT_FALSE(second.ok());
  EXPECT_NE(second.error().find("another running gateway"), std::string::npos);
  EXPECT_TRUE(Node::open(settings_, Role::tool, {clock, random}).ok());
  gateway->reset();
  EXPECT_TRUE(Node::open(settings_, Role::gateway, {clock, random}).ok());
}

TEST_P(NodeTest, AToolConnectsOnlyTheSessionsThatItUses) {
  if (GetParam() != Engine::postgres) return;  // SQLite does not count its sessions
  const support::ManualClock clock;
  support::SeededRandom random(1);
  ASSERT_TRUE(migrate(settings_, clock, false).ok());
  const auto sessions_of = [&](const std::string& name, Role role, bool is_migrated) {
    Settings settings = settings_;
    settings.sessions = 8;
    settings.postgres_url += " application_name=" + name;
    const auto node = Node::open(settings, role, {clock, random}, is_migrated);
    EXPECT_TRUE(node.ok());
    return connection_
        ->query_once(
            "SELECT COUNT(*) FROM pg_stat_activity WHERE application_name = '" + name + "'", "i")
        .number(0, 0);
  };
  EXPECT_EQ(sessions_of("checking_tool", Role::tool, false), 1);
  EXPECT_EQ(sessions_of("tool", Role::tool, true), 0);  // nor is the schema checked again
  EXPECT_GE(sessions_of("gateway", Role::gateway, true), 8);
}

TEST_P(NodeTest, SecretsAreMadeOnceAndShared) {
  const support::ManualClock clock;
  support::SeededRandom random(1);
  ASSERT_TRUE(migrate(settings_, clock, false).ok());
  const auto left = *Node::open(settings_, Role::tool, {clock, random});
  const auto right = *Node::open(settings_, Role::tool, {clock, random});
  const auto made = left->secrets().get_or_create("cursor", 32);
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(made->size(), 32u);
  EXPECT_EQ(*right->secrets().get_or_create("cursor", 32), *made);
  EXPECT_NE(*right->secrets().get_or_create("other", 32), *made);
}

TEST(DryRun, CreatesNoSqliteFile) {
  const support::TemporaryDirectory directory;
  Settings settings;
  settings.data_dir = directory.path() + "/none";
  EXPECT_FALSE(migrate(settings, support::ManualClock(), true)->empty());
  EXPECT_FALSE(std::filesystem::exists(settings.data_dir));
}

}  // namespace
}  // namespace turnpike::storage
