#include "govdata/store/sqlite.h"

namespace turnpike::govdata {
namespace {

constexpr int busy_timeout_ms = 5000;
// A row may hold a body of 1 MiB and its raw record. No row needs more than this.
constexpr int row_bytes_max = 128 << 20;

[[noreturn]] void raise(sqlite3* raw, int code) {
  throw SqliteError(code, raw != nullptr ? sqlite3_errmsg(raw) : sqlite3_errstr(code));
}

void check(sqlite3_stmt* raw, int code) {
  if (code != SQLITE_OK) raise(sqlite3_db_handle(raw), code);
}

}  // namespace

Statement::~Statement() {
  if (raw_ == nullptr) return;
  sqlite3_reset(raw_);
  sqlite3_clear_bindings(raw_);
}

Statement& Statement::bind(int position, std::int64_t value) {
  check(raw_, sqlite3_bind_int64(raw_, position, value));
  return *this;
}

Statement& Statement::bind(int position, std::string_view text) {
  const char* data = text.data() != nullptr ? text.data() : "";
  check(raw_, sqlite3_bind_text64(raw_, position, data, text.size(), SQLITE_STATIC, SQLITE_UTF8));
  return *this;
}

Statement& Statement::bind(int position, std::nullptr_t) {
  check(raw_, sqlite3_bind_null(raw_, position));
  return *this;
}

bool Statement::step() {
  const int code = sqlite3_step(raw_);
  if (code == SQLITE_ROW) return true;
  if (code != SQLITE_DONE) raise(sqlite3_db_handle(raw_), code);
  return false;
}

void Statement::run() {
  while (step()) {
  }
  check(raw_, sqlite3_reset(raw_));
  next_ = 1;
}

bool Statement::is_null(int column) const {
  return sqlite3_column_type(raw_, column) == SQLITE_NULL;
}

std::int64_t Statement::integer(int column) const { return sqlite3_column_int64(raw_, column); }

std::string Statement::text(int column) const {
  const auto* data = reinterpret_cast<const char*>(sqlite3_column_text(raw_, column));
  if (data == nullptr) return {};
  return {data, static_cast<std::size_t>(sqlite3_column_bytes(raw_, column))};
}

std::optional<std::int64_t> Statement::maybe_integer(int column) const {
  if (is_null(column)) return std::nullopt;
  return integer(column);
}

std::optional<std::string> Statement::maybe_text(int column) const {
  if (is_null(column)) return std::nullopt;
  return text(column);
}

Database::Database(const std::string& path, OpenMode mode) {
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE |
                    (mode == OpenMode::create ? SQLITE_OPEN_CREATE : 0);
  const int code = sqlite3_open_v2(path.c_str(), &raw_, flags, nullptr);
  if (code != SQLITE_OK) {
    const SqliteError error(code, raw_ != nullptr ? sqlite3_errmsg(raw_) : sqlite3_errstr(code));
    sqlite3_close(raw_);
    throw error;
  }
  try {
    sqlite3_busy_timeout(raw_, busy_timeout_ms);
    sqlite3_limit(raw_, SQLITE_LIMIT_LENGTH, row_bytes_max);
    sqlite3_db_config(raw_, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
    execute("PRAGMA foreign_keys=ON");
    if (mode == OpenMode::read) {
      // A cache of 16 MiB holds the upper levels of the indexes of a million rows.
      execute("PRAGMA query_only=ON; PRAGMA trusted_schema=OFF; PRAGMA cache_size=-16384");
    }
    if (mode == OpenMode::create) {
      turn_to_wal();
      execute("PRAGMA synchronous=NORMAL; PRAGMA cache_size=-65536");
    }
  } catch (...) {
    sqlite3_close(raw_);
    throw;
  }
}

Database::~Database() {
  statements_.clear();
  sqlite3_close(raw_);
}

// Two importers that turn a new file to WAL at once would wait for each other, so SQLite refuses
// one of them immediately, whatever its busy timeout. The refused importer waits until the other
// has finished, then tries again.
void Database::turn_to_wal() {
  constexpr int tries_max = 100;
  for (int tried = 1;; ++tried) {
    try {
      execute("PRAGMA journal_mode=WAL");
      return;
    } catch (const SqliteError& error) {
      if (error.code() != SQLITE_BUSY || tried == tries_max) throw;
    }
    execute("BEGIN IMMEDIATE; COMMIT");  // waits, up to the busy timeout
  }
}

void Database::execute(const char* sql) {
  const int code = sqlite3_exec(raw_, sql, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) raise(raw_, code);
}

Statement Database::prepare(std::string_view sql) {
  auto found = statements_.find(sql);
  if (found == statements_.end()) {
    sqlite3_stmt* raw = nullptr;
    const int code = sqlite3_prepare_v3(raw_, sql.data(), static_cast<int>(sql.size()),
                                        SQLITE_PREPARE_PERSISTENT, &raw, nullptr);
    if (code != SQLITE_OK) raise(raw_, code);
    found = statements_.emplace(std::string(sql), raw).first;
  }
  return Statement(found->second.get());
}

std::int64_t Database::changes() const noexcept { return sqlite3_changes64(raw_); }

std::int64_t Database::last_row_id() const noexcept { return sqlite3_last_insert_rowid(raw_); }

std::int64_t Database::number(std::string_view sql, std::int64_t fallback) {
  Statement statement = prepare(sql);
  return statement.step() && !statement.is_null(0) ? statement.integer(0) : fallback;
}

std::vector<std::string> Database::prepared() const {
  std::vector<std::string> texts;
  for (const auto& [text, statement] : statements_) texts.push_back(text);
  return texts;
}

Transaction::Transaction(Database& database, Kind kind) : database_(database) {
  database.execute(kind == Kind::write ? "BEGIN IMMEDIATE" : "BEGIN");
}

Transaction::~Transaction() {
  if (!open_) return;
  try {
    database_.execute("ROLLBACK");
  } catch (const SqliteError&) {  // SQLite has already rolled back (full disk, I/O error)
  }
}

void Transaction::commit() {
  database_.execute("COMMIT");
  open_ = false;
}

}  // namespace turnpike::govdata
