// Records of a JSON or NDJSON input, one at a time: the document is streamed, only the record at
// hand is in memory, and numbers keep the digits they were written with. Depth, size and the number
// of values of a record are bounded; invalid UTF-8 is refused. Used by one Thread.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "govdata/import/input.h"

namespace turnpike::govdata {

struct JsonValue {
  struct Field;  // a name and its value
  enum class Kind { null, boolean, number, string, array, object };
  Kind kind = Kind::null;
  bool truth = false;
  std::string text;  // a string's value, or a number's own digits
  std::vector<JsonValue> items;
  std::vector<Field> fields;

  // Null when this is no object or has no such field.
  [[nodiscard]] const JsonValue* find(std::string_view name) const;
  // find(), and null too when the value is JSON's null.
  [[nodiscard]] const JsonValue* get(std::string_view name) const;
  [[nodiscard]] bool is(Kind wanted) const { return kind == wanted; }
  // The text of a string or number field; empty otherwise.
  [[nodiscard]] std::string_view scalar(std::string_view name) const;
  // Compact JSON with the numbers' own digits.
  [[nodiscard]] std::string dump() const;
};

struct JsonValue::Field {
  std::string name;
  JsonValue value;
};

struct JsonRecord {
  std::string_view list;  // name of the list it stood in; empty in a bare array or NDJSON
  std::string position;   // "proposals[12]", "line 12"
  JsonValue value;
};

struct JsonShape {
  // Arrays of this name, at the top or up to two levels below `data`, hold the records; so does,
  // below `data`, a single object of the name without its last letter. Empty: every top-level
  // value, or element of a top-level array.
  std::vector<std::string_view> lists;
  // The members of a top-level object are the records, each by its key; `lists` play no part.
  bool keyed = false;
};

// Calls `on_record` for each record and `on_bad` for each NDJSON line that is no JSON (position,
// reason). Throws ImportError where a document cannot be read on.
void read_json_records(Input& input, const JsonShape& shape,
                       const std::function<void(JsonRecord&&)>& on_record,
                       const std::function<void(std::string, std::string)>& on_bad);

}  // namespace turnpike::govdata
