#include <nlohmann/json.hpp>

#include "storage/stores.h"

namespace turnpike::storage {
namespace {

using base::ErrorCode;
using registry::Generation;
using registry::InstalledFact;

// First: its row lock orders concurrent installers.
constexpr Query next_manifest{
    "UPDATE counter SET value = value + 1 WHERE name = 'manifest' RETURNING value", "i"};
constexpr Query select_epoch{"SELECT value FROM counter WHERE name = 'registry_epoch'", "i"};
constexpr Query next_generation{
    "UPDATE counter SET value = value + 1 WHERE name = 'generation' RETURNING value", "i"};
constexpr Query select_generation{
    "SELECT id, sequence, compiled_at FROM generation WHERE epoch_id = $1 AND payload_hash = $2",
    "tii"};
constexpr Query insert_generation{
    "INSERT INTO generation (epoch_id, payload_hash, id, sequence, compiled_at)"
    " VALUES ($1, $2, $3, $4, $5)"};
constexpr Query insert_manifest{
    "INSERT INTO manifest (sequence, epoch_id, payload_hash, installed_at)"
    " VALUES ($1, $2, $3, $4)"};
constexpr Query select_facts{"SELECT key, digest FROM registry_fact ORDER BY key", "tt"};

// One round trip for all facts of a program, however many; [[key, digest], ...].
constexpr Query insert_facts_sqlite{
    "INSERT INTO registry_fact (key, digest)"
    " SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each($1)"
    " WHERE true ON CONFLICT DO NOTHING"};
constexpr Query insert_facts_postgres{
    "INSERT INTO registry_fact (key, digest)"
    " SELECT value ->> 0, value ->> 1 FROM json_array_elements($1::json) ON CONFLICT DO NOTHING"};
constexpr Query conflicts_sqlite{
    "SELECT f.key FROM json_each($1) JOIN registry_fact f ON f.key = json_extract(value, '$[0]')"
    " WHERE f.digest <> json_extract(value, '$[1]') ORDER BY f.key LIMIT 1",
    "t"};
constexpr Query conflicts_postgres{
    "SELECT f.key FROM json_array_elements($1::json) JOIN registry_fact f ON f.key = value ->> 0"
    " WHERE f.digest <> value ->> 1 ORDER BY f.key LIMIT 1",
    "t"};

std::string epoch_name(std::int64_t number) {
  const std::string digits = std::to_string(number);
  return "ep_" + std::string(digits.size() < 2 ? "0" : "") + digits;
}

class SqlManifestStore final : public registry::ManifestStore {
 public:
  explicit SqlManifestStore(const Context& context) : context_(context) {}

  Result<std::vector<InstalledFact>, base::Error> facts() override {
    using Answer = std::vector<InstalledFact>;
    return answered<Answer>(context_, ErrorCode::registry_unavailable, "read facts", [&] {
      return context_.database.with([](Connection& connection) {
        const Rows rows = connection.run(select_facts);
        Answer facts;
        facts.reserve(rows.size());
        for (std::size_t row = 0; row < rows.size(); ++row) {
          facts.push_back({rows.text(row, 0), rows.text(row, 1)});
        }
        return facts;
      });
    });
  }

  Result<Generation, base::Error> install(const registry::Program& program,
                                          std::int64_t compiled_at_ms) override {
    using Answer = Result<Generation, base::Error>;
    nlohmann::json facts = nlohmann::json::array();
    for (const InstalledFact& fact : registry::facts_of(program)) {
      facts.push_back({fact.key, fact.digest});
    }
    const std::string fact_text = facts.dump();
    return answered<Generation>(context_, ErrorCode::registry_unavailable, "install", [&] {
      return context_.database.with([&](Connection& connection) -> Answer {
        Transaction transaction(connection, Transaction::Kind::write, context_.database.writer());
        const std::int64_t manifest = transaction.run(next_manifest).number(0, 0);
        const bool is_sqlite = connection.engine() == Engine::sqlite;
        transaction.run(is_sqlite ? insert_facts_sqlite : insert_facts_postgres, {fact_text});
        const Rows conflicts =
            transaction.run(is_sqlite ? conflicts_sqlite : conflicts_postgres, {fact_text});
        if (!conflicts.empty()) {
          return base::Error{ErrorCode::registry_unavailable,
                             "Another node installed a different " + conflicts.text(0, 0) +
                                 " meanwhile; installed definitions never change."};
        }
        Generation generation = record(transaction, program, compiled_at_ms);
        generation.manifest_sequence = static_cast<std::uint64_t>(manifest);
        generation.installed_at_ms = context_.now_ms(transaction);
        transaction.run(insert_manifest, {manifest, generation.epoch_id, generation.payload_hash,
                                          generation.installed_at_ms});
        transaction.commit();
        return generation;
      });
    });
  }

 private:
  static Generation record(Transaction& transaction, const registry::Program& program,
                           std::int64_t compiled_at_ms) {
    Generation generation;
    generation.epoch_id = epoch_name(transaction.run(select_epoch).number(0, 0));
    generation.payload_hash = program.payload_hash();
    const Rows known =
        transaction.run(select_generation, {generation.epoch_id, generation.payload_hash});
    if (!known.empty()) {
      generation.id = known.text(0, 0);
      generation.sequence = static_cast<std::uint64_t>(known.number(0, 1));
      generation.compiled_at_ms = known.number(0, 2);
      return generation;
    }
    const std::size_t hex_at = generation.payload_hash.find(':') + 1;
    generation.id = "gen_" + generation.payload_hash.substr(hex_at, 16);
    const std::int64_t sequence = transaction.run(next_generation).number(0, 0);
    generation.sequence = static_cast<std::uint64_t>(sequence);
    generation.compiled_at_ms = compiled_at_ms;
    transaction.run(insert_generation, {generation.epoch_id, generation.payload_hash, generation.id,
                                        sequence, compiled_at_ms});
    return generation;
  }

  const Context& context_;
};

}  // namespace

std::unique_ptr<registry::ManifestStore> make_manifest_store(const Context& context) {
  return std::make_unique<SqlManifestStore>(context);
}

}  // namespace turnpike::storage
