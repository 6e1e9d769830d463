// Migrations: numbered, checksummed steps of the schema, one .sql file each and engine
// (migrations/), compiled in. A migration's first line, `-- min_reader: N`, is the oldest schema
// version a build may know and still use the database afterwards. Expanding steps keep the number
// of the step before, so the previous release runs on while nodes are replaced one by one; the
// contracting step that follows a release later raises it.
//
// Free functions over one Connection; called at start from a plain Thread; throw StoreError.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "storage/connection.h"
#include "storage/node.h"

namespace turnpike::storage {

struct Migration {
  std::uint32_t version = 0;
  std::string name;
  std::uint32_t min_reader = 0;
  std::string sql;  // statements end with ';' at the end of a line, outside $$ ... $$
};

// Made by CMake of the files.
std::vector<Migration> shipped_migrations(Engine engine);

std::vector<std::string> statements_of(const std::string& sql);

// Applies what is missing, each step in its own transaction with its row, under a lock against
// other nodes. Checks first, as check_schema() does.
std::vector<MigrationStep> apply_migrations(Connection& connection, std::mutex& writer,
                                            const std::vector<Migration>& known,
                                            std::int64_t now_ms, bool dry_run);

// The sentence that tells why a build that knows these migrations must not use the database as it
// is: never migrated, behind, tampered with (a recorded checksum or the schema itself differs), or
// too new. Empty: it may.
std::string check_schema(Connection& connection, const std::vector<Migration>& known);

}  // namespace turnpike::storage
