#include <sstream>

#include "storage/stores.h"
#include "text/encoding.h"

namespace turnpike::storage {
namespace {

using base::ErrorCode;
using identity::Authorities;
using identity::Operator;

#define OPERATOR_COLUMNS \
  "id, name, environment, prefix, authorities, created_at, last_used_at, revoked_at"
constexpr char operator_kinds[] = "tttttiii";

constexpr Query insert_operator{
    "INSERT INTO operator_credential (id, name, environment, prefix, digest, authorities,"
    " created_at) VALUES ($1, $2, $3, $4, $5, $6, $7)"};
constexpr Query select_operator_by_digest{
    "SELECT " OPERATOR_COLUMNS " FROM operator_credential WHERE digest = $1", operator_kinds};
constexpr Query select_all{
    "SELECT " OPERATOR_COLUMNS " FROM operator_credential ORDER BY created_at, id", operator_kinds};
constexpr Query revoke_operator{
    "UPDATE operator_credential SET revoked_at = $1 WHERE id = $2 AND revoked_at = -1"};
constexpr Query select_operator{
    "SELECT " OPERATOR_COLUMNS " FROM operator_credential WHERE id = $1", operator_kinds};
constexpr Query update_use{
    "UPDATE operator_credential SET last_used_at = $1 WHERE id = $2 AND last_used_at < $1"};
#undef OPERATOR_COLUMNS

Authorities authorities_of(const std::string& text) {
  Authorities authorities;
  std::istringstream names(text);
  for (std::string name; names >> name;) {
    if (const auto known = identity::authority(name)) authorities.add(*known);
  }
  return authorities;
}

Operator operator_at(const Rows& rows, std::size_t row) {
  const auto environment = identity::environment(rows.text(row, 2));
  if (!environment) {
    throw StoreError(StoreError::Kind::fatal, "an operator credential of unknown environment");
  }
  const auto time = [&](std::size_t column) {
    const std::int64_t at_ms = rows.number(row, column);
    return at_ms < 0 ? std::nullopt : std::optional(at_ms);
  };
  return {rows.text(row, 0),
          rows.text(row, 1),
          *environment,
          rows.text(row, 3),
          authorities_of(rows.text(row, 4)),
          rows.number(row, 5),
          time(6),
          time(7)};
}

class SqlOperatorStore final : public identity::OperatorStore {
 public:
  explicit SqlOperatorStore(const Context& context) : context_(context) {}

  Result<Operator, base::Error> add(const identity::NewOperator& credential) override {
    return answered<Operator>(context_, ErrorCode::account_read_failed, "add operator", [&] {
      return context_.database.write([&](Transaction& transaction) {
        Operator made{context_.new_id("opr_"),
                      credential.name,
                      credential.environment,
                      credential.prefix,
                      credential.authorities,
                      context_.clock.now_ms(),
                      std::nullopt,
                      std::nullopt};
        transaction.run(insert_operator, {made.id, made.name, identity::name_of(made.environment),
                                          made.prefix, text::hex(credential.digest),
                                          identity::text_of(made.authorities), made.created_at_ms});
        return made;
      });
    });
  }

  Result<std::optional<Operator>, base::Error> find(const crypto::Sha256& digest) override {
    using Answer = std::optional<Operator>;
    return answered<Answer>(context_, ErrorCode::auth_unavailable, "find operator", [&] {
      return context_.database.with([&](Connection& connection) -> Answer {
        const Rows rows = connection.run(select_operator_by_digest, {text::hex(digest)});
        if (rows.empty()) return std::nullopt;
        return operator_at(rows, 0);
      });
    });
  }

  Result<std::vector<Operator>, base::Error> list() override {
    using Answer = std::vector<Operator>;
    return answered<Answer>(context_, ErrorCode::account_read_failed, "list operators", [&] {
      return context_.database.with([&](Connection& connection) {
        const Rows rows = connection.run(select_all);
        Answer operators;
        for (std::size_t row = 0; row < rows.size(); ++row) {
          operators.push_back(operator_at(rows, row));
        }
        return operators;
      });
    });
  }

  Result<std::optional<Operator>, base::Error> revoke(std::string_view operator_id) override {
    using Answer = std::optional<Operator>;
    return answered<Answer>(context_, ErrorCode::account_read_failed, "revoke operator", [&] {
      return context_.database.write([&](Transaction& transaction) -> Answer {
        transaction.run(revoke_operator, {context_.clock.now_ms(), operator_id});
        const Rows rows = transaction.run(select_operator, {operator_id});
        if (rows.empty()) return std::nullopt;
        return operator_at(rows, 0);
      });
    });
  }

  Result<Unit, base::Error> record_use(std::string_view operator_id, std::int64_t at_ms) override {
    return answered<Unit>(context_, ErrorCode::auth_unavailable, "record operator use", [&] {
      return context_.database.write([&](Transaction& transaction) {
        transaction.run(update_use, {at_ms, operator_id});
        return Unit{};
      });
    });
  }

 private:
  const Context& context_;
};

}  // namespace

std::unique_ptr<identity::OperatorStore> make_operator_store(const Context& context) {
  return std::make_unique<SqlOperatorStore>(context);
}

}  // namespace turnpike::storage
