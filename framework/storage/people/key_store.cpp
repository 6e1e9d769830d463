#include "storage/stores.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "storage/books/leases.h"
#include "storage/people/audit_rows.h"
#include "text/encoding.h"

namespace turnpike::storage {
namespace {

using base::ErrorCode;
using identity::ApiKey;
using identity::Environment;
using identity::KeyChange;
using identity::KeyEdit;
using identity::KeyEditor;
using identity::KeyRecord;

#define KEY_COLUMNS                                                                               \
  "id, account_id, name, environment, prefix, created_at, last_used_at, revoked_at, cap_per_day," \
  " cap_per_month, expires_at"
constexpr char key_kinds[] = "tttttiiiiii";

constexpr Query insert_key{
    "INSERT INTO api_key (id, account_id, name, environment, prefix, digest, created_at,"
    " cap_per_day, cap_per_month, expires_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)"};
constexpr Query select_key_by_digest{
    "SELECT k.id, k.account_id, k.name, k.environment, k.prefix, k.created_at, k.last_used_at,"
    " k.revoked_at, k.cap_per_day, k.cap_per_month, k.expires_at, a.status FROM api_key k"
    " JOIN account a ON a.id = k.account_id WHERE k.digest = $1",
    "tttttiiiiiit"};
constexpr Query select_of_account{
    "SELECT " KEY_COLUMNS " FROM api_key WHERE account_id = $1 ORDER BY created_at, id", key_kinds};
constexpr Query lock_key{"UPDATE api_key SET name = name WHERE id = $1"};
constexpr Query revoke_key{
    "UPDATE api_key SET revoked_at = $1 WHERE id = $2 AND revoked_at = -1 RETURNING digest", "t"};
constexpr Query update_key{
    "UPDATE api_key SET name = $1, cap_per_day = $2, cap_per_month = $3, expires_at = $4"
    " WHERE id = $5 RETURNING digest",
    "t"};
constexpr Query select_key{"SELECT " KEY_COLUMNS
                           " FROM api_key WHERE id = $1 AND (account_id = $2 OR $2 = '')",
                           key_kinds};
constexpr Query select_changes{
    "SELECT sequence, account_id, digest FROM identity_change WHERE sequence > $1"
    " ORDER BY sequence LIMIT 1000",
    "itt"};
constexpr Query select_last_change{"SELECT value FROM counter WHERE name = 'identity_change'", "i"};
// The uses in one parameter, as an array of arrays. All nodes lock rows in the same order, so that
// their transactions cannot deadlock.
constexpr Query record_uses_sqlite{
    "UPDATE api_key SET last_used_at = j.value ->> 1 FROM json_each($1) AS j"
    " WHERE api_key.id = j.value ->> 0 AND api_key.last_used_at < j.value ->> 1"};
constexpr Query record_uses_postgres{
    "UPDATE api_key SET last_used_at = used.at FROM (SELECT k.id, (j.value ->> 1)::bigint AS at"
    " FROM json_array_elements($1::json) AS j JOIN api_key k ON k.id = j.value ->> 0"
    " WHERE k.last_used_at < (j.value ->> 1)::bigint ORDER BY k.id FOR UPDATE OF k) AS used"
    " WHERE api_key.id = used.id AND api_key.last_used_at < used.at"};
constexpr Query record_grant_use{
    "UPDATE oauth_grant SET last_used_at = $1 WHERE id = $2 AND last_used_at < $1"};
constexpr std::string_view grant_prefix = "ogr_";
constexpr std::size_t uses_at_once = 1'000;  // settlements wait for a longer SQLite transaction
#undef KEY_COLUMNS

std::optional<std::int64_t> number_or_none(std::int64_t number) {
  return number < 0 ? std::nullopt : std::optional(number);
}

Environment environment_named(const std::string& name) {
  if (const auto known = identity::environment(name)) return *known;
  throw StoreError(StoreError::Kind::fatal, "an API key of unknown environment");
}

ApiKey key_at(const Rows& rows, std::size_t row) {
  return {rows.text(row, 0),
          rows.text(row, 1),
          rows.text(row, 2),
          environment_named(rows.text(row, 3)),
          rows.text(row, 4),
          rows.number(row, 5),
          number_or_none(rows.number(row, 6)),
          number_or_none(rows.number(row, 7)),
          {number_or_none(rows.number(row, 8)), number_or_none(rows.number(row, 9))},
          number_or_none(rows.number(row, 10))};
}

std::optional<crypto::Sha256> digest_from_hex(const std::string& hex) {
  crypto::Sha256 digest{};
  if (hex.size() != 2 * digest.size()) return std::nullopt;
  const auto value = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
  for (std::size_t at = 0; at < digest.size(); ++at) {
    digest[at] = static_cast<std::uint8_t>(value(hex[2 * at]) << 4 | value(hex[2 * at + 1]));
  }
  return digest;
}

class SqlKeyStore final : public identity::KeyStore {
 public:
  explicit SqlKeyStore(const Context& context)
      : context_(context), heartbeats_session_(context.database.own_session()) {}

  Result<ApiKey, base::Error> add(const identity::NewKey& key, const KeyEditor& editor) override {
    using Answer = Result<ApiKey, base::Error>;
    return change<ApiKey>("add key", [&](Transaction& transaction) -> Answer {
      const std::string digest = text::hex(key.digest);
      if (auto why = why_not_given(transaction, key.account_id)) return *std::move(why);
      if (auto why =
              why_not_allowed(transaction, key.account_id, editor.actor, identity::Role::admin)) {
        return *std::move(why);
      }
      if (auto why = why_no_expiry(transaction, key.expires_at_ms)) return *std::move(why);
      record_identity_change(transaction, key.account_id, digest);
      ApiKey made{context_.new_id("key_"),
                  key.account_id,
                  key.name,
                  key.environment,
                  key.prefix,
                  context_.clock.now_ms(),
                  std::nullopt,
                  std::nullopt,
                  key.caps,
                  key.expires_at_ms};
      transaction.run(insert_key,
                      {made.id, made.account_id, made.name, identity::name_of(made.environment),
                       made.prefix, digest, made.created_at_ms, made.caps.per_day.value_or(-1),
                       made.caps.per_month.value_or(-1), made.expires_at_ms.value_or(-1)});
      audit(transaction, editor, "key.create", made);
      return made;
    });
  }

  Result<std::optional<KeyRecord>, base::Error> find(const crypto::Sha256& digest) override {
    using Answer = std::optional<KeyRecord>;
    return answered<Answer>(context_, ErrorCode::auth_unavailable, "find key", [&] {
      return context_.database.with([&](Connection& connection) -> Answer {
        const Rows rows = connection.run(select_key_by_digest, {text::hex(digest)});
        if (rows.empty()) return std::nullopt;
        return KeyRecord{
            key_at(rows, 0),
            identity::account_status(rows.text(0, 11)).value_or(identity::AccountStatus::closed)};
      });
    });
  }

  Result<std::vector<ApiKey>, base::Error> list(std::string_view account_id) override {
    using Answer = std::vector<ApiKey>;
    return answered<Answer>(context_, ErrorCode::account_read_failed, "list keys", [&] {
      return context_.database.with([&](Connection& connection) {
        const Rows rows = connection.run(select_of_account, {account_id});
        Answer keys;
        for (std::size_t row = 0; row < rows.size(); ++row) keys.push_back(key_at(rows, row));
        return keys;
      });
    });
  }

  Result<std::optional<ApiKey>, base::Error> change(std::string_view key_id, const KeyEdit& edit,
                                                    const KeyEditor& editor) override {
    return change_key("change key", key_id, editor, [&](Transaction& transaction, ApiKey& key) {
      if (auto why = why_not(transaction, edit, key)) return why;
      key.name = edit.name.value_or(key.name);
      key.caps = edit.caps.value_or(key.caps);
      key.expires_at_ms = edit.expires_at_ms.value_or(key.expires_at_ms);
      const Rows written = transaction.run(
          update_key, {key.name, key.caps.per_day.value_or(-1), key.caps.per_month.value_or(-1),
                       key.expires_at_ms.value_or(-1), key_id});
      if (edit.name) audit(transaction, editor, "key.rename", key);
      if (edit.caps) audit(transaction, editor, "key.cap", key);
      if (edit.expires_at_ms) audit(transaction, editor, "key.expire", key);
      if (edit.caps || edit.expires_at_ms) {
        record_identity_change(transaction, key.account_id, written.text(0, 0));
      }
      if (edit.caps) {
        recall_leases(transaction, key.account_id, 0, "", ledger_now_ms(context_, transaction));
      }
      return std::optional<base::Error>();
    });
  }

  Result<std::optional<ApiKey>, base::Error> revoke(std::string_view key_id,
                                                    const KeyEditor& editor) override {
    return change_key("revoke key", key_id, editor, [&](Transaction& transaction, ApiKey& key) {
      const std::int64_t now_ms = context_.clock.now_ms();
      const Rows revoked = transaction.run(revoke_key, {now_ms, key_id});
      if (!revoked.empty()) {
        key.revoked_at_ms = now_ms;
        record_identity_change(transaction, key.account_id, revoked.text(0, 0));
        audit(transaction, editor, "key.revoke", key);
      }
      return std::optional<base::Error>();
    });
  }

  Result<std::vector<KeyChange>, base::Error> changes_after(std::int64_t sequence) override {
    using Answer = std::vector<KeyChange>;
    return answered<Answer>(context_, ErrorCode::auth_unavailable, "read key changes", [&] {
      const Rows rows = read_changes(select_changes, {sequence});
      Answer changes;
      for (std::size_t row = 0; row < rows.size(); ++row) {
        changes.push_back(
            {rows.number(row, 0), digest_from_hex(rows.text(row, 2)), rows.text(row, 1)});
      }
      return changes;
    });
  }

  Result<std::int64_t, base::Error> last_change() override {
    return answered<std::int64_t>(context_, ErrorCode::auth_unavailable, "read key changes",
                                  [&] { return read_changes(select_last_change).number(0, 0); });
  }

  Result<Unit, base::Error> record_uses(std::span<const identity::KeyUse> uses) override {
    return answered<Unit>(context_, ErrorCode::auth_unavailable, "record key uses", [&] {
      const bool is_sqlite = context_.database.engine() == Engine::sqlite;
      while (!uses.empty()) {
        const auto some = uses.first(std::min(uses.size(), uses_at_once));
        uses = uses.subspan(some.size());
        nlohmann::json values = nlohmann::json::array();
        std::map<std::string_view, std::int64_t> grants;  // the same lock order on all nodes
        for (const identity::KeyUse& use : some) {
          if (use.key_id.starts_with(grant_prefix)) {
            grants[use.key_id] = use.at_ms;
          } else {
            values.push_back({use.key_id, use.at_ms});
          }
        }
        context_.database.write([&](Transaction& transaction) {
          transaction.run(is_sqlite ? record_uses_sqlite : record_uses_postgres, {values.dump()});
          for (const auto& [id, at_ms] : grants) transaction.run(record_grant_use, {at_ms, id});
          return Unit{};
        });
      }
      return Unit{};
    });
  }

 private:
  std::optional<base::Error> why_not(Transaction& transaction, const KeyEdit& edit,
                                     const ApiKey& key) const {
    if ((edit.caps || edit.expires_at_ms) && key.revoked_at_ms) {
      return base::Error{ErrorCode::request_malformed,
                         "The key is revoked, which is final: neither caps nor an expiry make a "
                         "difference."};
    }
    return why_no_expiry(transaction, edit.expires_at_ms.value_or(std::nullopt));
  }

  std::optional<base::Error> why_no_expiry(Transaction& transaction,
                                           std::optional<std::int64_t> expires_at_ms) const {
    if (!expires_at_ms || *expires_at_ms > context_.now_ms(transaction)) return std::nullopt;
    return base::Error{ErrorCode::request_malformed,
                       "The expiry is not in the future: revoke the key to end it now."};
  }

  Rows read_changes(const Query& query, std::initializer_list<Value> values = {}) {
    return heartbeats_session_->with(
        [&](Connection& connection) { return connection.run(query, values); });
  }

  template <class T, class F>
  Result<T, base::Error> change(std::string_view what, F&& work) {
    return changed<T>(context_, ErrorCode::account_read_failed, what, work);
  }

  // `work` changes its argument, the key, or returns the reason why not.
  template <class F>
  Result<std::optional<ApiKey>, base::Error> change_key(std::string_view what,
                                                        std::string_view key_id,
                                                        const KeyEditor& editor, F&& work) {
    using Key = std::optional<ApiKey>;
    using Answer = Result<Key, base::Error>;
    return change<Key>(what, [&](Transaction& transaction) -> Answer {
      // Locks the row before reading it, so that changes of one key are serialized.
      transaction.run(lock_key, {key_id});
      const Rows rows = transaction.run(select_key, {key_id, editor.account_id});
      if (rows.empty()) return Key();
      ApiKey key = key_at(rows, 0);
      if (auto why =
              why_not_allowed(transaction, key.account_id, editor.actor, identity::Role::admin)) {
        return *std::move(why);
      }
      if (auto why = work(transaction, key)) return *std::move(why);
      return Key(std::move(key));
    });
  }

  void audit(Transaction& transaction, const KeyEditor& editor, std::string_view action,
             const ApiKey& key) const {
    write_audit(context_, transaction,
                {.actor = editor.actor,
                 .account_id = key.account_id,
                 .action = std::string(action),
                 .target = key.id});
  }

  const Context& context_;
  const std::unique_ptr<SessionPool> heartbeats_session_;  // without heartbeats no key is trusted
};

}  // namespace

std::unique_ptr<identity::KeyStore> make_key_store(const Context& context) {
  return std::make_unique<SqlKeyStore>(context);
}

}  // namespace turnpike::storage
