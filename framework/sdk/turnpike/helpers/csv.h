// CSV: a field of a row (RFC 4180) that is safe to open in a spreadsheet. Names, ids and paths are
// written by others, and a text that begins with =, +, -, @, a tab or a carriage return is a
// formula to spreadsheets, which run it. Such a field begins with an apostrophe, at which they show
// the rest as text. A whole number stays as it is. Whoever needs the exact bytes reads NDJSON.
//
// Helpers are compiled into the plugin that uses them; nothing of them crosses the boundary, so
// they are no part of the fingerprint. A pure function; any Thread.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace turnpike {

inline std::string csv_field(std::string_view text) {
  constexpr std::string_view begins_formula = "=+-@\t\r";
  const std::string_view digits = text.substr(text.starts_with('-') ? 1 : 0);
  const bool is_number = !digits.empty() && std::all_of(digits.begin(), digits.end(), [](char c) {
    return c >= '0' && c <= '9';
  });
  std::string field;
  if (!text.empty() && begins_formula.find(text.front()) != text.npos && !is_number) field = "'";
  field += text;
  if (field.find_first_of(",\"\r\n") == field.npos) return field;
  std::string quoted = "\"";
  for (const char c : field) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

}  // namespace turnpike
