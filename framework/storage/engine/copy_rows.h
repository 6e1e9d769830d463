// CopyRows: rows in the binary format of PostgreSQL's COPY (postgresql.org/docs/15/sql-copy.html,
// "Binary Format"), in a buffer that is reused from batch to batch. Texts must be UTF-8.
//
// A value; used by one Thread at a time. Private to storage/.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace turnpike::storage {

class CopyRows {
 public:
  // `columns`: the number of columns of each row.
  explicit CopyRows(std::uint16_t columns) : columns_(columns) { clear(); }

  void clear() {
    bytes_.assign("PGCOPY\n\xff\r\n", 11).append(8, '\0');  // no flags, no extension
    has_rows_ = false;
  }
  void begin_row() {
    append(columns_);
    has_rows_ = true;
  }
  void add(std::int64_t value) {
    append(std::uint32_t{sizeof value});
    append(static_cast<std::uint64_t>(value));
  }
  void add(std::string_view text) {
    append(static_cast<std::uint32_t>(text.size()));
    bytes_ += text;
  }
  void end() { append(std::uint16_t{0xffff}); }

  [[nodiscard]] bool empty() const noexcept { return !has_rows_; }
  [[nodiscard]] std::string_view bytes() const noexcept { return bytes_; }

 private:
  // Appends the value in network byte order.
  template <class Unsigned>
  void append(Unsigned value) {
    char bytes[sizeof value];
    for (std::size_t at = sizeof value; at-- > 0; value = static_cast<Unsigned>(value >> 4 >> 4)) {
      bytes[at] = static_cast<char>(value & 0xff);
    }
    bytes_.append(bytes, sizeof bytes);
  }

  const std::uint16_t columns_;
  bool has_rows_ = false;
  std::string bytes_;
};

}  // namespace turnpike::storage
