#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "oauth/grant_store.h"
#include "storage/books/leases.h"
#include "storage/people/audit_rows.h"
#include "storage/people/grant_rows.h"
#include "storage/people/session_rows.h"
#include "text/encoding.h"
#include "text/json_text.h"

namespace turnpike::storage {
namespace {

using base::ErrorCode;
using identity::Actor;
using oauth::Client;
using oauth::Grant;

constexpr std::int64_t token_kept_ms = 3'600'000;

#define CLIENT_COLUMNS \
  "id, name, uri, redirect_uris, created_at, last_used_at, blocked_at, kind, fetched_until"
constexpr char client_kinds[] = "ttttiiiti";
constexpr Query insert_client{
    "INSERT INTO oauth_client (id, name, uri, redirect_uris, created_at)"
    " VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING"};
constexpr Query keep_document_client{
    "INSERT INTO oauth_client (id, name, uri, redirect_uris, created_at, kind, fetched_until)"
    " VALUES ($1, $2, $3, $4, $5, 'document', $6) ON CONFLICT (id) DO UPDATE SET"
    " name = excluded.name, uri = excluded.uri, redirect_uris = excluded.redirect_uris,"
    " fetched_until = excluded.fetched_until"};
constexpr Query select_client{"SELECT " CLIENT_COLUMNS " FROM oauth_client WHERE id = $1",
                              client_kinds};
constexpr Query select_clients{
    "SELECT " CLIENT_COLUMNS
    " FROM oauth_client WHERE $1 = '' OR (created_at, id) > (SELECT c.created_at, c.id"
    " FROM oauth_client c WHERE c.id = $1) ORDER BY created_at, id LIMIT 1000",
    client_kinds};
constexpr Query drop_oldest_unused{
    "DELETE FROM oauth_client WHERE id IN (SELECT id FROM oauth_client WHERE last_used_at = -1"
    " AND blocked_at = -1 ORDER BY created_at DESC, id DESC LIMIT 100 OFFSET $1)"};
constexpr Query use_client{
    "UPDATE oauth_client SET last_used_at = $1 WHERE id = $2 AND blocked_at = -1 RETURNING id",
    "t"};
constexpr Query block_client{"UPDATE oauth_client SET blocked_at = $1 WHERE id = $2 RETURNING id",
                             "t"};
#undef CLIENT_COLUMNS

#define GRANT_COLUMNS                                                                    \
  "g.id, g.client_id, c.name, g.redirect_uri, g.person_id, g.account_id, g.cap_per_day," \
  " g.cap_per_month, g.created_at, g.last_used_at, g.expires_at FROM oauth_grant g JOIN" \
  " oauth_client c ON c.id = g.client_id WHERE g.ended_at = -1"
constexpr char grant_kinds[] = "ttttttiiiii";
constexpr Query select_grants{
    "SELECT " GRANT_COLUMNS
    " AND g.expires_at > $1 AND (g.person_id = $2 OR $2 = '') AND (g.account_id = $3 OR $3 = '')"
    " ORDER BY g.created_at DESC, g.id",
    grant_kinds};
constexpr Query select_grant{
    "SELECT " GRANT_COLUMNS
    " AND g.expires_at > $1 AND g.id = $2 AND (g.person_id = $3 OR $3 = '')"
    " AND (g.account_id = $4 OR $4 = '')",
    grant_kinds};
#undef GRANT_COLUMNS
constexpr Query select_client_name{
    "SELECT c.name FROM oauth_grant g JOIN oauth_client c ON c.id = g.client_id WHERE g.id = $1"
    " AND g.account_id = $2 AND c.name <> ''",
    "t"};
constexpr Query insert_grant{
    "INSERT INTO oauth_grant (id, client_id, redirect_uri, person_id, account_id, cap_per_day,"
    " cap_per_month, created_at, expires_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)"};
constexpr Query lock_person_of_grant{
    "UPDATE person SET name = name WHERE id = $1 AND status = 'active' RETURNING id", "t"};
// Members and caps of an account change under its row lock, so that row is locked first.
constexpr Query lock_account_of_grant{
    "UPDATE account SET name = name WHERE id = (SELECT account_id FROM oauth_grant WHERE id = $1)"};
constexpr Query lock_grant{"UPDATE oauth_grant SET end_reason = end_reason WHERE id = $1"};
// Serializes two uses of one token.
constexpr Query lock_grant_of_token{
    "UPDATE oauth_grant SET end_reason = end_reason WHERE ended_at = -1 AND id ="
    " (SELECT grant_id FROM oauth_token WHERE digest = $1)"
    " RETURNING id, client_id, redirect_uri, account_id, expires_at",
    "tttti"};
constexpr Query end_grant{
    "UPDATE oauth_grant SET ended_at = $1, end_reason = $2 WHERE id = $3 AND ended_at = -1"
    " RETURNING account_id",
    "t"};
constexpr Query end_all_of_person{
    "UPDATE oauth_grant SET ended_at = $1, end_reason = $2 WHERE person_id = $3 AND ended_at = -1"
    " AND (account_id = $4 OR $4 = '') RETURNING account_id",
    "t"};
constexpr Query end_all_of_client{
    "UPDATE oauth_grant SET ended_at = $1, end_reason = 'client_blocked' WHERE client_id = $2"
    " AND ended_at = -1 RETURNING account_id",
    "t"};
constexpr Query cap_grant{
    "UPDATE oauth_grant SET cap_per_day = $1, cap_per_month = $2 WHERE id = $3"};

constexpr Query insert_token{
    "INSERT INTO oauth_token (digest, kind, grant_id, generation, challenge, expires_at)"
    " VALUES ($1, $2, $3, $4, $5, $6)"};
constexpr Query select_token{
    "SELECT generation, challenge, expires_at, used_at, sealed_successor FROM oauth_token"
    " WHERE digest = $1 AND kind = $2",
    "itiit"};
constexpr Query select_successor{
    "SELECT used_at FROM oauth_token WHERE grant_id = $1 AND generation = $2 AND kind = 'refresh'",
    "i"};
constexpr Query use_token{
    "UPDATE oauth_token SET used_at = $1, sealed_successor = $2 WHERE digest = $3"};
constexpr Query select_kind{
    "SELECT t.kind, g.client_id, g.account_id, g.id FROM oauth_token t"
    " JOIN oauth_grant g ON g.id = t.grant_id WHERE t.digest = $1",
    "tttt"};
constexpr Query delete_token{"DELETE FROM oauth_token WHERE digest = $1"};
constexpr Query select_access{
    "SELECT g.id, g.account_id, g.cap_per_day, g.cap_per_month, a.status, t.expires_at"
    " FROM oauth_token t JOIN oauth_grant g ON g.id = t.grant_id"
    " JOIN account a ON a.id = g.account_id"
    " WHERE t.digest = $1 AND t.kind = 'access' AND g.ended_at = -1",
    "ttiiti"};
// Tokens count for a while after their expiry: a successor that is just being issued may not be
// visible yet.
constexpr Query end_idle_grants{
    "UPDATE oauth_grant SET ended_at = $1, end_reason = 'idle' WHERE ended_at = -1 AND NOT EXISTS"
    " (SELECT 1 FROM oauth_token t WHERE t.grant_id = oauth_grant.id AND t.expires_at > $2"
    " AND t.used_at = -1)"};
constexpr Query sweep_tokens{
    "DELETE FROM oauth_token WHERE expires_at < $1 OR grant_id IN"
    " (SELECT id FROM oauth_grant WHERE ended_at > -1 AND ended_at < $1)"};
constexpr Query sweep_clients{
    "DELETE FROM oauth_client WHERE last_used_at = -1 AND blocked_at = -1 AND created_at < $1"
    " AND fetched_until < $2"};

std::optional<std::int64_t> none_below_zero(std::int64_t number) {
  return number < 0 ? std::nullopt : std::optional(number);
}

Client client_at(const Rows& rows, std::size_t row, std::int64_t now_ms) {
  Client client;
  client.id = rows.text(row, 0);
  client.metadata.name = rows.text(row, 1);
  client.metadata.uri = rows.text(row, 2);
  for (const auto& uri : text::parse_json(rows.text(row, 3))) {
    client.metadata.redirect_uris.push_back(uri.get<std::string>());
  }
  client.created_at_ms = rows.number(row, 4);
  client.last_used_at_ms = none_below_zero(rows.number(row, 5));
  client.is_blocked = rows.number(row, 6) >= 0;
  if (rows.text(row, 7) == name_of(oauth::ClientKind::document)) {
    client.kind = oauth::ClientKind::document;
    client.is_stale = rows.number(row, 8) <= now_ms;
  }
  return client;
}

std::string uris_text(const std::vector<std::string>& redirect_uris) {
  return nlohmann::json(redirect_uris).dump();
}

Grant grant_at(const Rows& rows, std::size_t row) {
  return {rows.text(row, 0),
          rows.text(row, 1),
          rows.text(row, 2),
          rows.text(row, 3),
          rows.text(row, 4),
          rows.text(row, 5),
          {none_below_zero(rows.number(row, 6)), none_below_zero(rows.number(row, 7))},
          rows.number(row, 8),
          none_below_zero(rows.number(row, 9)),
          rows.number(row, 10)};
}

base::Error invalid_grant() {
  return {ErrorCode::oauth_invalid_grant,
          "The code or refresh token is not valid, was used, or has ended."};
}

base::Error request_decided() {
  return {ErrorCode::oauth_request_ended, "This request for access was decided already."};
}

// The grant of a token; the transaction holds its row lock.
struct LockedGrant {
  std::string id;
  std::string client_id;
  std::string redirect_uri;
  std::string account_id;
  std::int64_t expires_at_ms = 0;
};

struct TokenRow {
  std::int64_t generation = 0;
  std::string challenge;
  std::int64_t expires_at_ms = 0;
  std::int64_t used_at_ms = -1;
  std::string sealed_successor;
};

std::optional<TokenRow> token_row(Transaction& transaction, const std::string& digest,
                                  std::string_view kind) {
  const Rows rows = transaction.run(select_token, {digest, kind});
  if (rows.empty()) return std::nullopt;
  return TokenRow{rows.number(0, 0), rows.text(0, 1), rows.number(0, 2), rows.number(0, 3),
                  rows.text(0, 4)};
}

// Returns the grant if it has not ended and belongs to the client.
std::optional<LockedGrant> lock_by_token(Transaction& transaction, const std::string& digest,
                                         std::string_view client_id, std::int64_t now_ms) {
  const Rows rows = transaction.run(lock_grant_of_token, {digest});
  if (rows.empty() || rows.text(0, 1) != client_id || rows.number(0, 4) <= now_ms) {
    return std::nullopt;
  }
  return LockedGrant{rows.text(0, 0), rows.text(0, 1), rows.text(0, 2), rows.text(0, 3),
                     rows.number(0, 4)};
}

// Notifies nodes of ended grants, by account.
void tell_nodes(Transaction& transaction, const Rows& ended) {
  std::set<std::string> accounts;  // the same lock order on all nodes
  for (std::size_t row = 0; row < ended.size(); ++row) accounts.insert(ended.text(row, 0));
  for (const std::string& account : accounts) record_identity_change(transaction, account, "");
}

class SqlGrantStore final : public oauth::GrantStore {
 public:
  explicit SqlGrantStore(const Context& context) : context_(context) {}

  Result<Client, base::Error> add_client(const Client& client) override {
    return change<Client>("add client", [&](Transaction& transaction) -> Client {
      const std::int64_t now_ms = context_.now_ms(transaction);
      transaction.run(insert_client, {client.id, client.metadata.name, client.metadata.uri,
                                      uris_text(client.metadata.redirect_uris), now_ms});
      transaction.run(drop_oldest_unused, {clients_unused_max});
      const Rows rows = transaction.run(select_client, {client.id});
      return rows.empty() ? client : client_at(rows, 0, now_ms);
    });
  }

  Result<Unit, base::Error> keep_document(std::string_view client_id,
                                          const oauth::ClientMetadata& metadata,
                                          std::int64_t kept_ms) override {
    return change<Unit>("keep client document", [&](Transaction& transaction) -> Unit {
      const std::int64_t now_ms = context_.now_ms(transaction);
      transaction.run(keep_document_client, {client_id, metadata.name, metadata.uri,
                                             uris_text(metadata.redirect_uris), now_ms,
                                             now_ms + kept_ms});
      transaction.run(drop_oldest_unused, {clients_unused_max});
      return Unit{};
    });
  }

  Result<std::optional<Client>, base::Error> find_client(std::string_view client_id) override {
    using Answer = std::optional<Client>;
    return answered<Answer>(context_, ErrorCode::auth_unavailable, "find client", [&] {
      return context_.database.with([&](Connection& connection) -> Answer {
        const Rows rows = connection.run(select_client, {client_id});
        if (rows.empty()) return std::nullopt;
        return client_at(rows, 0, context_.now_ms(connection));
      });
    });
  }

  Result<std::vector<Client>, base::Error> clients(std::string_view after_id) override {
    using Answer = std::vector<Client>;
    return answered<Answer>(context_, ErrorCode::auth_unavailable, "list clients", [&] {
      return context_.database.with([&](Connection& connection) {
        const Rows rows = connection.run(select_clients, {after_id});
        const std::int64_t now_ms = context_.now_ms(connection);
        Answer list;
        for (std::size_t row = 0; row < rows.size(); ++row) {
          list.push_back(client_at(rows, row, now_ms));
        }
        return list;
      });
    });
  }

  Result<bool, base::Error> set_blocked(std::string_view client_id, bool is_blocked,
                                        const Actor& actor) override {
    return change<bool>("block client", [&](Transaction& transaction) -> bool {
      const std::int64_t now_ms = context_.now_ms(transaction);
      if (transaction.run(block_client, {is_blocked ? now_ms : -1, client_id}).empty()) {
        return false;
      }
      if (is_blocked)
        tell_nodes(transaction, transaction.run(end_all_of_client, {now_ms, client_id}));
      write_audit(context_, transaction,
                  {.actor = actor,
                   .action = is_blocked ? "oauth_client.block" : "oauth_client.unblock",
                   .target = std::string(client_id)});
      return true;
    });
  }

  Result<Grant, base::Error> approve(const identity::UsedCeremony& request,
                                     const oauth::NewGrant& wanted, const Actor& actor) override;
  Result<Unit, base::Error> deny(const identity::UsedCeremony& request, std::string_view client_id,
                                 const Actor& actor) override;
  Result<std::int64_t, base::Error> redeem(const oauth::CodeUse& use,
                                           const oauth::NewTokens& tokens) override;
  Result<oauth::Refreshed, base::Error> refresh(const oauth::RefreshUse& use,
                                                const oauth::NewTokens& tokens) override;
  Result<Unit, base::Error> revoke_token(const crypto::Sha256& token,
                                         std::string_view client_id) override;

  Result<std::vector<Grant>, base::Error> grants(std::string_view person_id,
                                                 std::string_view account_id) override {
    using Answer = std::vector<Grant>;
    return answered<Answer>(context_, ErrorCode::auth_unavailable, "list grants", [&] {
      return context_.database.with([&](Connection& connection) {
        const Rows rows =
            connection.run(select_grants, {context_.now_ms(connection), person_id, account_id});
        Answer list;
        for (std::size_t row = 0; row < rows.size(); ++row) list.push_back(grant_at(rows, row));
        return list;
      });
    });
  }

  Result<std::map<std::string, std::string>, base::Error> client_names(
      std::string_view account_id, std::span<const std::string> grant_ids) override {
    using Answer = std::map<std::string, std::string>;
    return answered<Answer>(context_, ErrorCode::auth_unavailable, "name clients", [&] {
      return context_.database.with([&](Connection& connection) {
        Answer names;
        for (const std::string& id : grant_ids) {
          const Rows rows = connection.run(select_client_name, {id, account_id});
          if (!rows.empty()) names[id] = rows.text(0, 0);
        }
        return names;
      });
    });
  }

  Result<bool, base::Error> revoke(std::string_view grant_id, std::string_view person_id,
                                   std::string_view account_id, const Actor& actor) override;
  Result<std::optional<Grant>, base::Error> set_caps(std::string_view grant_id,
                                                     std::string_view person_id,
                                                     const identity::SpendCaps& caps,
                                                     const Actor& actor) override;

  Result<std::optional<identity::GrantRecord>, base::Error> find_access(
      const crypto::Sha256& digest) override {
    using Answer = std::optional<identity::GrantRecord>;
    return answered<Answer>(context_, ErrorCode::auth_unavailable, "find access token", [&] {
      return context_.database.with([&](Connection& connection) -> Answer {
        const Rows rows = connection.run(select_access, {text::hex(digest)});
        if (rows.empty() || rows.number(0, 5) <= context_.now_ms(connection)) return std::nullopt;
        return identity::GrantRecord{
            rows.text(0, 0),
            rows.text(0, 1),
            {none_below_zero(rows.number(0, 2)), none_below_zero(rows.number(0, 3))},
            identity::account_status(rows.text(0, 4)).value_or(identity::AccountStatus::closed),
            rows.number(0, 5)};
      });
    });
  }

  Result<Unit, base::Error> sweep() override {
    return change<Unit>("sweep grants", [&](Transaction& transaction) -> Unit {
      const std::int64_t now_ms = context_.now_ms(transaction);
      transaction.run(end_idle_grants, {now_ms, now_ms - token_kept_ms});
      transaction.run(sweep_tokens, {now_ms - token_kept_ms});
      transaction.run(sweep_clients, {now_ms - client_unused_ms, now_ms});
      return Unit{};
    });
  }

 private:
  template <class T, class F>
  Result<T, base::Error> change(std::string_view what, F&& work) {
    return changed<T>(context_, ErrorCode::auth_unavailable, what, work);
  }

  void end(Transaction& transaction, const std::string& grant_id, std::string_view reason,
           const Actor& actor, std::int64_t now_ms) const {
    const Rows ended = transaction.run(end_grant, {now_ms, reason, grant_id});
    if (ended.empty()) return;
    tell_nodes(transaction, ended);
    write_audit(context_, transaction,
                {.actor = actor,
                 .account_id = ended.text(0, 0),
                 .action = "grant.revoke",
                 .target = grant_id,
                 .detail = std::string(reason)});
  }

  std::int64_t add_access(Transaction& transaction, const LockedGrant& grant,
                          const oauth::NewTokens& tokens, std::int64_t now_ms) const {
    const std::int64_t until_ms = std::min(now_ms + tokens.access_valid_ms, grant.expires_at_ms);
    transaction.run(insert_token, {text::hex(tokens.access), "access", grant.id, 0, "", until_ms});
    return until_ms - now_ms;
  }
  void add_refresh(Transaction& transaction, const LockedGrant& grant,
                   const oauth::NewTokens& tokens, std::int64_t generation,
                   std::int64_t now_ms) const {
    const std::int64_t until_ms = std::min(now_ms + tokens.refresh_idle_ms, grant.expires_at_ms);
    transaction.run(insert_token,
                    {text::hex(tokens.refresh), "refresh", grant.id, generation, "", until_ms});
  }

  // nullopt: refused. Not an error of the transaction, since grants that a replay ended must stay
  // ended.
  std::optional<std::int64_t> redeem_in(Transaction& transaction, const oauth::CodeUse& use,
                                        const oauth::NewTokens& tokens) const;
  std::optional<oauth::Refreshed> refresh_in(Transaction& transaction, const oauth::RefreshUse& use,
                                             const oauth::NewTokens& tokens) const;

  const Context& context_;
};

const Actor gateway{.principal = "system:gateway"};

Result<Grant, base::Error> SqlGrantStore::approve(const identity::UsedCeremony& request,
                                                  const oauth::NewGrant& wanted,
                                                  const Actor& actor) {
  using Answer = Result<Grant, base::Error>;
  return change<Grant>("approve", [&](Transaction& transaction) -> Answer {
    if (use_ceremony(transaction, request)) return request_decided();
    if (transaction.run(lock_person_of_grant, {wanted.person_id}).empty()) {
      return base::Error{ErrorCode::auth_session_ended, "The session has ended: sign in again."};
    }
    if (auto why = why_not_given(transaction, wanted.account_id)) return *std::move(why);
    if (auto why = why_not_allowed(transaction, wanted.account_id, actor, identity::Role::admin)) {
      return *std::move(why);
    }
    const std::int64_t now_ms = context_.now_ms(transaction);
    if (transaction.run(use_client, {now_ms, wanted.client_id}).empty()) {
      return base::Error{ErrorCode::oauth_invalid_client, "The client is not known any more."};
    }
    const std::string id = context_.new_id("ogr_");
    transaction.run(insert_grant,
                    {id, wanted.client_id, wanted.redirect_uri, wanted.person_id, wanted.account_id,
                     wanted.caps.per_day.value_or(-1), wanted.caps.per_month.value_or(-1), now_ms,
                     now_ms + wanted.valid_ms});
    transaction.run(insert_token, {text::hex(wanted.code), "code", id, 0, wanted.challenge,
                                   now_ms + wanted.code_valid_ms});
    write_audit(context_, transaction,
                {.actor = actor,
                 .account_id = wanted.account_id,
                 .action = "grant.create",
                 .target = id,
                 .detail = wanted.client_id});
    return grant_at(transaction.run(select_grant, {now_ms, id, "", ""}), 0);
  });
}

Result<Unit, base::Error> SqlGrantStore::deny(const identity::UsedCeremony& request,
                                              std::string_view client_id, const Actor& actor) {
  using Answer = Result<Unit, base::Error>;
  return change<Unit>("deny", [&](Transaction& transaction) -> Answer {
    if (use_ceremony(transaction, request)) return request_decided();
    write_audit(context_, transaction,
                {.actor = actor, .action = "grant.deny", .target = std::string(client_id)});
    return Unit{};
  });
}

std::optional<std::int64_t> SqlGrantStore::redeem_in(Transaction& transaction,
                                                     const oauth::CodeUse& use,
                                                     const oauth::NewTokens& tokens) const {
  const std::string digest = text::hex(use.code);
  const std::int64_t now_ms = context_.now_ms(transaction);
  const auto grant = lock_by_token(transaction, digest, use.client_id, now_ms);
  if (!grant) return std::nullopt;
  const auto code = token_row(transaction, digest, "code");
  const bool is_right = code && code->challenge == use.challenge &&
                        (!use.redirect_uri || *use.redirect_uri == grant->redirect_uri);
  if (!is_right) return std::nullopt;
  if (code->used_at_ms >= 0) {
    if (now_ms - code->used_at_ms > code_replay_ms) {
      end(transaction, grant->id, "code_replayed", gateway, now_ms);
    }
    return std::nullopt;
  }
  if (code->expires_at_ms <= now_ms) return std::nullopt;
  transaction.run(use_token, {now_ms, "", digest});
  add_refresh(transaction, *grant, tokens, 0, now_ms);
  return add_access(transaction, *grant, tokens, now_ms);
}

Result<std::int64_t, base::Error> SqlGrantStore::redeem(const oauth::CodeUse& use,
                                                        const oauth::NewTokens& tokens) {
  using Answer = Result<std::int64_t, base::Error>;
  return answered<std::int64_t>(
      context_, ErrorCode::auth_unavailable, "redeem code", [&]() -> Answer {
        const auto valid_ms = context_.database.write(
            [&](Transaction& transaction) { return redeem_in(transaction, use, tokens); });
        return valid_ms ? Answer(*valid_ms) : Answer(invalid_grant());
      });
}

std::optional<oauth::Refreshed> SqlGrantStore::refresh_in(Transaction& transaction,
                                                          const oauth::RefreshUse& use,
                                                          const oauth::NewTokens& tokens) const {
  const std::string digest = text::hex(use.token);
  const std::int64_t now_ms = context_.now_ms(transaction);
  const auto grant = lock_by_token(transaction, digest, use.client_id, now_ms);
  if (!grant) return std::nullopt;
  const auto token = token_row(transaction, digest, "refresh");
  if (!token || token->expires_at_ms <= now_ms) return std::nullopt;
  if (token->used_at_ms < 0) {
    transaction.run(use_token, {now_ms, use.sealed_successor, digest});
    add_refresh(transaction, *grant, tokens, token->generation + 1, now_ms);
    return oauth::Refreshed{add_access(transaction, *grant, tokens, now_ms)};
  }
  const Rows successor = transaction.run(select_successor, {grant->id, token->generation + 1});
  const bool is_unused = !successor.empty() && successor.number(0, 0) < 0;
  if (is_unused && now_ms - token->used_at_ms <= refresh_grace_ms) {
    return oauth::Refreshed{add_access(transaction, *grant, tokens, now_ms),
                            token->sealed_successor};
  }
  end(transaction, grant->id, "refresh_replayed", gateway, now_ms);
  return std::nullopt;
}

Result<oauth::Refreshed, base::Error> SqlGrantStore::refresh(const oauth::RefreshUse& use,
                                                             const oauth::NewTokens& tokens) {
  using Answer = Result<oauth::Refreshed, base::Error>;
  return answered<oauth::Refreshed>(
      context_, ErrorCode::auth_unavailable, "refresh token", [&]() -> Answer {
        auto refreshed = context_.database.write(
            [&](Transaction& transaction) { return refresh_in(transaction, use, tokens); });
        return refreshed ? Answer(*std::move(refreshed)) : Answer(invalid_grant());
      });
}

Result<Unit, base::Error> SqlGrantStore::revoke_token(const crypto::Sha256& token,
                                                      std::string_view client_id) {
  return change<Unit>("revoke token", [&](Transaction& transaction) -> Unit {
    const std::string digest = text::hex(token);
    const std::int64_t now_ms = context_.now_ms(transaction);
    if (!lock_by_token(transaction, digest, client_id, now_ms)) return Unit{};
    const Rows rows = transaction.run(select_kind, {digest});
    if (rows.text(0, 0) == "access") {
      transaction.run(delete_token, {digest});
      record_identity_change(transaction, rows.text(0, 2), digest);
    } else {
      end(transaction, rows.text(0, 3), "client_revoked",
          {.principal = "client:" + std::string(client_id)}, now_ms);
    }
    return Unit{};
  });
}

Result<bool, base::Error> SqlGrantStore::revoke(std::string_view grant_id,
                                                std::string_view person_id,
                                                std::string_view account_id, const Actor& actor) {
  using Answer = Result<bool, base::Error>;
  return change<bool>("revoke grant", [&](Transaction& transaction) -> Answer {
    transaction.run(lock_account_of_grant, {grant_id});
    transaction.run(lock_grant, {grant_id});
    const std::int64_t now_ms = context_.now_ms(transaction);
    const Rows rows = transaction.run(select_grant, {now_ms, grant_id, person_id, account_id});
    if (rows.empty()) return false;
    const Grant grant = grant_at(rows, 0);
    if (actor.person_id != grant.person_id) {
      if (auto why = why_not_allowed(transaction, grant.account_id, actor, identity::Role::admin)) {
        return *std::move(why);
      }
    }
    end(transaction, grant.id, "revoked", actor, now_ms);
    return true;
  });
}

Result<std::optional<Grant>, base::Error> SqlGrantStore::set_caps(std::string_view grant_id,
                                                                  std::string_view person_id,
                                                                  const identity::SpendCaps& caps,
                                                                  const Actor& actor) {
  using Answer = std::optional<Grant>;
  return change<Answer>("cap grant", [&](Transaction& transaction) -> Answer {
    transaction.run(lock_account_of_grant, {grant_id});
    transaction.run(lock_grant, {grant_id});
    const std::int64_t now_ms = context_.now_ms(transaction);
    const Rows rows = transaction.run(select_grant, {now_ms, grant_id, person_id, ""});
    if (rows.empty()) return std::nullopt;
    Grant grant = grant_at(rows, 0);
    grant.caps = caps;
    transaction.run(cap_grant, {caps.per_day.value_or(-1), caps.per_month.value_or(-1), grant.id});
    record_identity_change(transaction, grant.account_id, "");
    recall_leases(transaction, grant.account_id, 0, "", ledger_now_ms(context_, transaction));
    write_audit(context_, transaction,
                {.actor = actor,
                 .account_id = grant.account_id,
                 .action = "grant.cap",
                 .target = grant.id});
    return grant;
  });
}

}  // namespace

void end_grants_of(const Context& context, Transaction& transaction, std::string_view person_id,
                   std::string_view account_id, std::string_view reason) {
  tell_nodes(transaction, transaction.run(end_all_of_person, {context.now_ms(transaction), reason,
                                                              person_id, account_id}));
}

std::unique_ptr<oauth::GrantStore> make_grant_store(const Context& context) {
  return std::make_unique<SqlGrantStore>(context);
}

}  // namespace turnpike::storage
