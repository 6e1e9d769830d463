#include <limits>

#include "storage/stores.h"
#include "text/words.h"

namespace turnpike::storage {
namespace {

using base::ErrorCode;
using ledger::Correction;
using ledger::CorrectionRequest;
using ledger::Credits;

constexpr Query select_by_key{
    "SELECT id, message_id, kind, units, reason, reference, allocation_id, operator_id, recorded_at"
    " FROM correction WHERE account_id = $1 AND idempotency_key = $2",
    "tttitttti"};
// Corrections of one message are serialized: SQLite has one writer, PostgreSQL locks the row by an
// update that changes nothing.
constexpr Query select_fact_sqlite{
    "SELECT credits_charged FROM fact WHERE message_id = $1 AND account_id = $2", "i"};
constexpr Query select_fact_postgres{
    "SELECT credits_charged FROM fact WHERE message_id = $1 AND account_id = $2 FOR UPDATE", "i"};
constexpr Query select_corrected{
    "SELECT CAST(COALESCE(SUM(units), 0) AS BIGINT) AS units FROM correction"
    " WHERE message_id = $1",
    "i"};
// If several allocations paid: the latest expiry.
constexpr Query select_expiry{
    "SELECT COALESCE(MAX(a.expires_at), 0) AS at_ms FROM allocation a"
    " JOIN lease l ON l.allocation_id = a.id JOIN ("
    "   SELECT lease_id FROM fact WHERE message_id = $1 AND lease_id > 0"
    "   UNION ALL SELECT s.lease_id FROM fact f JOIN fact_share s"
    "     ON s.stream = f.stream AND s.seq = f.seq WHERE f.message_id = $1"
    " ) paid ON paid.lease_id = l.id",
    "i"};
constexpr Query insert_correction{
    "INSERT INTO correction (id, account_id, message_id, kind, units, reason, reference,"
    " idempotency_key, allocation_id, operator_id, recorded_at)"
    " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)"
    " ON CONFLICT (account_id, idempotency_key) DO NOTHING RETURNING id",
    "t"};

constexpr Query select_corrections_before{
    "SELECT c.id, c.message_id, c.kind, c.units, c.reason, c.reference, c.allocation_id,"
    " c.operator_id, c.recorded_at, c.account_id, COALESCE(o.name, '') AS name FROM correction c"
    " LEFT JOIN operator_credential o ON o.id = c.operator_id"
    " WHERE (c.recorded_at, c.id) < ($1, $2) ORDER BY c.recorded_at DESC, c.id DESC LIMIT $3",
    "tttittttitt"};

using Answer = Result<Correction, base::Error>;

Correction correction_at(const Rows& rows, std::size_t row = 0) {
  return {rows.text(row, 0),
          rows.text(row, 1),
          ledger::correction_kind(rows.text(row, 2)).value_or(ledger::CorrectionKind::refund),
          rows.number(row, 3),
          rows.text(row, 4),
          rows.text(row, 5),
          rows.text(row, 6),
          rows.text(row, 7),
          rows.number(row, 8)};
}

class SqlCorrectionStore final : public ledger::CorrectionStore {
 public:
  explicit SqlCorrectionStore(const Context& context) : context_(context) {}

  Result<std::vector<ledger::MadeCorrection>, base::Error> list(
      const ledger::CorrectionQuery& query) override {
    using List = std::vector<ledger::MadeCorrection>;
    return read_answered<List>(context_, "list corrections", [&] {
      return context_.database.with([&](Connection& connection) {
        const bool is_first = query.before_recorded_at_ms == 0;
        const Rows rows = connection.run(
            select_corrections_before,
            {is_first ? std::numeric_limits<std::int64_t>::max() : query.before_recorded_at_ms,
             query.before_id, std::int64_t{query.limit}});
        List list;
        for (std::size_t row = 0; row < rows.size(); ++row) {
          list.push_back({correction_at(rows, row), rows.text(row, 9), rows.text(row, 10)});
        }
        return list;
      });
    });
  }

  Answer correct(const CorrectionRequest& request) override {
    if (request.units <= 0) {
      return base::Error{ErrorCode::request_malformed,
                         "A correction restores at least one Credit."};
    }
    try {
      return context_.database.write(
          [&](Transaction& transaction) { return correct_in(transaction, request); });
    } catch (const StoreError& error) {
      context_.report("correct", error);
      return base::Error{ErrorCode::billing_ledger_unavailable,
                         error.kind() == StoreError::Kind::unavailable
                             ? "The books cannot be reached; nothing was recorded."
                             : "Whether the correction was recorded is not known: repeat it under "
                               "the same Idempotency-Key.",
                         1};
    }
  }

 private:
  Answer correct_in(Transaction& transaction, const CorrectionRequest& request) const {
    const bool is_sqlite = context_.database.engine() == Engine::sqlite;
    const Rows fact = transaction.run(is_sqlite ? select_fact_sqlite : select_fact_postgres,
                                      {request.message_id, request.account_id});
    // With the lock held, an earlier correction of this message under this key is visible.
    if (auto earlier = answer_of_key(transaction, request)) return *std::move(earlier);
    if (fact.empty()) {
      return base::Error{ErrorCode::billing_message_not_found,
                         "This account has no usage with this message id."};
    }
    const Credits left =
        fact.number(0, 0) - transaction.run(select_corrected, {request.message_id}).number(0, 0);
    if (request.units > left) {
      return base::Error{ErrorCode::billing_correction_exceeds_charge,
                         "Of the charge of this message " + text::credits_text(left) +
                             (left == 1 ? " is" : " are") + " left to be restored."};
    }
    return record(transaction, request);
  }

  static std::optional<Answer> answer_of_key(Transaction& transaction,
                                             const CorrectionRequest& request) {
    const Rows rows = transaction.run(select_by_key, {request.account_id, request.idempotency_key});
    if (rows.empty()) return std::nullopt;
    Correction earlier = correction_at(rows);
    earlier.is_repeat = true;
    if (earlier.answers(request)) return earlier;
    return base::Error{ErrorCode::idempotency_conflict,
                       "This Idempotency-Key was used for another correction."};
  }

  Answer record(Transaction& transaction, const CorrectionRequest& request) const {
    const std::int64_t now_ms = ledger_now_ms(context_, transaction);
    Correction made{context_.new_id("cor_"), request.message_id,  request.kind,
                    request.units,           request.reason,      request.reference,
                    context_.new_id("alc_"), request.operator_id, now_ms};
    const Rows inserted =
        transaction.run(insert_correction,
                        {made.id, request.account_id, made.message_id, ledger::name_of(made.kind),
                         made.units, made.reason, made.reference, request.idempotency_key,
                         made.allocation_id, made.operator_id, made.recorded_at_ms});
    // Another message of this account was corrected under the key meanwhile.
    if (inserted.empty()) return *answer_of_key(transaction, request);
    ledger::Allocation allocation;
    allocation.id = made.allocation_id;
    allocation.account_id = request.account_id;
    allocation.origin = ledger::Origin::correction;
    allocation.units = made.units;
    allocation.created_at_ms = allocation.effective_at_ms = now_ms;
    allocation.expires_at_ms = ledger::correction_expiry_ms(
        transaction.run(select_expiry, {made.message_id}).number(0, 0), now_ms);
    book_allocation(transaction, allocation, now_ms);
    return made;
  }

  const Context& context_;
};

}  // namespace

std::unique_ptr<ledger::CorrectionStore> make_correction_store(const Context& context) {
  return std::make_unique<SqlCorrectionStore>(context);
}

}  // namespace turnpike::storage
