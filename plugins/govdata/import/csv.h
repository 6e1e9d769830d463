// A streaming reader of CSV (RFC 4180). Quoted fields may contain line breaks. A quote inside an
// unquoted field is an ordinary character. Used by one Thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "govdata/import/input.h"

namespace turnpike::govdata {

class CsvReader {
 public:
  explicit CsvReader(Input& input) : input_(input) {}
  // Reads the next row; false at the end. Throws ImportError if a quote is never closed, or a row
  // has too many columns or is larger than a record may be.
  bool row(std::vector<std::string>& fields);
  // The line on which the last row began, from 1.
  [[nodiscard]] std::uint64_t line() const { return row_line_; }

 private:
  Input& input_;
  std::uint64_t next_line_ = 1;
  std::uint64_t row_line_ = 0;
};

// Reads the items of a cell such as `["0x1","a(b,c)"]`, `[0,1]` or `[a9059cbb,]`. Quotes are
// removed, as are blanks and line breaks outside of quotes. False if the cell is not a list.
bool read_list_cell(const std::string& cell, std::vector<std::string>& items);

}  // namespace turnpike::govdata
