#include "storage/engine/statement.h"

#include <charconv>
#include <cstring>
#include <string_view>
#include <utility>

namespace turnpike::storage {
namespace {

Columns columns_of(const char* kinds) {
  Columns columns;
  columns.reserve(std::strlen(kinds));
  for (const char* kind = kinds; *kind != '\0'; ++kind) {
    if (*kind == 'i') {
      columns.emplace_back(std::in_place_index<0>);
    } else {
      columns.emplace_back(std::in_place_index<1>);
    }
  }
  return columns;
}

using PgResult = std::unique_ptr<PGresult, decltype(&PQclear)>;

PgResult result_of(PGresult* result) { return {result, PQclear}; }

bool is_good(const PgResult& result) {
  const ExecStatusType status = PQresultStatus(result.get());  // of null: PGRES_FATAL_ERROR
  return status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK;
}

// Empty: the server did not answer.
std::string_view sqlstate_of(const PgResult& result) {
  const char* const state = PQresultErrorField(result.get(), PG_DIAG_SQLSTATE);
  return state == nullptr ? "" : state;
}

[[noreturn]] void fail_on(PGconn* server, const PgResult& result) {
  const std::string_view state = sqlstate_of(result);
  if (state == "40P01" || state == "40001") throw TransactionLost(PQerrorMessage(server));
  throw StoreError(StoreError::Kind::unavailable, PQerrorMessage(server));
}

Columns columns_of(const PgResult& result, const char* kinds) {
  Columns columns = columns_of(kinds);
  const int rows = PQntuples(result.get());
  for (std::size_t at = 0; at < columns.size(); ++at) {
    const int column = static_cast<int>(at);
    std::visit([&](auto& cells) { cells.resize(static_cast<std::size_t>(rows)); }, columns[at]);
    for (int row = 0; row < rows; ++row) {
      const char* const text = PQgetvalue(result.get(), row, column);
      const auto size = static_cast<std::size_t>(PQgetlength(result.get(), row, column));
      const auto cell = static_cast<std::size_t>(row);
      if (auto* const numbers = std::get_if<0>(&columns[at])) {
        const auto [end, fault] = std::from_chars(text, text + size, (*numbers)[cell]);
        if (size > 0 && (fault != std::errc() || end != text + size)) {
          throw StoreError(StoreError::Kind::unavailable,
                           "not a whole number: " + std::string(text, size));
        }
      } else {
        std::get<1>(columns[at])[cell].assign(text, size);
      }
    }
  }
  return columns;
}

}  // namespace

// ---- SQLite -------------------------------------------------------------------------------------

// One execution of the statement; resets the statement afterwards.
class SqliteStatement::Use {
 public:
  explicit Use(sqlite3_stmt* statement) noexcept : statement_(statement) {}
  ~Use() { sqlite3_reset(statement_); }
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;

 private:
  sqlite3_stmt* const statement_;
};

SqliteStatement::SqliteStatement(sqlite3* database, const std::string& sql, const char* kinds)
    : database_(database), kinds_(kinds) {
  sqlite3_stmt* prepared = nullptr;
  const int end = sqlite3_prepare_v3(database, sql.data(), static_cast<int>(sql.size()),
                                     SQLITE_PREPARE_PERSISTENT, &prepared, nullptr);
  statement_.reset(prepared);
  if (end != SQLITE_OK) fail();
}

Columns SqliteStatement::run(std::span<const Value> values) {
  const Use use(statement_.get());
  int position = 0;
  for (const Value& value : values) {
    ++position;
    std::visit([&](const auto& each) { bind(position, each); }, value);
  }
  Columns columns = columns_of(kinds_);
  while (step()) {
    for (std::size_t at = 0; at < columns.size(); ++at) {
      const int column = static_cast<int>(at);
      if (auto* const numbers = std::get_if<0>(&columns[at])) {
        numbers->push_back(sqlite3_column_int64(statement_.get(), column));
      } else {
        const auto* const text =
            reinterpret_cast<const char*>(sqlite3_column_text(statement_.get(), column));
        const int size = sqlite3_column_bytes(statement_.get(), column);
        std::get<1>(columns[at])
            .emplace_back(text == nullptr ? "" : text, static_cast<std::size_t>(size));
      }
    }
  }
  return columns;
}

std::size_t SqliteStatement::run_rows(std::span<const Rows::Column* const> parameters,
                                      std::size_t rows) {
  const sqlite3_int64 before = sqlite3_total_changes64(database_);
  for (std::size_t row = 0; row < rows; ++row) {
    const Use use(statement_.get());
    int position = 0;
    for (const Rows::Column* const column : parameters) {
      ++position;
      std::visit([&](const auto& cells) { bind(position, cells[row]); }, *column);
    }
    while (step()) {
    }
  }
  return static_cast<std::size_t>(sqlite3_total_changes64(database_) - before);
}

void SqliteStatement::bind(int position, std::int64_t value) {
  if (sqlite3_bind_int64(statement_.get(), position, value) != SQLITE_OK) fail();
}

// Does not copy the text, which outlives the execution.
void SqliteStatement::bind(int position, std::string_view value) {
  const char* const text = value.data() == nullptr ? "" : value.data();  // null would be NULL
  if (sqlite3_bind_text64(statement_.get(), position, text, value.size(), SQLITE_STATIC,
                          SQLITE_UTF8) != SQLITE_OK) {
    fail();
  }
}

bool SqliteStatement::step() {
  const int end = sqlite3_step(statement_.get());
  if (end == SQLITE_ROW) return true;
  if (end != SQLITE_DONE) fail();
  return false;
}

void SqliteStatement::fail() const {
  const int code = sqlite3_errcode(database_) & 0xff;
  const bool ends_trust = code == SQLITE_IOERR || code == SQLITE_CORRUPT;
  throw StoreError(ends_trust ? StoreError::Kind::fatal : StoreError::Kind::unavailable,
                   std::string("SQLite: ") + sqlite3_errmsg(database_));
}

// ---- PostgreSQL ---------------------------------------------------------------------------------

PostgresStatement::PostgresStatement(PGconn* server, const char* sql, const char* kinds)
    : server_(server), sql_(sql), kinds_(kinds) {}

Columns PostgresStatement::run(std::span<const Value> values) {
  if (name_.empty()) prepare();
  texts_.resize(values.size());
  pointers_.resize(values.size());
  for (std::size_t at = 0; at < values.size(); ++at) {
    if (const auto* const number = std::get_if<0>(&values[at])) {
      texts_[at] = std::to_string(*number);
    } else {
      texts_[at] = std::get<1>(values[at]);
    }
    pointers_[at] = texts_[at].c_str();
  }
  const PgResult result =
      result_of(PQexecPrepared(server_, name_.c_str(), static_cast<int>(values.size()),
                               pointers_.data(), nullptr, nullptr, 0));
  if (!is_good(result)) {
    // feature_not_supported: the schema has changed the result's columns; another is prepared.
    if (sqlstate_of(result) == "0A000") name_.clear();
    fail_on(server_, result);
  }
  return columns_of(result, kinds_);
}

void PostgresStatement::prepare() {
  // The address is unique among the statements of a session, since all live as long as the session.
  const std::string name = "s" + std::to_string(reinterpret_cast<std::uintptr_t>(this)) + "_" +
                           std::to_string(++prepared_);
  const PgResult result = result_of(PQprepare(server_, name.c_str(), sql_, 0, nullptr));
  if (!is_good(result)) fail_on(server_, result);
  name_ = name;
}

Columns run_once_on(PGconn* server, const std::string& sql, const char* kinds) {
  const PgResult result = result_of(PQexec(server, sql.c_str()));
  if (!is_good(result)) fail_on(server, result);
  return columns_of(result, kinds);
}

}  // namespace turnpike::storage
