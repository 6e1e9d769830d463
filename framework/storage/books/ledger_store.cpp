#include <atomic>

#include "base/crash_points.h"
#include "storage/books/allocation_rows.h"
#include "storage/books/charges.h"
#include "storage/books/leases.h"
#include "storage/books/replay_store.h"
#include "storage/books/settlement.h"
#include "storage/books/verify.h"
#include "storage/stores.h"

namespace turnpike::storage {
namespace {

using base::ErrorCode;
using ledger::Allocation;
using ledger::Credits;
using ledger::Stored;

constexpr Query next_incarnation{
    "UPDATE counter SET value = value + 1 WHERE name = 'incarnation' RETURNING value", "i"};
constexpr Query insert_incarnation{
    "INSERT INTO incarnation (id, node, started_at) VALUES ($1, $2, $3)"};
constexpr Query select_dead_leases{
    "SELECT l.id, l.epoch FROM lease l JOIN incarnation i ON i.id = l.incarnation"
    " WHERE l.state = 'open' AND i.node = $1 AND i.id <> $2 ORDER BY l.id",
    "ii"};
constexpr Query select_due_leases{
    "SELECT id, epoch FROM lease WHERE state = 'open' AND settle_until < $1 ORDER BY id LIMIT 1000",
    "ii"};
constexpr Query count_due{
    "SELECT (SELECT COUNT(*) FROM lease WHERE state = 'open' AND settle_until < $1)"
    " + (SELECT COUNT(*) FROM allocation WHERE expires_at <= $1 AND remaining > 0)"
    " + (SELECT COUNT(*) FROM (SELECT 1 FROM replay WHERE expires_at <= $1 LIMIT 1) AS old) AS due,"
    " (SELECT value FROM counter WHERE name = 'ledger_time') AS at_ms,"
    " (SELECT value FROM counter WHERE name = 'ledger_epoch') AS epoch",
    "iii"};
constexpr Query select_recalls{
    "SELECT account_id, incarnation, key_id FROM recall WHERE until_ms >= $1", "tit"};
constexpr Query select_withdrawn{
    "SELECT l.account_id, l.key_id, l.id, l.epoch FROM allocation a"
    " JOIN lease l ON l.allocation_id = a.id AND l.state = 'open'"
    " WHERE a.state = 'voiding' AND l.incarnation = $1 AND l.purpose = 0",
    "ttii"};
// Other nodes' recalls only after a minute, when they are not being renewed: two nodes then never
// wait for each other's rows.
constexpr Query delete_recalls{
    "DELETE FROM recall WHERE until_ms < $1 AND (incarnation = $2 OR until_ms < $1 - 60000)"};
constexpr Query next_epoch{
    "UPDATE counter SET value = value + 1 WHERE name = 'ledger_epoch' RETURNING value", "i"};
// Skips more incarnations than can have started since the backup, so that their streams are never
// written again.
constexpr Query skip_incarnations{
    "UPDATE counter SET value = value + 1000000 WHERE name = 'incarnation'"};
constexpr Query select_open_leases{"SELECT id, epoch FROM lease WHERE state = 'open' ORDER BY id",
                                   "ii"};
constexpr Query advance_time{
    "UPDATE counter SET value = $1 WHERE name = 'ledger_time' AND value < $1"};
// With asynchronous standbys a failover loses the last commits.
constexpr Query select_server{
    "SELECT (EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::bigint AS now_ms,"
    " (current_setting('synchronous_standby_names') = '')::int::bigint AS is_alone",
    "ii"};
// By the ledger invariant this equals granted - charged - expired - voided, without reading every
// fact.
constexpr Query select_balance{"SELECT " BALANCE_OF("$1") " AS balance", "i"};
constexpr Query select_allocations{"SELECT " ALLOCATION_COLUMNS
                                   " FROM allocation a WHERE a.account_id = $1"
                                   " ORDER BY a.created_at, a.id",
                                   allocation_kinds};
constexpr Query select_allocation{"SELECT " ALLOCATION_COLUMNS " FROM allocation a WHERE a.id = $1",
                                  allocation_kinds};

constexpr std::int64_t time_step_ms = 5'000;  // ledger time is stored at least this often
constexpr Credits grant_units_max = 1'000'000'000'000;

std::vector<ledger::LeaseReturn> leases_of(const Rows& rows) {
  std::vector<ledger::LeaseReturn> leases;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    leases.push_back({rows.number(row, 0), rows.number(row, 1)});
  }
  return leases;
}

class SqlLeaseStore final : public ledger::LeaseStore {
 public:
  SqlLeaseStore(const Context& context, std::int64_t incarnation, std::int64_t epoch)
      : context_(context),
        session_(context.database.own_session()),
        owner_{incarnation, 0},
        epoch_(epoch) {}

  Stored<std::vector<ledger::LeaseAnswer>> acquire(
      std::span<const ledger::LeaseRequest> requests) override {
    return stored<std::vector<ledger::LeaseAnswer>>([&] {
      pass(base::CrashPoint::lease_before);
      auto answers = session_->write([&](Transaction& transaction) {
        return acquire_leases(context_, transaction, owner_, requests);
      });
      pass(base::CrashPoint::lease_after);
      return answers;
    });
  }

  Stored<Unit> close(std::span<const ledger::LeaseReturn> leases) override {
    return stored<Unit>([&] {
      return session_->write([&](Transaction& transaction) {
        close_leases(transaction, leases, ledger_now_ms(context_, transaction));
        return Unit{};
      });
    });
  }

  Stored<Unit> give_back(std::span<const ledger::LeaseShare> shares) override {
    return stored<Unit>([&] {
      return session_->write([&](Transaction& transaction) {
        give_back_units(transaction, shares, ledger_now_ms(context_, transaction));
        return Unit{};
      });
    });
  }

  Stored<ledger::Tended> tend(std::int64_t latest_ms) override {
    return stored<ledger::Tended>([&] {
      return session_->with([&](Connection& connection) {
        ledger::Tended tended;
        look_at_server(connection, tended);
        if (has_pending_charges(connection, owner_.incarnation)) {
          pass(base::CrashPoint::post_before);
          Transaction transaction(connection, Transaction::Kind::write, context_.database.writer());
          post_charges(transaction, owner_.incarnation);
          transaction.commit();
          pass(base::CrashPoint::post_after);
        }
        const Rows due = connection.run(count_due, {tended.now_ms});
        const std::int64_t stored_ms = due.number(0, 1);
        tended.restored = due.number(0, 2) != epoch_;
        read_wishes(connection, std::max(tended.now_ms, stored_ms), tended);
        tended.paused = tended.now_ms > latest_ms;
        if (tended.paused) return tended;
        if (due.number(0, 0) > 0 || tended.now_ms >= stored_ms + time_step_ms) {
          write_due(connection, tended);
        }
        tended.now_ms = std::max(tended.now_ms, stored_ms);
        return tended;
      });
    });
  }

 private:
  void look_at_server(Connection& connection, ledger::Tended& tended) const {
    if (context_.time == TimeSource::argument || connection.engine() == Engine::sqlite) {
      tended.now_ms = context_.clock.now_ms();
      return;
    }
    const Rows server = connection.run(select_server);
    tended.now_ms = server.number(0, 0);
    tended.is_alone = server.number(0, 1) != 0;
  }

  void write_due(Connection& connection, ledger::Tended& tended) const {
    tended.reclaimed = reclaim_due(connection, tended.now_ms);
    Transaction transaction(connection, Transaction::Kind::write, context_.database.writer());
    const std::int64_t ledger_ms = ledger_now_ms(context_, transaction);
    tended.expired = expire_allocations(transaction, ledger_ms);
    transaction.run(delete_recalls, {ledger_ms, owner_.incarnation});
    tended.forgotten = forget_old_replies(transaction, ledger_ms);
    transaction.commit();
  }

  // A separate transaction from the expiry, which would lock allocations after other leases
  // (leases.h).
  std::uint32_t reclaim_due(Connection& connection, std::int64_t now_ms) const {
    Transaction transaction(connection, Transaction::Kind::write, context_.database.writer());
    transaction.run(advance_time, {now_ms});
    const std::int64_t ledger_ms = ledger_now_ms(context_, transaction);
    const auto due = leases_of(transaction.run(select_due_leases, {ledger_ms}));
    const std::uint32_t reclaimed = close_leases(transaction, due, ledger_ms);
    transaction.commit();
    return reclaimed;
  }

  void read_wishes(Connection& connection, std::int64_t ledger_ms, ledger::Tended& tended) const {
    const Rows recalls = connection.run(select_recalls, {ledger_ms});
    for (std::size_t row = 0; row < recalls.size(); ++row) {
      tended.recalls.push_back({recalls.text(row, 0), recalls.number(row, 1) == owner_.incarnation,
                                recalls.text(row, 2)});
    }
    const Rows withdrawn = connection.run(select_withdrawn, {owner_.incarnation});
    for (std::size_t row = 0; row < withdrawn.size(); ++row) {
      tended.withdrawals.push_back({withdrawn.text(row, 0),
                                    withdrawn.text(row, 1),
                                    {withdrawn.number(row, 2), withdrawn.number(row, 3)}});
    }
  }

  const Context& context_;
  const std::unique_ptr<SessionPool> session_;  // every priced call may wait for the escrow
  const LeaseOwner owner_;
  const std::int64_t epoch_;  // at the start of this incarnation
};

class SqlLedgerStore final : public ledger::LedgerStore {
 public:
  SqlLedgerStore(const Context& context, std::string node_name, std::string notes_path)
      : context_(context), node_name_(std::move(node_name)), notes_path_(std::move(notes_path)) {}

  Stored<Unit> start() override {
    return stored<Unit>([&] {
      if (node_name_.empty()) {
        throw StoreError(StoreError::Kind::fatal, "only a gateway starts the ledger");
      }
      incarnation_ = context_.database.write([&](Transaction& transaction) {
        const std::int64_t id = transaction.run(next_incarnation).number(0, 0);
        const std::int64_t now_ms = ledger_now_ms(context_, transaction);
        transaction.run(insert_incarnation, {id, node_name_, now_ms});
        epoch_ = transaction.run(select_ledger_epoch).number(0, 0);
        close_leases(transaction, leases_of(transaction.run(select_dead_leases, {node_name_, id})),
                     now_ms);
        end_settle_streams(transaction, node_name_, id);
        return id;
      });
      streams_ = 0;
      return Unit{};
    });
  }

  Stored<std::unique_ptr<ledger::SettlementStream>> open_stream() override {
    using Stream = std::unique_ptr<ledger::SettlementStream>;
    return stored<Stream>([&] {
      const std::int64_t stream = incarnation_ * streams_per_incarnation + streams_++;
      context_.database.write([&](Transaction& transaction) {
        open_settle_stream(transaction, stream);
        return Unit{};
      });
      return context_.database.engine() == Engine::sqlite
                 ? make_sqlite_stream(context_, incarnation_, stream)
                 : make_postgres_stream(context_, incarnation_, stream);
    });
  }

  std::unique_ptr<ledger::LeaseStore> open_leases() override {
    return std::make_unique<SqlLeaseStore>(context_, incarnation_, epoch_);
  }

  std::unique_ptr<ledger::ReplayStore> open_replays() override {
    return make_replay_store(context_, incarnation_);
  }

  Stored<std::unique_ptr<ledger::UnknownNotes>> open_notes() override {
    using Notes = std::unique_ptr<ledger::UnknownNotes>;
    return stored<Notes>([&] { return storage::open_notes(notes_path_); });
  }

  Result<Allocation, base::Error> grant(const ledger::GrantRequest& request) override {
    using Answer = Result<Allocation, base::Error>;
    if (request.units <= 0 || request.units > grant_units_max) {
      return base::Error{ErrorCode::request_malformed,
                         "Credits must be a whole number from 1 to 1000000000000."};
    }
    return answered<Allocation>(context_, ErrorCode::billing_ledger_unavailable, "grant", [&] {
      return context_.database.write([&](Transaction& transaction) -> Answer {
        if (auto why = why_not_given(transaction, request.account_id)) return *std::move(why);
        const std::int64_t now_ms = ledger_now_ms(context_, transaction);
        Allocation made;
        made.id = context_.new_id("alc_");
        made.account_id = request.account_id;
        made.origin = request.origin;
        made.units = made.remaining = request.units;
        made.created_at_ms = now_ms;
        made.effective_at_ms = request.effective_at_ms == 0 ? now_ms : request.effective_at_ms;
        made.expires_at_ms = request.expires_at_ms;
        if (made.expires_at_ms <= std::max(now_ms, made.effective_at_ms)) {
          return base::Error{ErrorCode::request_malformed,
                             "The Credits would expire before they are effective."};
        }
        if (!book_allocation(transaction, made, now_ms)) {
          return base::Error{ErrorCode::request_malformed,
                             "This account has its starter grant already."};
        }
        return made;
      });
    });
  }

  Result<std::optional<Allocation>, base::Error> void_allocation(
      std::string_view allocation_id) override {
    using Answer = std::optional<Allocation>;
    return answered<Answer>(context_, ErrorCode::billing_ledger_unavailable, "void", [&] {
      return context_.database.write([&](Transaction& transaction) -> Answer {
        const std::int64_t now_ms = ledger_now_ms(context_, transaction);
        if (!storage::void_allocation(transaction, allocation_id, now_ms)) return std::nullopt;
        return allocation_at(transaction.run(select_allocation, {allocation_id}), 0, 0, now_ms);
      });
    });
  }

  Stored<ledger::Restored> restored() override {
    return stored<ledger::Restored>([&] {
      return context_.database.write([&](Transaction& transaction) {
        ledger::Restored done;
        done.epoch = transaction.run(next_epoch).number(0, 0);
        transaction.run(skip_incarnations);
        done.leases = close_leases(transaction, leases_of(transaction.run(select_open_leases)),
                                   ledger_now_ms(context_, transaction));
        end_all_settle_streams(transaction);
        return done;
      });
    });
  }

  Result<ledger::Balance, base::Error> balance(std::string_view account_id) override {
    return read_answered<ledger::Balance>(context_, "balance", [&] {
      return context_.database.with([&](Connection& connection) {
        return ledger::Balance{connection.run(select_balance, {account_id}).number(0, 0),
                               context_.clock.now_ms()};
      });
    });
  }

  Result<std::vector<Allocation>, base::Error> allocations(std::string_view account_id) override {
    using Answer = std::vector<Allocation>;
    return read_answered<Answer>(context_, "allocations", [&] {
      return context_.database.with([&](Connection& connection) {
        const Rows rows = connection.run(select_allocations, {account_id});
        Answer all;
        for (std::size_t row = 0; row < rows.size(); ++row) {
          all.push_back(allocation_at(rows, row, 0, context_.clock.now_ms()));
        }
        return all;
      });
    });
  }

  Stored<Unit> restore_credits(std::string_view account_id, std::string_view message_id,
                               ledger::Credits units) override {
    ledger::CorrectionRequest request;
    request.account_id = account_id;
    request.message_id = message_id;
    request.kind = ledger::CorrectionKind::voiding;
    request.units = units;
    request.reason = "The call was charged after its settlement had been told as unknown.";
    request.idempotency_key = "restore " + request.message_id;
    request.operator_id = "gateway";
    const auto made = make_correction_store(context_)->correct(request);
    // Any other error means that an operator corrected first, and that the rest is theirs to
    // decide.
    if (made.ok() || made.error().code != ErrorCode::billing_ledger_unavailable) return Unit{};
    return ledger::StoreFailure{ledger::StoreFailure::Kind::unavailable, made.error().message};
  }

  Stored<ledger::Verification> verify(const ledger::Checkpoint* earlier) override {
    return stored<ledger::Verification>([&] { return verify_books(context_, earlier); });
  }

 private:
  const Context& context_;
  const std::string node_name_;
  const std::string notes_path_;
  std::int64_t incarnation_ = 0;
  std::int64_t epoch_ = 0;
  std::atomic<std::int64_t> streams_ = 0;
};

}  // namespace

std::unique_ptr<ledger::LedgerStore> make_ledger_store(const Context& context,
                                                       const std::string& node_name,
                                                       const std::string& notes_path) {
  return std::make_unique<SqlLedgerStore>(context, node_name, notes_path);
}

}  // namespace turnpike::storage
