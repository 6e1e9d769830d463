// Connection: one database session with its kept statements, and the edge at which Poco::Data ends:
// nothing of it is seen above, results are values. Every failure leaves as a StoreError whose kind
// tells whether anything can have been written.
//
// Statements are kept: each Query is prepared once per session and bound again afterwards (on
// PostgreSQL a one-off statement costs four round trips). A Query must have static storage, since
// its address is the key. Made by Database; used by one Thread at a time.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "storage/settings.h"

namespace turnpike::storage {

class StoreError : public std::runtime_error {
 public:
  enum class Kind : std::uint8_t {
    unavailable,  // nothing was written; it may be tried again on a fresh session
    unknown,      // a COMMIT without an answer
    fatal,        // the store cannot be trusted any more
  };
  StoreError(Kind kind, const std::string& text) : std::runtime_error(text), kind_(kind) {}
  [[nodiscard]] Kind kind() const noexcept { return kind_; }

 private:
  Kind kind_;
};

// SQL with parameters $1, $2, ... first used in that order (so the text fits both engines), and the
// kinds of its result columns: 'i' whole number, 't' text; never NULL.
struct Query {
  const char* sql;
  const char* columns = "";
};

using Value = std::variant<std::int64_t, std::string_view>;

class Rows {
 public:
  using Column = std::variant<std::vector<std::int64_t>, std::vector<std::string>>;
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] std::int64_t number(std::size_t row, std::size_t column) const {
    return std::get<0>(columns_.at(column)).at(row);
  }
  [[nodiscard]] const std::string& text(std::size_t row, std::size_t column) const {
    return std::get<1>(columns_.at(column)).at(row);
  }

 private:
  friend class Connection;
  std::vector<Column> columns_;
  std::size_t size_ = 0;
};

// Rows of parameters for one statement, by column: SQLite runs it once for each row in one call.
class Bulk {
 public:
  explicit Bulk(const char* columns);
  void clear() noexcept;
  void add(std::size_t column, std::int64_t value) {
    std::get<0>(columns_[column]).push_back(value);
  }
  void add(std::size_t column, std::string_view value) {
    std::get<1>(columns_[column]).emplace_back(value);
  }
  [[nodiscard]] std::size_t size() const noexcept;

 private:
  friend class Connection;
  std::vector<Rows::Column> columns_;
};

enum class TransactionKind : std::uint8_t {
  write,
  snapshot,  // reads that all see the same moment
};

class Connection {
 public:
  // Connects; throws StoreError.
  Connection(const Settings& settings, const std::string& target);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Connects to that PostgreSQL and leaves again; throws StoreError. Poco does not free what it
  // could not connect, 36 kB each time: so one that was away is asked before it is tried again.
  static void ask_postgres(const std::string& target);

  [[nodiscard]] Engine engine() const noexcept;
  // REQUIRES: `query` has static storage and is used with the same kinds of values every time.
  Rows run(const Query& query, std::initializer_list<Value> values = {});
  // SQLite only: one execution for each row of `bulk`, which is the same object every time; returns
  // the number of rows changed.
  std::size_t run_bulk(const Query& query, Bulk& bulk);
  // A one-off statement without parameters, for migrations and session settings.
  void run_once(const std::string& sql);
  Rows query_once(const std::string& sql, const char* columns);

  // The session cannot be used any more.
  [[nodiscard]] bool broken() const noexcept;

 private:
  friend class Transaction;
  void begin(TransactionKind kind);
  void commit();
  void roll_back();

  struct Machine;
  std::unique_ptr<Machine> machine_;
};

}  // namespace turnpike::storage
