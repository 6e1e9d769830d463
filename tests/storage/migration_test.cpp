#include "storage/migration.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "storage/database.h"
#include "support/stores.h"

namespace turnpike::storage {
namespace {

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
    return apply_migrations(*connection_, database_->writer(), known, 1, dry_run).size();
  }
  std::string check(const std::vector<Migration>& known) {
    return check_schema(*connection_, known);
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
  EXPECT_EQ(check({first}), "");  // the old build, while nodes are replaced
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

TEST_P(MigrationTest, ShippedMigrationsAreNumberedWithoutGapsOnBothEngines) {
  const auto shipped = shipped_migrations(GetParam());
  const auto others =
      shipped_migrations(GetParam() == Engine::sqlite ? Engine::postgres : Engine::sqlite);
  ASSERT_FALSE(shipped.empty());
  ASSERT_EQ(shipped.size(), others.size());
  for (std::size_t at = 0; at < shipped.size(); ++at) {
    EXPECT_EQ(shipped[at].version, at + 1);
    EXPECT_GE(shipped[at].min_reader, 1u);
    EXPECT_LE(shipped[at].min_reader, shipped[at].version);
    // What changes on one engine alone has its number on both.
    EXPECT_FALSE(statements_of(shipped[at].sql).empty() && statements_of(others[at].sql).empty());
  }
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

// Version 15 packs what earlier ones kept by the row: nothing is lost, and the order stays.
TEST(UsageRuns, CarryOverWhatWasIndexedByRows) {
  if (const std::string why = support::missing(Engine::postgres); !why.empty()) GTEST_SKIP() << why;
  constexpr int facts = 18'000;
  constexpr std::int64_t hour_ms = 3'600'000;
  Settings settings = support::patient_settings(2);
  const support::TemporaryDirectory directory;
  settings.engine = Engine::postgres;
  settings.data_dir = directory.path() + "/data";
  settings.postgres_url = support::shared_postgres()->new_schema();
  {
    Database database(settings);
    const auto connection = database.connect();
    std::vector<Migration> before = shipped_migrations(Engine::postgres);
    before.resize(14);
    apply_migrations(*connection, database.writer(), before, 1, false);
    const std::string all = "generate_series(1, " + std::to_string(facts) + ") AS i";
    // Two accounts by turns; a step of 5,000 calls in hour 10, and one of 13,000 in hour 11.
    connection->run_once(
        "INSERT INTO fact SELECT 64, i, 'm' || i, 'm' || i, '', 'acc_' || i % 2, 'key_1',"
        " CASE WHEN i <= 5000 THEN 36000000 ELSE 39600000 END + i, 'route', 1, 'GET', 'credits',"
        " 1, 1, 1, 'gen_1', 'success', 200, 1, 0 FROM " +
        all);
    connection->run_once("INSERT INTO usage_row SELECT 'acc_' || i % 2, i, 64, i FROM " + all);
    connection->run_once(
        "INSERT INTO usage_hour SELECT 'acc_' || a, 10 + h, 'route', 'GET', 'key_1', n, n, 0, n,"
        " first, last FROM (VALUES (0, 2500, 1, 5000), (1, 6500, 5001, 18000)) AS s(h, n, first,"
        " last), generate_series(0, 1) AS a");
    connection->run_once("INSERT INTO usage_mark VALUES (64, 18000, 18000, 'm18000')");
    connection->run_once("UPDATE usage_head SET position = 18000");
  }
  const support::ManualClock clock;
  support::SeededRandom random(1);
  ASSERT_TRUE(migrate(settings, clock, false).ok());
  const auto node = *Node::open(settings, Role::tool, {clock, random});
  EXPECT_FALSE(*node->usage().catch_up());
  for (const int account : {0, 1}) {
    const std::string id = "acc_" + std::to_string(account);
    ledger::PageQuery query{id, std::nullopt, 77};
    int number = account == 0 ? facts : facts - 1;
    do {
      const auto page = node->usage().usage(query);
      ASSERT_TRUE(page.ok() && page->has_value());
      for (const auto& row : (*page)->items) {
        ASSERT_EQ(row.message_id, "m" + std::to_string(number));
        number -= 2;
      }
      query.after = (*page)->next;
    } while (query.after);
    EXPECT_LE(number, 0);
    for (const auto& [hour, requests] : {std::pair{10, 2'500}, std::pair{11, 6'500}}) {
      std::int64_t sum = 0;
      std::optional<std::int64_t> after = 0;
      while (after) {
        const auto part =
            node->usage().part_of_hour({id}, hour * hour_ms, (hour + 1) * hour_ms, *after);
        ASSERT_TRUE(part.ok());
        for (const auto& each : part->sums) sum += each.sums.requests;
        after = part->next;
      }
      EXPECT_EQ(sum, requests) << id << ", hour " << hour;
    }
  }
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
