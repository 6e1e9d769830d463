// The schema: numbered, checksummed migrations, and on PostgreSQL functions; compiled in.
//
// A migration is one file in migrations/common, in the engine's folder, or in both; then the common
// part is run first. Its first line, `-- min_reader: N`, is the oldest schema version a build may
// know and still use the database afterwards. Expanding steps keep the number of the step before,
// so the previous release runs on while nodes are replaced one by one; the contracting step that
// follows a release later raises it. A migration never changes once it is released.
//
// Functions are one file that is run again as a whole whenever it has changed
// (migrations/postgres/functions.sql says what a change must keep).
//
// Free functions over one Connection; called at start from a plain Thread; throw StoreError.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "storage/engine/connection.h"
#include "storage/node.h"

namespace turnpike::storage {

struct Migration {
  std::uint32_t version = 0;
  std::string name;
  std::uint32_t min_reader = 0;
  std::string sql;  // statements end with ';' at the end of a line, outside $$ ... $$
};

struct Functions {
  std::uint32_t version = 0;  // 0: none
  std::string sql;
};

struct Schema {
  std::vector<Migration> migrations;  // by version
  Functions functions;
};

// Made by CMake of the files.
Schema shipped_schema(Engine engine);

std::vector<std::string> statements_of(const std::string& sql);

// Applies what is missing, each migration in its own transaction with its row, under a lock against
// other nodes; then the functions, unless a newer build has put its own there. Checks first, as
// check_schema() does.
std::vector<MigrationStep> apply_migrations(Connection& connection, std::mutex& writer,
                                            const Schema& known, std::int64_t now_ms, bool dry_run);

// The sentence that tells why a build that knows this schema must not use the database as it is:
// never migrated, behind, tampered with (a recorded checksum or the schema itself differs), of an
// unreleased build, or too new. Empty: it may.
std::string check_schema(Connection& connection, const Schema& known);

}  // namespace turnpike::storage
