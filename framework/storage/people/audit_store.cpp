#include "identity/members.h"
#include "storage/people/audit_rows.h"

namespace turnpike::storage {
namespace {

using base::ErrorCode;
using identity::AuditEvent;
using identity::AuditOutcome;

constexpr Query next_sequence{
    "UPDATE counter SET value = value + 1 WHERE name = 'audit' RETURNING value", "i"};
constexpr Query insert_audit_event{
    "INSERT INTO audit_event (sequence, at, actor, session_id, account_id, action, target, outcome,"
    " method, address, user_agent, request_id, detail)"
    " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)"};
constexpr Query select_role{"SELECT role FROM membership WHERE account_id = $1 AND person_id = $2",
                            "t"};

#define EVENT_COLUMNS                                                                      \
  "sequence, at, actor, session_id, account_id, action, target, outcome, method, address," \
  " user_agent, request_id, detail"
constexpr char event_kinds[] = "iittttttttttt";
constexpr Query select_events{
    "SELECT " EVENT_COLUMNS " FROM audit_event WHERE sequence < $1 ORDER BY sequence DESC LIMIT $2",
    event_kinds};
constexpr Query select_events_of{
    "SELECT " EVENT_COLUMNS
    " FROM audit_event WHERE account_id = $1 AND sequence < $2"
    " AND ('' = $3 OR actor = $3) AND ('' = $4 OR action = $4) ORDER BY sequence DESC LIMIT $5",
    event_kinds};
// Each side of the union reads one page from its index.
constexpr Query select_events_about{
    "SELECT " EVENT_COLUMNS
    " FROM audit_event WHERE sequence IN"
    " (SELECT sequence FROM (SELECT sequence FROM audit_event WHERE actor = $1 AND sequence < $2"
    " ORDER BY sequence DESC LIMIT $3) AS done UNION"
    " SELECT sequence FROM (SELECT sequence FROM audit_event WHERE target = $4 AND sequence < $2"
    " ORDER BY sequence DESC LIMIT $3) AS suffered) ORDER BY sequence DESC LIMIT $3",
    event_kinds};
#undef EVENT_COLUMNS

constexpr Query select_tries{
    "SELECT tries, ends_at FROM throttle WHERE key = $1 AND starts_at = $2", "ii"};
constexpr Query add_try{
    "INSERT INTO throttle (key, starts_at, ends_at, tries) VALUES ($1, $2, $3, 1)"
    " ON CONFLICT (key, starts_at) DO UPDATE SET tries = throttle.tries + 1 RETURNING tries",
    "i"};
// One transaction per thousand rows, since other writers wait for it on SQLite.
constexpr Query sweep_events{
    "DELETE FROM audit_event WHERE sequence IN"
    " (SELECT sequence FROM audit_event WHERE at < $1 ORDER BY at LIMIT 1000) RETURNING sequence",
    "i"};

constexpr std::int64_t after_all_events = 0x7FFF'FFFF'FFFF'FFFF;

AuditEvent event_at(const Rows& rows, std::size_t row) {
  AuditEvent event;
  event.sequence = rows.number(row, 0);
  event.at_ms = rows.number(row, 1);
  event.actor.principal = rows.text(row, 2);
  event.actor.session_id = rows.text(row, 3);
  event.account_id = rows.text(row, 4);
  event.action = rows.text(row, 5);
  event.target = rows.text(row, 6);
  event.outcome =
      rows.text(row, 7) == name_of(AuditOutcome::done) ? AuditOutcome::done : AuditOutcome::refused;
  event.method = rows.text(row, 8);
  event.actor.address = rows.text(row, 9);
  event.actor.user_agent = rows.text(row, 10);
  event.actor.request_id = rows.text(row, 11);
  event.detail = rows.text(row, 12);
  return event;
}

Rows rows_of(Connection& connection, const identity::AuditQuery& query, std::int64_t before) {
  if (!query.person_id.empty()) {
    return connection.run(select_events_about, {"user:" + query.person_id, before, query.limit,
                                                query.person_id});
  }
  if (query.account_id.empty()) return connection.run(select_events, {before, query.limit});
  return connection.run(select_events_of,
                        {query.account_id, before, query.actor, query.action, query.limit});
}

class SqlAuditStore final : public identity::AuditStore {
 public:
  explicit SqlAuditStore(const Context& context) : context_(context) {}

  Result<Unit, base::Error> record(const AuditEvent& event) override {
    return answered<Unit>(context_, ErrorCode::auth_unavailable, "record audit event", [&] {
      return context_.database.write([&](Transaction& transaction) {
        write_audit(context_, transaction, event);
        return Unit{};
      });
    });
  }

  Result<std::vector<AuditEvent>, base::Error> list(const identity::AuditQuery& query) override {
    using Answer = std::vector<AuditEvent>;
    return answered<Answer>(context_, ErrorCode::auth_unavailable, "list audit events", [&] {
      return context_.database.with([&](Connection& connection) {
        const std::int64_t before = query.before == 0 ? after_all_events : query.before;
        const Rows rows = rows_of(connection, query, before);
        Answer events;
        for (std::size_t row = 0; row < rows.size(); ++row) events.push_back(event_at(rows, row));
        return events;
      });
    });
  }

  Result<std::uint32_t, base::Error> throttled(std::string_view key, std::int64_t window_ms,
                                               std::int64_t tries_max) override {
    using Answer = std::uint32_t;
    return answered<Answer>(context_, ErrorCode::auth_unavailable, "read tries", [&] {
      return context_.database.with([&](Connection& connection) -> Answer {
        const std::int64_t now_ms = context_.now_ms(connection);
        const Rows rows = connection.run(select_tries, {key, now_ms - now_ms % window_ms});
        if (rows.empty() || rows.number(0, 0) < tries_max) return 0;
        return static_cast<Answer>((rows.number(0, 1) - now_ms + 999) / 1'000);
      });
    });
  }

  Result<std::int64_t, base::Error> count_try(std::string_view key,
                                              std::int64_t window_ms) override {
    return answered<std::int64_t>(context_, ErrorCode::auth_unavailable, "count try", [&] {
      return context_.database.write([&](Transaction& transaction) {
        const std::int64_t now_ms = context_.now_ms(transaction);
        const std::int64_t starts_ms = now_ms - now_ms % window_ms;
        return transaction.run(add_try, {key, starts_ms, starts_ms + window_ms}).number(0, 0);
      });
    });
  }

  Result<std::int64_t, base::Error> sweep(std::int64_t kept_ms) override {
    return answered<std::int64_t>(context_, ErrorCode::auth_unavailable, "sweep audit events", [&] {
      std::int64_t deleted = 0;
      while (true) {
        const std::size_t step = context_.database.write([&](Transaction& transaction) {
          return transaction.run(sweep_events, {context_.now_ms(transaction) - kept_ms}).size();
        });
        if (step == 0) return deleted;
        deleted += static_cast<std::int64_t>(step);
      }
    });
  }

 private:
  const Context& context_;
};

}  // namespace

void write_audit(const Context& context, Transaction& transaction, const AuditEvent& event) {
  const identity::Actor& actor = event.actor;
  const std::int64_t sequence = transaction.run(next_sequence).number(0, 0);
  transaction.run(insert_audit_event,
                  {sequence, context.now_ms(transaction), actor.principal, actor.session_id,
                   event.account_id, event.action, event.target, name_of(event.outcome),
                   event.method, actor.address, actor.user_agent, actor.request_id, event.detail});
}

std::optional<identity::Role> role_in(Transaction& transaction, std::string_view account_id,
                                      std::string_view person_id) {
  const Rows rows = transaction.run(select_role, {account_id, person_id});
  if (rows.empty()) return std::nullopt;
  return identity::role(rows.text(0, 0));
}

std::optional<base::Error> why_not_allowed(Transaction& transaction, std::string_view account_id,
                                           const identity::Actor& actor, identity::Role needed) {
  if (actor.person_id.empty()) return std::nullopt;
  return identity::role_refusal(role_in(transaction, account_id, actor.person_id), needed);
}

std::unique_ptr<identity::AuditStore> make_audit_store(const Context& context) {
  return std::make_unique<SqlAuditStore>(context);
}

}  // namespace turnpike::storage
