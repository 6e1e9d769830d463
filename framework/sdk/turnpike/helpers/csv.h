// CSV: writes a field of a row (RFC 4180) that is safe to open in a spreadsheet. Names, ids and
// paths come from callers, and a spreadsheet runs a text that begins with =, +, -, @, a tab or a
// carriage return as a formula. Such a field gets a leading apostrophe, so that the spreadsheet
// shows it as text. A whole number stays as it is. Readers that need the exact bytes use NDJSON.
//
// Helpers are compiled into the plugin that uses them; nothing of them crosses the boundary, so
// they are not part of the fingerprint. A pure function; any Thread.
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
