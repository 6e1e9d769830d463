// Statement: SQL that is prepared once per session and run many times, through the C interfaces of
// SQLite and libpq. The session is Poco::Data's, which exposes its handle (Utility::dbHandle() and
// Utility::handle()); Poco's own statements are not used, since those of Poco 1.11
//   - prepare anew on SQLite for each execution, which costs more than a small write,
//   - free the last result twice on PostgreSQL when an execution fails,
//   - end a text of SQLite at its first NUL.
//
// Failures leave as StoreError: `fatal` when SQLite reports a broken file or disk, otherwise
// `unavailable`.
//
// Private to connection.cpp: the Connection owns its statements, which are destroyed before its
// session; used by the Thread that uses the Connection.
#pragma once

#include <libpq-fe.h>
#include <sqlite3.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "storage/engine/connection.h"

namespace turnpike::storage {

using Columns = std::vector<Rows::Column>;

class Statement {
 public:
  virtual ~Statement() = default;
  virtual Columns run(std::span<const Value> values) = 0;
};

class SqliteStatement final : public Statement {
 public:
  // REQUIRES: one SQL statement. `kinds` is Query::columns and outlives the statement.
  SqliteStatement(sqlite3* database, const std::string& sql, const char* kinds);
  Columns run(std::span<const Value> values) override;
  // Runs the statement once per row; returns the number of changed rows.
  std::size_t run_rows(std::span<const Rows::Column* const> parameters, std::size_t rows);

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const noexcept { sqlite3_finalize(statement); }
  };
  class Use;
  void bind(int position, std::int64_t value);
  void bind(int position, std::string_view value);
  bool step();  // false: no further row
  [[noreturn]] void fail() const;

  sqlite3* const database_;
  const char* const kinds_;
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

class PostgresStatement final : public Statement {
 public:
  // As SqliteStatement(); `sql` must outlive the statement too. Prepared at the first run.
  PostgresStatement(PGconn* server, const char* sql, const char* kinds);
  Columns run(std::span<const Value> values) override;

 private:
  void prepare();

  PGconn* const server_;
  const char* const sql_;
  const char* const kinds_;
  std::string name_;                // of the prepared statement on the server; empty: none
  int prepared_ = 0;                // number of times prepared
  std::vector<std::string> texts_;  // values with the NUL that libpq requires
  std::vector<const char*> pointers_;
};

// Runs SQL without parameters in one round trip.
Columns run_once_on(PGconn* server, const std::string& sql, const char* kinds);

}  // namespace turnpike::storage
