// Cursors in the store: JSON objects with a version. If a cursor cannot be read, the source is read
// from its beginning; records that are the same do not change. Pure functions; any Thread may call
// them.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace turnpike::govdata {

inline constexpr int cursor_version = 1;

// Null if `text` is not a cursor of this version.
nlohmann::json cursor_object(const std::string& text);

// The cursor that `read` makes from `text`; `beginning` if the text cannot be read.
template <class Cursor, class Read>
Cursor read_cursor_text(const std::string& text, const Cursor& beginning, Read read) {
  const nlohmann::json json = cursor_object(text);
  if (json.is_null()) return beginning;
  try {
    Cursor cursor = beginning;
    read(json, cursor);
    return cursor;
  } catch (const nlohmann::json::exception&) {
    return beginning;
  }
}

}  // namespace turnpike::govdata
