#include "storage/books/usage_index.h"

#include <filesystem>
#include <string>
#include <vector>

namespace turnpike::storage {
namespace {

constexpr std::uint32_t index_sessions = 4;
constexpr std::int64_t index_version = 5;  // another one: the file is emptied and made again

// As in migrations/postgres, 0001_schema.sql, 0008_dashboard.sql, 0014_usage_days.sql and
// 0015_usage_account_hours.sql, which have them beside the books.
#define ADD_TO_SUMS                                                                 \
  " ON CONFLICT DO UPDATE SET requests = requests + excluded.requests,"             \
  " charged = charged + excluded.charged, released = released + excluded.released," \
  " credits = credits + excluded.credits"
#define ADD_DIFFERENCE                                      \
  " SET requests = requests + new.requests - old.requests," \
  " charged = charged + new.charged - old.charged,"         \
  " released = released + new.released - old.released,"     \
  " credits = credits + new.credits - old.credits"
constexpr const char* index_tables[] = {
    "CREATE TABLE IF NOT EXISTS usage_head (position BIGINT NOT NULL)",
    "INSERT INTO usage_head (position) SELECT 0 WHERE NOT EXISTS (SELECT 1 FROM usage_head)",
    "CREATE TABLE IF NOT EXISTS usage_mark (stream BIGINT PRIMARY KEY NOT NULL, seq BIGINT NOT "
    "NULL, next_seq BIGINT NOT NULL, message_id TEXT NOT NULL) WITHOUT ROWID",
    // With row ids: a run is too long for the inner pages of a tree.
    "CREATE TABLE IF NOT EXISTS usage_run (account_id TEXT NOT NULL, first_position BIGINT NOT"
    " NULL, last_position BIGINT NOT NULL, places BLOB NOT NULL,"
    " PRIMARY KEY (account_id, first_position))",
    "CREATE TABLE IF NOT EXISTS usage_hour (account_id TEXT NOT NULL, hour BIGINT NOT NULL,"
    " route_id TEXT NOT NULL, method TEXT NOT NULL, api_key_id TEXT NOT NULL,"
    " requests BIGINT NOT NULL, charged BIGINT NOT NULL, released BIGINT NOT NULL,"
    " credits BIGINT NOT NULL, first_position BIGINT NOT NULL, last_position BIGINT NOT NULL,"
    " PRIMARY KEY (account_id, hour, route_id, method, api_key_id)) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS usage_day (account_id TEXT NOT NULL, day BIGINT NOT NULL,"
    " route_id TEXT NOT NULL, method TEXT NOT NULL, api_key_id TEXT NOT NULL,"
    " requests BIGINT NOT NULL, charged BIGINT NOT NULL, released BIGINT NOT NULL,"
    " credits BIGINT NOT NULL,"
    " PRIMARY KEY (account_id, day, route_id, method, api_key_id)) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS usage_account_hour (account_id TEXT NOT NULL, hour BIGINT NOT NULL,"
    " requests BIGINT NOT NULL, charged BIGINT NOT NULL, released BIGINT NOT NULL,"
    " credits BIGINT NOT NULL, PRIMARY KEY (account_id, hour)) WITHOUT ROWID",
    "CREATE TRIGGER IF NOT EXISTS usage_hour_added AFTER INSERT ON usage_hour BEGIN"
    " INSERT INTO usage_day VALUES (new.account_id, new.hour / 24, new.route_id, new.method,"
    " new.api_key_id, new.requests, new.charged, new.released, new.credits)" ADD_TO_SUMS "; END",
    "CREATE TRIGGER IF NOT EXISTS usage_account_hour_added AFTER INSERT ON usage_hour BEGIN"
    " INSERT INTO usage_account_hour VALUES (new.account_id, new.hour,"
    " new.requests, new.charged, new.released, new.credits)" ADD_TO_SUMS "; END",
    "CREATE TRIGGER IF NOT EXISTS usage_hour_changed AFTER UPDATE ON usage_hour BEGIN"
    " UPDATE usage_day" ADD_DIFFERENCE
    " WHERE account_id = new.account_id AND day = new.hour / 24 AND route_id = new.route_id"
    " AND method = new.method AND api_key_id = new.api_key_id; END",
    "CREATE TRIGGER IF NOT EXISTS usage_account_hour_changed AFTER UPDATE ON usage_hour BEGIN"
    " UPDATE usage_account_hour" ADD_DIFFERENCE
    " WHERE account_id = new.account_id AND hour = new.hour; END",
    "CREATE TABLE IF NOT EXISTS usage_client (account_id TEXT NOT NULL, client_request_id TEXT NOT"
    " NULL, stream BIGINT NOT NULL, seq BIGINT NOT NULL,"
    " PRIMARY KEY (account_id, client_request_id, stream, seq)) WITHOUT ROWID",
};
#undef ADD_DIFFERENCE
#undef ADD_TO_SUMS

// What was indexed last of each stream is still what the books have there.
constexpr Query count_strangers{
    "SELECT COUNT(*) AS n FROM usage_mark m LEFT JOIN fact f ON f.stream = m.stream"
    " AND f.seq = m.seq WHERE m.seq > 0 AND COALESCE(f.message_id, '') <> m.message_id",
    "i"};

// A path in an SQLite URI (sqlite.org/uri.html) in an SQL text.
std::string uri_of(const std::string& path) {
  constexpr char digits[] = "0123456789ABCDEF";
  std::string uri = "file:";
  for (const char c : path) {
    if (c == '?' || c == '#' || c == '%' || c == '\'') {
      uri += '%';
      uri += digits[static_cast<unsigned char>(c) >> 4];
      uri += digits[c & 15];
    } else {
      uri += c;
    }
  }
  return uri + "?mode=ro";
}

void empty(Database& database) {
  database.write([&](Transaction& transaction) {
    transaction.run(lock_head);
    const bool truncates = database.engine() == Engine::postgres;  // DELETE would take too long
    for (const char* table : {"usage_mark", "usage_run", "usage_hour", "usage_day",
                              "usage_account_hour", "usage_client"}) {
      transaction.run_once((truncates ? "TRUNCATE " : "DELETE FROM ") + std::string(table));
    }
    return Unit{};
  });
}

void prepare(Database& database) {
  database.write([](Transaction& transaction) {
    for (const char* statement : index_tables) transaction.run_once(statement);
    return Unit{};
  });
  const bool is_current = database.with([](Connection& connection) {
    return connection.query_once("PRAGMA user_version", "i").number(0, 0) == index_version &&
           connection.run(count_strangers).number(0, 0) == 0;
  });
  if (is_current) return;
  empty(database);
  database.with([](Connection& connection) {
    connection.run_once("PRAGMA user_version = " + std::to_string(index_version));
    return Unit{};
  });
}

}  // namespace

Database& UsageIndex::open() {
  if (context_.database.engine() == Engine::postgres) return context_.database;
  const std::lock_guard lock(mutex_);
  if (file_ == nullptr) file_ = open_file();
  return *file_;
}

void UsageIndex::forget() { empty(open()); }

std::unique_ptr<Database> UsageIndex::open_file() const {
  Settings settings = context_.database.settings();
  const std::string books = sqlite_file(settings);
  settings.sqlite_path = std::filesystem::absolute(books).string() + ".usage";
  settings.sessions = index_sessions;
  // What a power failure takes from the index is found and indexed again.
  auto database = std::make_unique<Database>(
      settings,
      std::vector<std::string>{"PRAGMA synchronous = NORMAL",
                               "PRAGMA cache_size = -8192",  // kB: a chunk is sorted in it
                               "ATTACH DATABASE '" + uri_of(books) + "' AS books"});
  prepare(*database);
  return database;
}

}  // namespace turnpike::storage
