#include <algorithm>

#include "storage/people/audit_rows.h"
#include "storage/people/session_rows.h"
#include "text/encoding.h"

namespace turnpike::storage {
namespace {

using base::ErrorCode;
using identity::Actor;
using identity::FoundSession;
using identity::NewSession;
using identity::Session;
using identity::SessionLimits;

constexpr std::int64_t sessions_max = 50;  // per person
constexpr std::int64_t tail_ms = 10'000;
constexpr std::int64_t seen_step_ms = 60'000;
constexpr std::int64_t kept_after_end_ms = 30 * 24 * 3'600'000ll;

#define SESSION_COLUMNS                                                            \
  "s.id, s.person_id, s.name, s.transport, s.method, s.strength, s.step_up_until," \
  " s.created_at, s.last_seen_at, s.expires_at, s.address, s.user_agent"
constexpr char session_kinds[] = "ttttttiiiitt";
constexpr Query insert_session{
    "INSERT INTO session (id, digest, person_id, name, transport, method, strength, step_up_until,"
    " created_at, last_seen_at, expires_at, address, user_agent)"
    " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $9, $10, $11, $12)"};
// One query for session, person and role. The first of the two digests is that of the current
// token.
constexpr Query select_session{
    "SELECT " SESSION_COLUMNS
    ", CASE WHEN s.digest = $1 THEN 0 ELSE 1 END, s.tail_until,"
    " COALESCE((SELECT m.role FROM membership m WHERE m.account_id = $2"
    " AND m.person_id = s.person_id), '')"
    " FROM session s JOIN person p ON p.id = s.person_id"
    " WHERE (s.digest = $1 OR s.tail_digest = $1) AND s.ended_at = -1 AND p.status = 'active'",
    "ttttttiiiittiit"};
constexpr Query select_sessions_of{
    "SELECT " SESSION_COLUMNS
    " FROM session s WHERE s.person_id = $1 AND s.ended_at = -1 ORDER BY s.created_at DESC, s.id",
    session_kinds};
constexpr Query select_sessions{
    "SELECT " SESSION_COLUMNS
    " FROM session s WHERE s.ended_at = -1 ORDER BY s.created_at DESC, s.id",
    session_kinds};
#undef SESSION_COLUMNS
constexpr Query select_active_person{
    "UPDATE person SET name = name WHERE id = $1 AND status = 'active' RETURNING id", "t"};
constexpr Query touch_session{
    "UPDATE session SET last_seen_at = $1 WHERE id = $2 AND last_seen_at < $1"};
constexpr Query end_one{
    "UPDATE session SET ended_at = $1 WHERE id = $2 AND ended_at = -1 AND (person_id = $3 OR $3 = "
    "'')"
    " RETURNING person_id",
    "t"};
constexpr Query end_all_of{
    "UPDATE session SET ended_at = $1 WHERE ended_at = -1 AND id <> $2"
    " AND (person_id = $3 OR $3 = '') RETURNING id",
    "t"};
constexpr Query end_oldest{
    "UPDATE session SET ended_at = $1 WHERE id IN (SELECT id FROM session WHERE person_id = $2"
    " AND ended_at = -1 ORDER BY created_at DESC, id DESC LIMIT 1000 OFFSET $3)"};
constexpr Query renew{
    "UPDATE session SET tail_digest = digest, tail_until = $1, digest = $2,"
    " method = CASE WHEN $3 = '' THEN method ELSE $3 END,"
    " strength = CASE WHEN $3 = '' THEN strength ELSE $4 END,"
    " step_up_until = CASE WHEN $5 > step_up_until THEN $5 ELSE step_up_until END"
    " WHERE id = $6 AND person_id = $7 AND ended_at = -1 RETURNING id",
    "t"};
constexpr Query insert_used{
    "INSERT INTO used_ceremony (id, expires_at) VALUES ($1, $2) ON CONFLICT DO NOTHING RETURNING "
    "id",
    "t"};
constexpr Query sweep_sessions{
    "DELETE FROM session WHERE expires_at < $1 OR (ended_at > -1 AND ended_at < $1)"};
constexpr Query sweep_links{"DELETE FROM one_time_link WHERE expires_at < $1"};
constexpr Query sweep_mailed_links{"DELETE FROM mailed_link WHERE expires_at < $1"};
constexpr Query sweep_mail{"DELETE FROM mail_outbox WHERE ended_at > -1 AND ended_at < $1"};
constexpr Query sweep_notices{"DELETE FROM person_notice WHERE seen_at > -1 AND seen_at < $1"};
constexpr Query sweep_ceremonies{"DELETE FROM used_ceremony WHERE expires_at < $1"};
constexpr Query sweep_tries{"DELETE FROM throttle WHERE ends_at < $1"};
constexpr Query sweep_devices{"DELETE FROM known_device WHERE expires_at < $1"};

Session session_at(const Rows& rows, std::size_t row) {
  Session session;
  session.id = rows.text(row, 0);
  session.person_id = rows.text(row, 1);
  session.name = rows.text(row, 2);
  session.transport =
      identity::session_transport(rows.text(row, 3)).value_or(identity::SessionTransport::cookie);
  session.method = rows.text(row, 4);
  session.strength = identity::strength(rows.text(row, 5)).value_or(identity::Strength::enrol);
  session.step_up_until_ms = rows.number(row, 6);
  session.created_at_ms = rows.number(row, 7);
  session.last_seen_at_ms = rows.number(row, 8);
  session.expires_at_ms = rows.number(row, 9);
  session.address = rows.text(row, 10);
  session.user_agent = rows.text(row, 11);
  return session;
}

// Bearer sessions do not end when idle.
bool goes_on(const Session& session, const SessionLimits& limits, std::int64_t now_ms) {
  const bool is_idle = session.transport == identity::SessionTransport::cookie &&
                       now_ms >= session.last_seen_at_ms + limits.idle_ms;
  return now_ms < session.expires_at_ms && !is_idle;
}

class SqlSessionStore final : public identity::SessionStore {
 public:
  explicit SqlSessionStore(const Context& context) : context_(context) {}

  Result<std::optional<FoundSession>, base::Error> find(const crypto::Sha256& digest,
                                                        std::string_view account_id,
                                                        const SessionLimits& limits) override {
    using Answer = std::optional<FoundSession>;
    return answered<Answer>(context_, ErrorCode::auth_unavailable, "find session", [&] {
      std::int64_t now_ms = 0;
      Answer found = context_.database.with([&](Connection& connection) {
        now_ms = context_.now_ms(connection);
        return read(connection, digest, account_id, limits, now_ms);
      });
      if (found && !found->is_of_old_token &&
          found->session.last_seen_at_ms + seen_step_ms <= now_ms) {
        context_.database.write([&](Transaction& transaction) {
          transaction.run(touch_session, {now_ms, found->session.id});
          return Unit{};
        });
      }
      return found;
    });
  }

  Result<std::optional<Session>, base::Error> add(std::string_view person_id,
                                                  const NewSession& session,
                                                  const Actor& actor) override {
    using Answer = std::optional<Session>;
    return answered<Answer>(context_, ErrorCode::auth_unavailable, "add session", [&] {
      return context_.database.write([&](Transaction& transaction) -> Answer {
        if (transaction.run(select_active_person, {person_id}).empty()) return std::nullopt;
        return begin_session(context_, transaction, person_id, session, actor);
      });
    });
  }

  Result<std::vector<Session>, base::Error> list(std::string_view person_id,
                                                 const SessionLimits& limits) override {
    using Answer = std::vector<Session>;
    return answered<Answer>(context_, ErrorCode::auth_unavailable, "list sessions", [&] {
      return context_.database.with([&](Connection& connection) {
        const std::int64_t now_ms = context_.now_ms(connection);
        const Rows rows = person_id.empty() ? connection.run(select_sessions)
                                            : connection.run(select_sessions_of, {person_id});
        Answer sessions;
        for (std::size_t row = 0; row < rows.size(); ++row) {
          Session session = session_at(rows, row);
          if (goes_on(session, limits, now_ms)) sessions.push_back(std::move(session));
        }
        return sessions;
      });
    });
  }

  Result<bool, base::Error> end(std::string_view person_id, std::string_view session_id,
                                const Actor& actor) override {
    return answered<bool>(context_, ErrorCode::auth_unavailable, "end session", [&] {
      return context_.database.write([&](Transaction& transaction) {
        const std::int64_t now_ms = context_.now_ms(transaction);
        const Rows ended = transaction.run(end_one, {now_ms, session_id, person_id});
        if (ended.empty()) return false;
        write_audit(context_, transaction,
                    {.actor = actor, .action = "session.end", .target = std::string(session_id)});
        return true;
      });
    });
  }

  Result<std::int64_t, base::Error> end_others(std::string_view person_id,
                                               std::string_view kept_session_id,
                                               const Actor& actor) override {
    using Answer = std::int64_t;
    return answered<Answer>(context_, ErrorCode::auth_unavailable, "end sessions", [&] {
      return context_.database.write([&](Transaction& transaction) {
        const Answer ended = end_sessions(context_, transaction, person_id, kept_session_id);
        write_audit(context_, transaction,
                    {.actor = actor,
                     .action = "session.end_others",
                     .target = std::string(person_id),
                     .detail = std::to_string(ended) + " sessions"});
        return ended;
      });
    });
  }

  Result<Unit, base::Error> sweep() override {
    return answered<Unit>(context_, ErrorCode::auth_unavailable, "sweep sessions", [&] {
      return context_.database.write([&](Transaction& transaction) {
        const std::int64_t now_ms = context_.now_ms(transaction);
        transaction.run(sweep_sessions, {now_ms - kept_after_end_ms});
        transaction.run(sweep_links, {now_ms - kept_after_end_ms});
        transaction.run(sweep_mailed_links, {now_ms - kept_after_end_ms});
        transaction.run(sweep_mail, {now_ms - kept_after_end_ms});
        transaction.run(sweep_notices, {now_ms - kept_after_end_ms});
        transaction.run(sweep_ceremonies, {now_ms});
        transaction.run(sweep_tries, {now_ms});
        transaction.run(sweep_devices, {now_ms});
        return Unit{};
      });
    });
  }

 private:
  static std::optional<FoundSession> read(Connection& connection, const crypto::Sha256& digest,
                                          std::string_view account_id, const SessionLimits& limits,
                                          std::int64_t now_ms) {
    const Rows rows = connection.run(select_session, {text::hex(digest), account_id});
    if (rows.empty()) return std::nullopt;
    FoundSession found;
    found.session = session_at(rows, 0);
    found.is_of_old_token = rows.number(0, 12) != 0;
    if (found.is_of_old_token && now_ms >= rows.number(0, 13)) return std::nullopt;
    if (!goes_on(found.session, limits, now_ms)) return std::nullopt;
    found.is_stepped_up = now_ms < found.session.step_up_until_ms;
    found.role = identity::role(rows.text(0, 14));
    return found;
  }

  const Context& context_;
};

}  // namespace

Session begin_session(const Context& context, Transaction& transaction, std::string_view person_id,
                      const NewSession& wanted, const Actor& actor) {
  const std::int64_t now_ms = context.now_ms(transaction);
  Session session;
  session.id = context.new_id("ses_");
  session.person_id = person_id;
  session.name = wanted.name;
  session.transport = wanted.transport;
  session.method = wanted.method;
  session.strength = wanted.strength;
  session.step_up_until_ms = now_ms + wanted.step_up_ms;
  session.created_at_ms = now_ms;
  session.last_seen_at_ms = now_ms;
  session.expires_at_ms = now_ms + wanted.valid_ms;
  session.address = actor.address;
  session.user_agent = actor.user_agent;
  transaction.run(end_oldest, {now_ms, person_id, sessions_max - 1});
  transaction.run(insert_session, {session.id, text::hex(wanted.digest), session.person_id,
                                   session.name, name_of(session.transport), session.method,
                                   name_of(session.strength), session.step_up_until_ms, now_ms,
                                   session.expires_at_ms, session.address, session.user_agent});
  Actor by = actor;
  if (by.principal.empty()) by.principal = "user:" + session.person_id;
  write_audit(context, transaction,
              {.actor = by,
               .action = "session.begin",
               .target = session.id,
               .method = session.method,
               .detail = std::string(name_of(session.transport)) + " of " + session.person_id});
  return session;
}

bool renew_session(const Context& context, Transaction& transaction, std::string_view person_id,
                   const identity::RenewedSession& session) {
  const std::int64_t now_ms = context.now_ms(transaction);
  const std::int64_t step_up_until = session.step_up_ms == 0 ? -1 : now_ms + session.step_up_ms;
  return !transaction
              .run(renew, {now_ms + tail_ms, text::hex(session.digest), session.method.value_or(""),
                           name_of(session.strength), step_up_until, session.session_id, person_id})
              .empty();
}

std::int64_t end_sessions(const Context& context, Transaction& transaction,
                          std::string_view person_id, std::string_view kept_session_id) {
  const std::int64_t now_ms = context.now_ms(transaction);
  return static_cast<std::int64_t>(
      transaction.run(end_all_of, {now_ms, kept_session_id, person_id}).size());
}

std::optional<base::Error> use_ceremony(Transaction& transaction,
                                        const identity::UsedCeremony& ceremony) {
  if (!transaction.run(insert_used, {ceremony.id, ceremony.expires_at_ms}).empty()) {
    return std::nullopt;
  }
  return base::Error{ErrorCode::auth_ceremony_ended, "This was answered already: begin anew."};
}

std::unique_ptr<identity::SessionStore> make_session_store(const Context& context) {
  return std::make_unique<SqlSessionStore>(context);
}

}  // namespace turnpike::storage
