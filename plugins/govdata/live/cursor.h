// Cursors as they stand in the store: a JSON object of ours with a version. One that is not
// readable counts as none: the source is read from its beginning, which changes nothing that is the
// same. Pure; any Thread.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace turnpike::govdata {

inline constexpr int cursor_version = 1;

// Null: there is none of this version.
nlohmann::json cursor_object(const std::string& text);

// What `read` makes of the cursor, or a Cursor of its own beginning.
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
