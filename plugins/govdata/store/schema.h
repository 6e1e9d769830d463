// The file format of the embedded store: its tables, and the check that a file is ours and not from
// a newer build. Opening functions may be called from any Thread; what they return belongs to one.
#pragma once

#include <memory>
#include <string>

#include "govdata/store/sqlite.h"

namespace turnpike::govdata {

inline constexpr std::int64_t schema_version = 1;

// Thrown when the file exists but is not a store that this build can use.
class SchemaError : public SqliteError {
 public:
  explicit SchemaError(const std::string& text) : SqliteError(SQLITE_MISMATCH, text) {}
};

// For the importer: makes the file and the tables when they are missing.
std::unique_ptr<Database> open_for_import(const std::string& path);

// For the provider: the file must exist and hold this version's tables.
std::unique_ptr<Database> open_for_reading(const std::string& path);

}  // namespace turnpike::govdata
