// CSV after RFC 4180, streamed: quoted fields may hold line breaks; a lone quote inside a plain
// field stands for itself. Used by one Thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "govdata/import/input.h"

namespace turnpike::govdata {

class CsvReader {
 public:
  explicit CsvReader(Input& input) : input_(input) {}
  // The next row; false at the end. Throws ImportError where a quote never closes or a row is
  // larger than a record may be.
  bool row(std::vector<std::string>& fields);
  // Line on which the last row began, from 1.
  [[nodiscard]] std::uint64_t line() const { return row_line_; }

 private:
  Input& input_;
  std::uint64_t next_line_ = 1;
  std::uint64_t row_line_ = 0;
};

// The items of a cell such as `["0x1","a(b,c)"]`, `[0,1]` or `[a9059cbb,]`; false when it is no
// list. Quotes are taken off; bare items are kept as they stand.
bool read_list_cell(const std::string& cell, std::vector<std::string>& items);

}  // namespace turnpike::govdata
