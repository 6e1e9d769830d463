#include "ledger/reports.h"

#include "storage/stores.h"

namespace turnpike::storage {
namespace {

using ledger::BookCheck;
using ledger::BookCheckKind;

// Charges are in facts before they are in leases (lease_now); summed once instead of per lease.
constexpr Query select_leased{
    "SELECT CAST(COALESCE(SUM(granted - settled), 0) AS BIGINT) - (SELECT"
    "   CAST(COALESCE(SUM(p.units), 0) AS BIGINT) FROM pending_charge p JOIN lease o"
    "   ON o.id = p.lease_id WHERE o.state = 'open') AS units, COUNT(*) AS leases"
    " FROM lease WHERE state = 'open'",
    "ii"};
constexpr Query select_issued_by_day{
    "SELECT created_at / 86400000 AS day, origin, CAST(SUM(units) AS BIGINT) AS units"
    " FROM allocation WHERE created_at >= $1 GROUP BY created_at / 86400000, origin"
    " ORDER BY created_at / 86400000, origin",
    "iti"};
constexpr Query select_expiring_by_day{
    "SELECT expires_at / 86400000 AS day, CAST(SUM(remaining) AS BIGINT) AS units,"
    " COUNT(*) AS allocations FROM allocation WHERE remaining > 0 AND expires_at >= $1"
    " AND expires_at < $2 GROUP BY expires_at / 86400000 ORDER BY expires_at / 86400000",
    "iii"};
// A recursive query finds each stream by one step into the primary key.
constexpr Query select_heads{
    "WITH RECURSIVE each(stream) AS (SELECT MAX(stream) FROM settle_batch UNION ALL"
    " SELECT (SELECT MAX(b.stream) FROM settle_batch b WHERE b.stream < each.stream) FROM each"
    " WHERE each.stream IS NOT NULL)"
    " SELECT e.stream, b.first_seq + b.facts - 1 AS seq, b.head FROM"
    " (SELECT stream FROM each LIMIT $1) e JOIN settle_batch b ON b.stream = e.stream AND b.no ="
    " (SELECT MAX(c.no) FROM settle_batch c WHERE c.stream = e.stream)"
    " ORDER BY e.stream DESC",
    "iit"};
constexpr Query insert_check{
    "INSERT INTO book_check (id, kind, at, facts, accounts, problems, first_problem)"
    " VALUES ($1, $2, $3, $4, $5, $6, $7)"};
constexpr Query select_checks{
    "SELECT at, facts, accounts, problems, first_problem FROM book_check WHERE kind = $1"
    " ORDER BY at DESC, id DESC LIMIT $2",
    "iiiit"};

constexpr std::int64_t ms_per_day = 86'400'000;

class SqlReportStore final : public ledger::ReportStore {
 public:
  explicit SqlReportStore(const Context& context) : context_(context) {}

  Result<ledger::LeasedUnits, base::Error> leased() override {
    return read<ledger::LeasedUnits>("sum leases", select_leased, {}, [](const Rows& rows) {
      return ledger::LeasedUnits{rows.number(0, 0), rows.number(0, 1)};
    });
  }

  Result<std::vector<ledger::IssuedUnits>, base::Error> issued(std::int64_t first_day) override {
    return list<ledger::IssuedUnits>(
        "sum allocations", select_issued_by_day, {first_day * ms_per_day},
        [](const Rows& rows, std::size_t row) {
          return ledger::IssuedUnits{
              rows.number(row, 0),
              ledger::origin(rows.text(row, 1)).value_or(ledger::Origin::operator_grant),
              rows.number(row, 2)};
        });
  }

  Result<std::vector<ledger::ExpiringUnits>, base::Error> expiring(
      std::int64_t from_ms, std::int64_t until_ms) override {
    return list<ledger::ExpiringUnits>(
        "sum what expires", select_expiring_by_day, {from_ms, until_ms},
        [](const Rows& rows, std::size_t row) {
          return ledger::ExpiringUnits{rows.number(row, 0), rows.number(row, 1),
                                       rows.number(row, 2)};
        });
  }

  Result<std::vector<ledger::StreamHead>, base::Error> heads(std::uint32_t most) override {
    return list<ledger::StreamHead>(
        "read heads", select_heads, {std::int64_t{most}}, [](const Rows& rows, std::size_t row) {
          return ledger::StreamHead{rows.number(row, 0), rows.number(row, 1), rows.text(row, 2)};
        });
  }

  Result<Unit, base::Error> record(const BookCheck& check) override {
    return answered<Unit>(
        context_, base::ErrorCode::billing_ledger_unavailable, "record a check", [&] {
          return context_.database.write([&](Transaction& transaction) {
            transaction.run(insert_check, {context_.new_id("chk_"), ledger::name_of(check.kind),
                                           check.at_ms, check.facts, check.accounts,
                                           check.problems, check.first_problem});
            return Unit{};
          });
        });
  }

  Result<std::vector<BookCheck>, base::Error> checks(BookCheckKind kind,
                                                     std::uint32_t most) override {
    return list<BookCheck>("read checks", select_checks,
                           {ledger::name_of(kind), std::int64_t{most}},
                           [kind](const Rows& rows, std::size_t row) {
                             return BookCheck{kind,
                                              rows.number(row, 0),
                                              rows.number(row, 1),
                                              rows.number(row, 2),
                                              rows.number(row, 3),
                                              rows.text(row, 4)};
                           });
  }

 private:
  template <class T, class F>
  Result<T, base::Error> read(std::string_view what, const Query& query,
                              std::initializer_list<Value> values, F&& of) const {
    return read_answered<T>(context_, what, [&] {
      return context_.database.with(
          [&](Connection& connection) { return of(connection.run(query, values)); });
    });
  }
  template <class T, class F>
  Result<std::vector<T>, base::Error> list(std::string_view what, const Query& query,
                                           std::initializer_list<Value> values, F&& at) const {
    return read<std::vector<T>>(what, query, values, [&](const Rows& rows) {
      std::vector<T> all;
      for (std::size_t row = 0; row < rows.size(); ++row) all.push_back(at(rows, row));
      return all;
    });
  }

  const Context& context_;
};

}  // namespace

std::unique_ptr<ledger::ReportStore> make_report_store(const Context& context) {
  return std::make_unique<SqlReportStore>(context);
}

}  // namespace turnpike::storage
