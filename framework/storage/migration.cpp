#include "storage/migration.h"

#include <algorithm>
#include <optional>
#include <span>

#include "crypto/digest.h"
#include "storage/engine/transaction.h"

namespace turnpike::storage {
namespace {

constexpr Query has_table_sqlite{
    "SELECT COUNT(*) FROM sqlite_master WHERE type = 'table' AND name = 'schema_migration'", "i"};
constexpr Query has_table_postgres{
    "SELECT COUNT(*) FROM pg_class r JOIN pg_namespace n ON n.oid = r.relnamespace"
    " WHERE n.nspname = current_schema() AND r.relname = 'schema_migration'",
    "i"};
constexpr Query select_applied{
    "SELECT version, min_reader, name, checksum, fingerprint FROM schema_migration"
    " ORDER BY version",
    "iittt"};
constexpr Query insert_applied{
    "INSERT INTO schema_migration (version, name, checksum, min_reader, applied_at, fingerprint)"
    " VALUES ($1, $2, $3, $4, $5, $6)"};

constexpr Query select_functions{"SELECT version, checksum, fingerprint FROM schema_functions",
                                 "itt"};
constexpr Query delete_functions{"DELETE FROM schema_functions"};
constexpr Query insert_functions{
    "INSERT INTO schema_functions (version, checksum, applied_at, fingerprint)"
    " VALUES ($1, $2, $3, $4)"};
// Updates the fingerprint after a migration, which may have dropped functions.
constexpr Query update_functions{"UPDATE schema_functions SET fingerprint = $1"};

constexpr char create_table[] =
    "CREATE TABLE IF NOT EXISTS schema_migration ("
    "version BIGINT PRIMARY KEY NOT NULL, name TEXT NOT NULL, checksum TEXT NOT NULL,"
    " min_reader BIGINT NOT NULL, applied_at BIGINT NOT NULL, fingerprint TEXT NOT NULL)";
constexpr char create_functions_table[] =
    "CREATE TABLE IF NOT EXISTS schema_functions ("
    "version BIGINT NOT NULL, checksum TEXT NOT NULL, applied_at BIGINT NOT NULL,"
    " fingerprint TEXT NOT NULL)";

// Describes the whole schema except functions, one text per object, in a fixed order.
constexpr char describe_sqlite[] =
    "SELECT type || ' ' || name || ' ' || COALESCE(sql, '') FROM sqlite_master"
    " WHERE name NOT LIKE 'sqlite~_%' ESCAPE '~' ORDER BY type, name";
// From pg_attribute, not information_schema.columns: that view checks the privileges of each column
// and takes twice the time, for which each start and each command would wait.
constexpr char describe_postgres[] =
    "SELECT t FROM ("
    " SELECT 'column ' || r.relname || '.' || a.attname || ' ' || format_type(a.atttypid, NULL)"
    "   || CASE WHEN a.attnotnull THEN ' NO ' ELSE ' YES ' END"
    "   || COALESCE(pg_get_expr(d.adbin, d.adrelid), '') AS t"
    "   FROM pg_class r JOIN pg_namespace n ON n.oid = r.relnamespace"
    "   JOIN pg_attribute a ON a.attrelid = r.oid"
    "   LEFT JOIN pg_attrdef d ON d.adrelid = r.oid AND d.adnum = a.attnum"
    "   WHERE n.nspname = current_schema() AND r.relkind IN ('r', 'v', 'f', 'p')"
    "   AND a.attnum > 0 AND NOT a.attisdropped"
    " UNION ALL SELECT 'index ' || indexdef FROM pg_indexes WHERE schemaname = current_schema()"
    " UNION ALL SELECT 'constraint ' || c.conname || ' ' || pg_get_constraintdef(c.oid)"
    "   FROM pg_constraint c JOIN pg_namespace n ON n.oid = c.connamespace"
    "   WHERE n.nspname = current_schema()"
    " UNION ALL SELECT 'trigger ' || g.tgname || ' ' || pg_get_triggerdef(g.oid)"
    "   FROM pg_trigger g JOIN pg_class r ON r.oid = g.tgrelid"
    "   JOIN pg_namespace n ON n.oid = r.relnamespace"
    "   WHERE n.nspname = current_schema() AND NOT g.tgisinternal"
    ") AS schema_parts ORDER BY t COLLATE \"C\"";
constexpr char describe_functions[] =
    "SELECT t FROM (SELECT p.proname || ' ' || p.prosrc AS t"
    "   FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace"
    "   WHERE n.nspname = current_schema()"
    ") AS functions ORDER BY t COLLATE \"C\"";

struct Applied {
  std::uint32_t version = 0;
  std::uint32_t min_reader = 0;
  std::string name;
  std::string checksum;
  std::string fingerprint;
};

struct AppliedFunctions {
  std::uint32_t version = 0;
  std::string checksum;
  std::string fingerprint;
};

std::string digest_of(Connection& connection, const char* description) {
  const Rows rows = connection.query_once(description, "t");
  std::string all;
  for (std::size_t row = 0; row < rows.size(); ++row) all += rows.text(row, 0) + "\n";
  return crypto::sha256_hex(all);
}

std::string fingerprint_of(Connection& connection) {
  return digest_of(connection,
                   connection.engine() == Engine::sqlite ? describe_sqlite : describe_postgres);
}

// REQUIRES: PostgreSQL, and a migration was applied.
AppliedFunctions functions_in(Connection& connection) {
  const Rows rows = connection.query_once(select_functions.sql, select_functions.columns);
  if (rows.size() == 0) return {};
  return {static_cast<std::uint32_t>(rows.number(0, 0)), rows.text(0, 1), rows.text(0, 2)};
}

bool is_behind(const AppliedFunctions& applied, const Functions& known) {
  return applied.version < known.version ||
         (applied.version == known.version && applied.checksum != crypto::sha256_hex(known.sql));
}

std::vector<Applied> applied_in(Connection& connection) {
  const bool is_sqlite = connection.engine() == Engine::sqlite;
  const Rows table =
      connection.query_once(is_sqlite ? has_table_sqlite.sql : has_table_postgres.sql, "i");
  std::vector<Applied> applied;
  if (table.number(0, 0) == 0) return applied;
  const Rows rows = connection.query_once(select_applied.sql, select_applied.columns);
  for (std::size_t row = 0; row < rows.size(); ++row) {
    applied.push_back({static_cast<std::uint32_t>(rows.number(row, 0)),
                       static_cast<std::uint32_t>(rows.number(row, 1)), rows.text(row, 2),
                       rows.text(row, 3), rows.text(row, 4)});
  }
  return applied;
}

const Migration* find(const std::vector<Migration>& known, std::uint32_t version) {
  const auto found = std::find_if(known.begin(), known.end(), [&](const Migration& migration) {
    return migration.version == version;
  });
  return found == known.end() ? nullptr : &*found;
}

std::span<const Migration> newer_than(const std::vector<Applied>& applied,
                                      std::span<const Migration> known) {
  const std::uint32_t at = applied.empty() ? 0 : applied.back().version;
  while (!known.empty() && known.front().version <= at) known = known.subspan(1);
  return known;
}

// The reason why the database cannot be used or migrated; an older schema is not a reason.
std::string fault_in(Connection& connection, const std::vector<Applied>& applied,
                     const Schema& known) {
  if (applied.empty()) return "";
  const std::uint32_t newest = known.migrations.empty() ? 0 : known.migrations.back().version;
  for (const Applied& row : applied) {
    const Migration* migration = find(known.migrations, row.version);
    if (migration != nullptr && migration->name != row.name) {
      return "migration " + std::to_string(row.version) + " of the database is \"" + row.name +
             "\", this build's is \"" + migration->name +
             "\": an unreleased build made the database, and no migration leads from there to "
             "here. Save what you need with that build (`turnpike export`, `pg_dump` or "
             "`sqlite3 FILE .dump`), then let this one begin with an empty database";
    }
    if (row.min_reader > newest) {
      return "the database is at schema version " + std::to_string(applied.back().version) +
             ", which needs a build that knows version " + std::to_string(row.min_reader) +
             "; this one knows " + std::to_string(newest) + ": install a newer release";
    }
    if (migration != nullptr && crypto::sha256_hex(migration->sql) != row.checksum) {
      return "migration " + std::to_string(row.version) + " (" + row.name +
             ") was recorded with another checksum than this build's: the database was made by "
             "something else, or its history was changed";
    }
  }
  if (fingerprint_of(connection) != applied.back().fingerprint) {
    return "the schema is not the one that migration " + std::to_string(applied.back().version) +
           " (" + applied.back().name +
           ") left: somebody changed tables or indexes by hand; restore them before starting";
  }
  if (connection.engine() == Engine::sqlite) return "";
  const AppliedFunctions functions = functions_in(connection);
  if (functions.version > 0 && digest_of(connection, describe_functions) != functions.fingerprint) {
    return "the functions are not those that version " + std::to_string(functions.version) +
           " left: somebody changed functions by hand; restore them before starting";
  }
  return "";
}

void lock_against_other_nodes(Transaction& transaction, Connection& connection) {
  if (connection.engine() == Engine::postgres) {
    transaction.run_once("SELECT pg_advisory_xact_lock(5281)");
  }
}

// Applies these migrations in one transaction. Only the row of the last has a fingerprint, because
// nobody sees the schema between two of them.
void apply(Connection& connection, std::mutex& writer, std::span<const Migration> migrations,
           std::int64_t now_ms) {
  Transaction transaction(connection, Transaction::Kind::write, writer);
  lock_against_other_nodes(transaction, connection);
  const std::vector<Applied> applied = applied_in(connection);
  migrations = newer_than(applied, migrations);
  if (migrations.empty()) return;  // another node did
  transaction.run_once(create_table);
  const bool has_functions = connection.engine() == Engine::postgres;
  if (has_functions) transaction.run_once(create_functions_table);
  for (const Migration& migration : migrations) {
    for (const std::string& statement : statements_of(migration.sql)) {
      transaction.run_once(statement);
    }
    const bool is_last = &migration == &migrations.back();
    transaction.run(insert_applied,
                    {std::int64_t{migration.version}, migration.name,
                     crypto::sha256_hex(migration.sql), std::int64_t{migration.min_reader}, now_ms,
                     is_last ? fingerprint_of(connection) : std::string()});
  }
  if (has_functions) transaction.run(update_functions, {digest_of(connection, describe_functions)});
  transaction.commit();
}

void apply(Connection& connection, std::mutex& writer, const Functions& functions,
           std::int64_t now_ms) {
  Transaction transaction(connection, Transaction::Kind::write, writer);
  lock_against_other_nodes(transaction, connection);
  if (!is_behind(functions_in(connection), functions)) return;  // another node did
  for (const std::string& statement : statements_of(functions.sql)) transaction.run_once(statement);
  transaction.run(delete_functions);
  transaction.run(insert_functions,
                  {std::int64_t{functions.version}, crypto::sha256_hex(functions.sql), now_ms,
                   digest_of(connection, describe_functions)});
  transaction.commit();
}

}  // namespace

std::vector<std::string> statements_of(const std::string& sql) {
  std::vector<std::string> statements;
  std::string statement;
  bool has_code = false;
  bool in_body = false;
  std::size_t at = 0;
  while (at < sql.size()) {
    const std::size_t end = std::min(sql.find('\n', at), sql.size());
    const std::string line = sql.substr(at, end - at);
    at = end + 1;
    if (!in_body && (line.empty() || line.starts_with("--"))) continue;
    for (std::size_t mark = line.find("$$"); mark != std::string::npos;
         mark = line.find("$$", mark + 2)) {
      in_body = !in_body;
    }
    statement += line + "\n";
    has_code = true;
    if (!in_body && line.ends_with(";")) {
      statement.resize(statement.size() - 2);  // without ";\n"
      statements.push_back(std::move(statement));
      statement.clear();
      has_code = false;
    }
  }
  if (has_code) {
    throw StoreError(StoreError::Kind::fatal, "a migration's last statement does not end with ';'");
  }
  return statements;
}

std::vector<MigrationStep> apply_migrations(Connection& connection, std::mutex& writer,
                                            const Schema& known, std::int64_t now_ms,
                                            bool dry_run) {
  const std::vector<Applied> applied = applied_in(connection);
  const std::string fault = fault_in(connection, applied, known);
  if (!fault.empty()) throw StoreError(StoreError::Kind::fatal, fault);
  const std::span<const Migration> missing = newer_than(applied, known.migrations);
  const std::size_t at_once = applied.empty() ? missing.size() : 1;
  for (std::size_t from = 0; from < missing.size() && !dry_run; from += at_once) {
    apply(connection, writer, missing.subspan(from, at_once), now_ms);
  }
  std::vector<MigrationStep> steps;
  for (const Migration& each : missing) steps.push_back({each.version, each.name});
  if (known.functions.version == 0) return steps;
  const bool is_empty = applied.empty() && dry_run;
  if (is_empty || is_behind(functions_in(connection), known.functions)) {
    if (!dry_run) apply(connection, writer, known.functions, now_ms);
    steps.push_back({known.functions.version, "functions"});
  }
  return steps;
}

std::string check_schema(Connection& connection, const Schema& known) {
  const std::vector<Applied> applied = applied_in(connection);
  if (applied.empty()) return "the database is empty: run `turnpike migrate` first";
  std::string fault = fault_in(connection, applied, known);
  if (!fault.empty()) return fault;
  const std::uint32_t newest = known.migrations.empty() ? 0 : known.migrations.back().version;
  if (applied.back().version < newest) {
    return "the database is at schema version " + std::to_string(applied.back().version) +
           ", this build needs " + std::to_string(newest) + ": run `turnpike migrate` first";
  }
  if (known.functions.version > 0 && is_behind(functions_in(connection), known.functions)) {
    return "the functions of the database are not those of this build: run `turnpike migrate` "
           "first";
  }
  return "";
}

}  // namespace turnpike::storage
