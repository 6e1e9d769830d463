// Helpers shared by the parts of the status store: deflated bytes, many rows in one write, and
// enums and lists as text.
//
// Private to storage/. Values and free functions; a RowBatch is used by one Thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "storage/engine/row_text.h"
#include "storage/engine/transaction.h"

namespace turnpike::storage {

// ---- bytes --------------------------------------------------------------------------------------

// Deflates `text` (RFC 1950) into a parameter of the engine: raw bytes for SQLite's CAST(... AS
// BLOB), hex for PostgreSQL's decode().
std::string packed(Engine engine, std::string_view text);

// Inflates the output of hex() or encode(). Throws StoreError, kind fatal, for anything that
// packed() did not produce.
std::string unpacked(std::string_view hex);

// ---- many rows ----------------------------------------------------------------------------------

// Rows of one statement: vectors that SQLite binds row by row, or one JSON array for PostgreSQL,
// whose columns are named a, b, c, ...
class RowBatch {
 public:
  // `kinds`: the column kinds, see Query; must outlive the batch.
  RowBatch(Engine engine, const char* kinds) : engine_(engine), bulk_(kinds) {}

  template <class... Values>
  void add(const Values&... values) {
    ++rows_;
    if (engine_ == Engine::sqlite) {
      std::size_t column = 0;
      (bulk_.add(column++, values), ...);
      return;
    }
    RowText row(json_);
    char key = 'a';
    (row.add(key++, values), ...);
  }

  [[nodiscard]] bool empty() const noexcept { return rows_ == 0; }
  // Writes the rows, if there are any; may be called again when the transaction is retried. The
  // query of PostgreSQL takes them as its one parameter. No row may be added afterwards.
  void write(Transaction& transaction, const Query& on_sqlite, const Query& on_postgres) {
    if (empty()) return;
    if (engine_ == Engine::sqlite) {
      transaction.run_bulk(on_sqlite, bulk_);
      return;
    }
    if (json_.back() != ']') close_array(json_);
    transaction.run(on_postgres, {json_});
  }

 private:
  const Engine engine_;
  std::size_t rows_ = 0;
  Bulk bulk_;
  std::string json_ = "[";
};

// ---- names and lists ----------------------------------------------------------------------------

[[noreturn]] void refuse_stored(std::string_view what, std::string_view text);

// The enumerator of that name; `last` is the enum's last one. Throws StoreError, kind fatal.
template <class Enum>
Enum stored_enum(std::string_view name, Enum last) {
  for (int at = 0; at <= static_cast<int>(last); ++at) {
    if (name_of(static_cast<Enum>(at)) == name) return static_cast<Enum>(at);
  }
  refuse_stored("a name", name);
}

std::string list_text(const std::vector<std::string>& texts);
std::string list_text(const std::vector<std::uint32_t>& numbers);
// Parse JSON lists. Throw StoreError, kind fatal.
std::vector<std::string> stored_texts(const std::string& json);
std::vector<std::uint32_t> stored_numbers(const std::string& json);

}  // namespace turnpike::storage
