// Connection: one database session with its prepared statements. It hides Poco::Data: callers see
// values only. Every failure leaves as a StoreError whose kind tells whether anything can have been
// written.
//
// Each Query is prepared once per session and bound again afterwards. A Query must have static
// storage, since its address is the key. Made by Database; used by one Thread at a time.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "storage/settings.h"

namespace turnpike::storage {

class StoreError : public std::runtime_error {
 public:
  enum class Kind : std::uint8_t {
    unavailable,  // nothing was written; a retry on a fresh session is safe
    unknown,      // a COMMIT whose answer was lost
    fatal,        // the store can no longer be trusted
  };
  StoreError(Kind kind, const std::string& text) : std::runtime_error(text), kind_(kind) {}
  [[nodiscard]] Kind kind() const noexcept { return kind_; }

 private:
  Kind kind_;
};

// PostgreSQL ended the transaction in favour of another one: a deadlock (40P01) or a serialization
// failure (40001). Nothing was written; the same work may succeed in a new transaction.
class TransactionLost : public StoreError {
 public:
  explicit TransactionLost(const std::string& text) : StoreError(Kind::unavailable, text) {}
};

// The error with which PostgreSQL refused a script; nothing of the script stays.
class ScriptRefused : public StoreError {
 public:
  ScriptRefused(const std::string& text, std::string sqlstate, std::string constraint)
      : StoreError(Kind::unavailable, text),
        sqlstate_(std::move(sqlstate)),
        constraint_(std::move(constraint)) {}
  [[nodiscard]] const std::string& sqlstate() const noexcept { return sqlstate_; }
  [[nodiscard]] const std::string& constraint() const noexcept { return constraint_; }

 private:
  std::string sqlstate_;
  std::string constraint_;  // violated constraint; empty: another error
};

// True if the parameters $1, $2, ... of an SQL text first occur in that order. SQLite treats them
// as names and numbers them by their first occurrence in the text.
constexpr bool has_ordered_parameters(std::string_view sql) noexcept {
  std::size_t known = 0;
  for (std::size_t at = sql.find('$'); at != sql.npos; at = sql.find('$', at + 1)) {
    std::size_t number = 0;
    for (std::size_t digit = at + 1; digit < sql.size() && sql[digit] >= '0' && sql[digit] <= '9';
         ++digit) {
      number = number * 10 + static_cast<std::size_t>(sql[digit] - '0');
    }
    if (number > known + 1) return false;
    if (number == known + 1) known = number;
  }
  return true;
}

// SQL whose parameters $1, $2, ... first occur in that order (so the text fits both engines; any
// other does not compile), and the kinds of its result columns: 'i' integer, 't' text; never NULL.
struct Query {
  consteval Query(const char* text, const char* kinds = "") : sql(text), columns(kinds) {
    if (!has_ordered_parameters(text)) throw "parameters are not first used in their order";
  }
  const char* sql;
  const char* columns;
};

using Value = std::variant<std::int64_t, std::string_view>;

class Rows {
 public:
  using Column = std::variant<std::vector<std::int64_t>, std::vector<std::string>>;
  Rows() = default;
  explicit Rows(std::vector<Column> columns)
      : columns_(std::move(columns)),
        size_(columns_.empty()
                  ? 0
                  : std::visit([](const auto& cells) { return cells.size(); }, columns_.front())) {}
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] std::int64_t number(std::size_t row, std::size_t column) const {
    return std::get<0>(columns_.at(column)).at(row);
  }
  [[nodiscard]] const std::string& text(std::size_t row, std::size_t column) const {
    return std::get<1>(columns_.at(column)).at(row);
  }

 private:
  std::vector<Column> columns_;
  std::size_t size_ = 0;
};

// Parameter rows of one statement, stored by column: SQLite runs the statement once per row in one
// call. Texts keep their buffers from batch to batch.
class Bulk {
 public:
  explicit Bulk(const char* columns);
  void clear() noexcept;
  void add(std::size_t column, std::int64_t value) { put<0>(columns_[column], value); }
  void add(std::size_t column, std::string_view value) { put<1>(columns_[column], value); }
  [[nodiscard]] std::size_t size() const noexcept;

 private:
  friend class Connection;
  struct Column {
    Rows::Column cells;  // cells from `filled` on are left over from an earlier batch
    std::size_t filled = 0;
  };
  template <std::size_t kind, class Cell>
  static void put(Column& column, Cell value) {
    auto& cells = std::get<kind>(column.cells);
    if (column.filled == cells.size()) cells.emplace_back();
    cells[column.filled++] = value;
  }
  std::vector<Column> columns_;
};

enum class TransactionKind : std::uint8_t {
  write,
  snapshot,  // all reads see the same moment
};

class Connection {
 public:
  // Connects; throws StoreError.
  Connection(const Settings& settings, const std::string& target);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Connects to the PostgreSQL server and disconnects; throws StoreError. Poco leaks 36 kB for each
  // failed connect, so a server that was down is probed this way first.
  static void ask_postgres(const std::string& target);

  [[nodiscard]] Engine engine() const noexcept;
  // REQUIRES: `query` has static storage and is always used with the same kinds of values.
  Rows run(const Query& query, std::initializer_list<Value> values = {});
  // SQLite only: one execution per row of `bulk`; returns the number of changed rows.
  std::size_t run_bulk(const Query& query, Bulk& bulk);
  // PostgreSQL only: sends statements that form one transaction, in one message. Each COPY ... FROM
  // STDIN in it consumes the next of `copies`. Throws StoreError.
  void run_script(const std::string& sql, std::initializer_list<std::string_view> copies);
  // PostgreSQL only: the text as an SQL literal.
  std::string literal(std::string_view text);
  // A one-off statement without parameters, for migrations and session settings.
  void run_once(const std::string& sql);
  Rows query_once(const std::string& sql, const char* columns);

  // The session can no longer be used.
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
