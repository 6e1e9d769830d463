// The file format of the embedded store: its tables, and the check that a file is a govdata store
// and not from a newer build. Any Thread may call the functions; a Database belongs to one Thread.
#pragma once

#include <memory>
#include <string>

#include "govdata/store/sqlite.h"

namespace turnpike::govdata {

inline constexpr std::int64_t schema_version = 1;

// Thrown if the file exists but is not a store that this build can use.
class SchemaError : public SqliteError {
 public:
  explicit SchemaError(const std::string& text) : SqliteError(SQLITE_MISMATCH, text) {}
};

// For writers: creates the file and the tables if they are missing.
std::unique_ptr<Database> open_for_import(const std::string& path);

// For readers: the file must exist and have this version's tables.
std::unique_ptr<Database> open_for_reading(const std::string& path);

}  // namespace turnpike::govdata
