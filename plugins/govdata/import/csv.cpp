#include "govdata/import/csv.h"

namespace turnpike::govdata {
namespace {

constexpr std::size_t columns_max = 1024;
constexpr std::size_t csv_items_max = 4096;
constexpr int end_of_input = -1;

}  // namespace

bool CsvReader::row(std::vector<std::string>& fields) {
  fields.clear();
  input_.begin_record();
  int c = input_.byte();
  while (c == '\n' || c == '\r') {  // blank lines
    next_line_ += c == '\n' ? 1 : 0;
    c = input_.byte();
  }
  row_line_ = next_line_;
  if (c == end_of_input) return false;
  std::string field;
  bool quoted = false;
  for (;; c = input_.byte()) {
    if (quoted) {
      if (c == end_of_input) {
        throw ImportError("the quote of the row on line " + std::to_string(row_line_) +
                          " never closes");
      }
      next_line_ += c == '\n' ? 1 : 0;
      if (c != '"') {
        field += static_cast<char>(c);
      } else if (input_.sgetc() == '"') {
        field += static_cast<char>(input_.byte());
      } else {
        quoted = false;
      }
      continue;
    }
    if (c == '"' && field.empty()) {
      quoted = true;
    } else if (c == ',') {
      if (fields.size() >= columns_max) throw ImportError("a row has more than 1024 columns");
      fields.push_back(std::move(field));
      field.clear();
    } else if (c == '\n' || c == end_of_input) {
      next_line_ += c == '\n' ? 1 : 0;
      if (!field.empty() && field.back() == '\r') field.pop_back();
      fields.push_back(std::move(field));
      return true;
    } else {
      field += static_cast<char>(c);
    }
  }
}

bool read_list_cell(const std::string& cell, std::vector<std::string>& items) {
  items.clear();
  if (cell.size() < 2 || cell.front() != '[' || cell.back() != ']') return false;
  std::string item;
  bool quoted = false;
  const std::size_t end = cell.size() - 1;
  for (std::size_t at = 1; at < end; ++at) {
    const char c = cell[at];
    if (quoted && c == '\\' && at + 1 < end) {
      item += cell[++at];
    } else if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      if (items.size() >= csv_items_max) return false;
      items.push_back(std::move(item));
      item.clear();
    } else if (quoted || (c != ' ' && c != '\n')) {
      item += c;
    }
  }
  if (quoted) return false;
  if (cell.size() > 2) items.push_back(std::move(item));
  return true;
}

}  // namespace turnpike::govdata
