// Reads the records of a JSON or NDJSON input one at a time. The document is streamed, so only the
// current record is in memory, and numbers keep their own digits. Depth, size and the number of
// values of a record are limited; invalid UTF-8 is refused. Used by one Thread.
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
  std::string text;  // a string's value, or a number's digits as written
  std::vector<JsonValue> items;
  std::vector<Field> fields;

  // Null if this is not an object or has no such field.
  [[nodiscard]] const JsonValue* find(std::string_view name) const;
  // Like find(), but also null if the value is JSON's null.
  [[nodiscard]] const JsonValue* get(std::string_view name) const;
  [[nodiscard]] bool is(Kind wanted) const { return kind == wanted; }
  // The text of a string or number field; empty for other fields.
  [[nodiscard]] std::string_view scalar(std::string_view name) const;
  // Compact JSON. Numbers keep their digits.
  [[nodiscard]] std::string dump() const;
};

struct JsonValue::Field {
  std::string name;
  JsonValue value;
};

struct JsonRecord {
  std::string_view list;  // the name of its list, or its key; empty in a bare array or NDJSON
  std::string position;   // "proposals[12]", "line 12"
  JsonValue value;
};

struct JsonShape {
  // The names of the arrays that contain the records, at the top level or one or two levels below
  // `data`. A single object below `data` with such a name minus its last letter is a record, too.
  // If empty, every top-level value, or every element of a top-level array, is a record.
  std::vector<std::string_view> lists;
  // The members of a top-level object are the records, and `lists` has no effect.
  bool keyed = false;
};

// Calls `on_record` for each record, and `on_bad` with position and reason for each NDJSON line
// that is not JSON. Throws ImportError if reading a document cannot continue.
void read_json_records(Input& input, const JsonShape& shape,
                       const std::function<void(JsonRecord&&)>& on_record,
                       const std::function<void(std::string, std::string)>& on_bad);

}  // namespace turnpike::govdata
