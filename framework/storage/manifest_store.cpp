#include <unordered_set>

#include <nlohmann/json.hpp>

#include "storage/stores.h"
#include "text/json_text.h"

namespace turnpike::storage {
namespace {

using base::ErrorCode;
using registry::Generation;
using registry::Installation;
using registry::InstalledBefore;
using registry::InstalledFact;
using registry::Source;

// Runs first: its row lock serializes concurrent installers.
constexpr Query next_manifest{
    "UPDATE counter SET value = value + 1 WHERE name = 'manifest' RETURNING value", "i"};
constexpr Query select_registry_epoch{"SELECT value FROM counter WHERE name = 'registry_epoch'",
                                      "i"};
constexpr Query next_generation{
    "UPDATE counter SET value = value + 1 WHERE name = 'generation' RETURNING value", "i"};
constexpr Query select_generation{
    "SELECT id, sequence, compiled_at FROM generation WHERE epoch_id = $1 AND payload_hash = $2",
    "tii"};
constexpr Query insert_generation{
    "INSERT INTO generation (epoch_id, payload_hash, id, sequence, compiled_at)"
    " VALUES ($1, $2, $3, $4, $5)"};
constexpr Query insert_manifest{
    "INSERT INTO manifest (sequence, epoch_id, payload_hash, installed_at, rolled_back_from)"
    " VALUES ($1, $2, $3, $4, $5)"};
constexpr Query insert_files{
    "INSERT INTO generation_files (epoch_id, payload_hash, sequence, files)"
    " VALUES ($1, $2, $3, $4) ON CONFLICT (epoch_id, payload_hash) DO UPDATE"
    " SET files = excluded.files WHERE generation_files.files <> excluded.files"};
constexpr Query drop_old_files{
    "DELETE FROM generation_files WHERE payload_hash <> $1 AND sequence <="
    " (SELECT value FROM counter WHERE name = 'generation') - $2"};
constexpr Query select_files{
    "SELECT files FROM generation_files WHERE epoch_id = $1 AND payload_hash = $2", "t"};

#define INSTALLED                                                                            \
  "SELECT m.epoch_id, m.payload_hash, m.sequence, m.installed_at, m.rolled_back_from, g.id," \
  " g.sequence, g.compiled_at, COALESCE(f.payload_hash, '') AS has_files FROM manifest m"    \
  " JOIN generation g ON g.epoch_id = m.epoch_id AND g.payload_hash = m.payload_hash"        \
  " LEFT JOIN generation_files f ON f.epoch_id = m.epoch_id AND f.payload_hash = m.payload_hash"
constexpr Query select_history{INSTALLED " ORDER BY m.sequence DESC LIMIT $1", "ttiittiit"};
constexpr Query select_newest{INSTALLED " WHERE g.id = $1 ORDER BY m.sequence DESC LIMIT 1",
                              "ttiittiit"};
#undef INSTALLED

constexpr Query select_fact_digests{"SELECT key, digest FROM registry_fact ORDER BY key", "tt"};
constexpr Query select_definition{"SELECT definition FROM registry_fact WHERE key = $1", "t"};
constexpr Query undefined_facts{"SELECT key FROM registry_fact WHERE definition = ''", "t"};

// One round trip for any number of facts of a program; [[key, digest or definition], ...].
struct FactQueries {
  Query insert;
  Query redefine;
  Query conflicts;
  Query define;
};
constexpr FactQueries of_sqlite{
    {"INSERT INTO registry_fact (key, digest)"
     " SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each($1)"
     " WHERE true ON CONFLICT DO NOTHING"},
    {"UPDATE registry_fact SET digest = json_extract(j.value, '$[1]'), definition = ''"
     " FROM json_each($1) AS j WHERE registry_fact.key = json_extract(j.value, '$[0]')"
     " AND registry_fact.digest <> json_extract(j.value, '$[1]')"},
    {"SELECT f.key FROM json_each($1) JOIN registry_fact f ON f.key = json_extract(value, '$[0]')"
     " WHERE f.digest <> json_extract(value, '$[1]') ORDER BY f.key LIMIT 1",
     "t"},
    {"UPDATE registry_fact SET definition = json_extract(j.value, '$[1]')"
     " FROM json_each($1) AS j WHERE registry_fact.key = json_extract(j.value, '$[0]')"}};
constexpr FactQueries of_postgres{
    {"INSERT INTO registry_fact (key, digest)"
     " SELECT value ->> 0, value ->> 1 FROM json_array_elements($1::json) ON CONFLICT DO NOTHING"},
    {"UPDATE registry_fact SET digest = j.value ->> 1, definition = ''"
     " FROM json_array_elements($1::json) AS j(value) WHERE registry_fact.key = j.value ->> 0"
     " AND registry_fact.digest <> j.value ->> 1"},
    {"SELECT f.key FROM json_array_elements($1::json) JOIN registry_fact f ON f.key = value ->> 0"
     " WHERE f.digest <> value ->> 1 ORDER BY f.key LIMIT 1",
     "t"},
    {"UPDATE registry_fact SET definition = j.value ->> 1"
     " FROM json_array_elements($1::json) AS j(value) WHERE registry_fact.key = j.value ->> 0"}};

std::string epoch_name(std::int64_t number) {
  const std::string digits = std::to_string(number);
  return "ep_" + std::string(digits.size() < 2 ? "0" : "") + digits;
}

// Replaces invalid UTF-8: a file's name may be any bytes, but the database holds text.
std::string json_text(const nlohmann::json& value) {
  return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string text_of(std::span<const Source> files) {
  nlohmann::json list = nlohmann::json::array();
  for (const Source& file : files) list.push_back({file.name, file.text});
  return json_text(list);
}

std::vector<InstalledBefore> installations(const Rows& rows) {
  std::vector<InstalledBefore> list;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    InstalledBefore& entry = list.emplace_back();
    entry.generation.epoch_id = rows.text(row, 0);
    entry.generation.payload_hash = rows.text(row, 1);
    entry.generation.manifest_sequence = static_cast<std::uint64_t>(rows.number(row, 2));
    entry.generation.installed_at_ms = rows.number(row, 3);
    entry.rolled_back_from = rows.text(row, 4);
    entry.generation.id = rows.text(row, 5);
    entry.generation.sequence = static_cast<std::uint64_t>(rows.number(row, 6));
    entry.generation.compiled_at_ms = rows.number(row, 7);
    entry.has_files = !rows.text(row, 8).empty();
  }
  return list;
}

class SqlManifestStore final : public registry::ManifestStore {
 public:
  explicit SqlManifestStore(const Context& context) : context_(context) {}

  Result<std::vector<InstalledFact>, base::Error> facts() override {
    using Answer = std::vector<InstalledFact>;
    return answered<Answer>(context_, ErrorCode::registry_unavailable, "read facts", [&] {
      return context_.database.with([](Connection& connection) {
        const Rows rows = connection.run(select_fact_digests);
        Answer facts;
        facts.reserve(rows.size());
        for (std::size_t row = 0; row < rows.size(); ++row) {
          facts.push_back({rows.text(row, 0), rows.text(row, 1), {}});
        }
        return facts;
      });
    });
  }

  Result<std::string, base::Error> definition(std::string_view key) override {
    return answered<std::string>(context_, ErrorCode::registry_unavailable, "read a definition",
                                 [&] {
                                   return context_.database.with([&](Connection& connection) {
                                     const Rows rows = connection.run(select_definition, {key});
                                     return rows.empty() ? std::string() : rows.text(0, 0);
                                   });
                                 });
  }

  Result<std::vector<InstalledBefore>, base::Error> history(std::uint32_t most) override {
    using Answer = std::vector<InstalledBefore>;
    return answered<Answer>(context_, ErrorCode::registry_unavailable, "read history", [&] {
      return context_.database.with([&](Connection& connection) {
        return installations(connection.run(select_history, {std::int64_t{most}}));
      });
    });
  }

  Result<std::optional<InstalledBefore>, base::Error> find(
      std::string_view generation_id) override {
    using Answer = std::optional<InstalledBefore>;
    return answered<Answer>(context_, ErrorCode::registry_unavailable, "find generation", [&] {
      return context_.database.with([&](Connection& connection) -> Answer {
        auto found = installations(connection.run(select_newest, {generation_id}));
        if (found.empty()) return std::nullopt;
        return std::move(found.front());
      });
    });
  }

  Result<std::vector<Source>, base::Error> files(const Generation& generation) override {
    using Answer = std::vector<Source>;
    return answered<Answer>(context_, ErrorCode::registry_unavailable, "read files", [&] {
      const std::string text = context_.database.with([&](Connection& connection) {
        const Rows rows =
            connection.run(select_files, {generation.epoch_id, generation.payload_hash});
        return rows.empty() ? std::string("[]") : rows.text(0, 0);
      });
      Answer files;
      const auto list = text::parse_json(text);
      if (!list.is_array()) return files;
      for (const auto& file : list) {
        if (!file.is_array() || file.size() != 2 || !file[0].is_string() || !file[1].is_string()) {
          return Answer();
        }
        files.push_back({file[0].get<std::string>(), file[1].get<std::string>()});
      }
      return files;
    });
  }

  Result<Generation, base::Error> install(const Installation& what) override {
    using Answer = Result<Generation, base::Error>;
    const std::vector<InstalledFact> facts = registry::facts_of(what.program);
    const std::string file_text = text_of(what.files);
    return answered<Generation>(context_, ErrorCode::registry_unavailable, "install", [&] {
      return context_.database.with([&](Connection& connection) -> Answer {
        Transaction transaction(connection, Transaction::Kind::write, context_.database.writer());
        const std::int64_t manifest = transaction.run(next_manifest).number(0, 0);
        const FactQueries& queries =
            connection.engine() == Engine::sqlite ? of_sqlite : of_postgres;
        if (const std::string differing =
                record_facts(transaction, queries, facts, what.may_redefine);
            !differing.empty()) {
          return base::Error{ErrorCode::registry_unavailable,
                             "Another node installed a different " + differing +
                                 " meanwhile; installed definitions never change."};
        }
        Generation generation = record_generation(transaction, what);
        generation.manifest_sequence = static_cast<std::uint64_t>(manifest);
        generation.installed_at_ms = context_.now_ms(transaction);
        transaction.run(insert_manifest, {manifest, generation.epoch_id, generation.payload_hash,
                                          generation.installed_at_ms, what.rolled_back_from});
        transaction.run(insert_files, {generation.epoch_id, generation.payload_hash,
                                       static_cast<std::int64_t>(generation.sequence), file_text});
        transaction.run(drop_old_files, {generation.payload_hash,
                                         std::int64_t{registry::generations_with_files_max}});
        transaction.commit();
        return generation;
      });
    });
  }

 private:
  // Returns the key of a fact that is installed with another digest; empty: none.
  static std::string record_facts(Transaction& transaction, const FactQueries& queries,
                                  const std::vector<InstalledFact>& facts, bool may_redefine) {
    nlohmann::json digests = nlohmann::json::array();
    for (const InstalledFact& fact : facts) digests.push_back({fact.key, fact.digest});
    const std::string text = digests.dump();
    transaction.run(queries.insert, {text});
    if (may_redefine) transaction.run(queries.redefine, {text});
    const Rows conflicts = transaction.run(queries.conflicts, {text});
    if (!conflicts.empty()) return conflicts.text(0, 0);
    // Sends only the missing definitions, since definitions are long and most are known.
    const Rows rows = transaction.run(undefined_facts);
    std::unordered_set<std::string_view> undefined;
    for (std::size_t row = 0; row < rows.size(); ++row) undefined.insert(rows.text(row, 0));
    nlohmann::json definitions = nlohmann::json::array();
    for (const InstalledFact& fact : facts) {
      if (undefined.contains(fact.key)) definitions.push_back({fact.key, fact.definition});
    }
    if (!definitions.empty()) {
      const std::string definition_text = definitions.dump();
      transaction.run(queries.define, {definition_text});
    }
    return {};
  }

  static Generation record_generation(Transaction& transaction, const Installation& what) {
    Generation generation;
    generation.epoch_id = epoch_name(transaction.run(select_registry_epoch).number(0, 0));
    generation.payload_hash = what.program.payload_hash();
    const Rows known =
        transaction.run(select_generation, {generation.epoch_id, generation.payload_hash});
    if (!known.empty()) {
      generation.id = known.text(0, 0);
      generation.sequence = static_cast<std::uint64_t>(known.number(0, 1));
      generation.compiled_at_ms = known.number(0, 2);
      return generation;
    }
    generation.id = registry::generation_id(generation.payload_hash);
    const std::int64_t sequence = transaction.run(next_generation).number(0, 0);
    generation.sequence = static_cast<std::uint64_t>(sequence);
    generation.compiled_at_ms = what.compiled_at_ms;
    transaction.run(insert_generation, {generation.epoch_id, generation.payload_hash, generation.id,
                                        sequence, what.compiled_at_ms});
    return generation;
  }

  const Context& context_;
};

}  // namespace

std::unique_ptr<registry::ManifestStore> make_manifest_store(const Context& context) {
  return std::make_unique<SqlManifestStore>(context);
}

}  // namespace turnpike::storage
