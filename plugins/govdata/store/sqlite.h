// A thin wrapper of SQLite's C API that owns connections and statements and throws SqliteError for
// result codes. Private to the govdata plugin and its importer, which catch the exception. A
// Database and its Statements belong to one Thread at a time.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace turnpike::govdata {

class SqliteError : public std::runtime_error {
 public:
  SqliteError(int code, const std::string& text) : std::runtime_error(text), code_(code) {}
  [[nodiscard]] int code() const noexcept { return code_; }

 private:
  int code_;
};

// One use of a prepared statement: bind by position from 1, step, read columns from 0. Texts are
// bound without a copy, so they must live until the last step. The destructor resets the statement.
class Statement {
 public:
  explicit Statement(sqlite3_stmt* raw) noexcept : raw_(raw) {}
  Statement(Statement&& other) noexcept : raw_(other.raw_), next_(other.next_) {
    other.raw_ = nullptr;
  }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;
  Statement& operator=(Statement&&) = delete;
  ~Statement();

  Statement& bind(int position, std::int64_t value);
  Statement& bind(int position, std::string_view text);
  Statement& bind(int position, const char* text) { return bind(position, std::string_view(text)); }
  Statement& bind(int position, std::nullptr_t);
  template <class T>
  Statement& bind(int position, const std::optional<T>& value) {
    return value ? bind(position, *value) : bind(position, nullptr);
  }
  // Binds the next positions in order.
  template <class... Values>
  Statement& with(const Values&... values) {
    (bind(next_++, values), ...);
    return *this;
  }

  // True if there is a row.
  bool step();
  // Steps to the end and makes the statement ready to be bound again.
  void run();

  [[nodiscard]] bool is_null(int column) const;
  [[nodiscard]] std::int64_t integer(int column) const;
  [[nodiscard]] std::string text(int column) const;
  [[nodiscard]] std::optional<std::int64_t> maybe_integer(int column) const;
  [[nodiscard]] std::optional<std::string> maybe_text(int column) const;

 private:
  sqlite3_stmt* raw_;
  int next_ = 1;
};

enum class OpenMode { create, read };

class Database {
 public:
  // create: opens the file for writing, and creates it if it is missing. read: the file must exist,
  // and only queries are allowed. ":memory:" works, too.
  Database(const std::string& path, OpenMode mode);
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;
  ~Database();

  void execute(const char* sql);
  // Each text is prepared once per connection. No other use of the same text may be alive.
  Statement prepare(std::string_view sql);
  [[nodiscard]] std::int64_t changes() const noexcept;
  [[nodiscard]] std::int64_t last_row_id() const noexcept;
  // The first column of the first row, or `fallback`.
  std::int64_t number(std::string_view sql, std::int64_t fallback = 0);
  // The texts prepared so far, for tests that check their query plans.
  [[nodiscard]] std::vector<std::string> prepared() const;

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* raw) const noexcept { sqlite3_finalize(raw); }
  };
  void turn_to_wal();
  sqlite3* raw_ = nullptr;
  std::map<std::string, std::unique_ptr<sqlite3_stmt, Finalize>, std::less<>> statements_;
};

// BEGIN on construction; ROLLBACK on destruction unless committed.
class Transaction {
 public:
  enum class Kind { read, write };
  Transaction(Database& database, Kind kind);
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  ~Transaction();
  void commit();

 private:
  Database& database_;
  bool open_ = true;
};

}  // namespace turnpike::govdata
