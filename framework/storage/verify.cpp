#include "storage/verify.h"

#include <map>

namespace turnpike::storage {
namespace {

using ledger::AccountSums;
using ledger::Credits;
using ledger::Verification;

constexpr Query select_totals{
    "SELECT account_id, CAST(SUM(units) AS BIGINT) AS a, CAST(SUM(remaining) AS BIGINT) AS b,"
    " CAST(SUM(expired) AS BIGINT) AS c, CAST(SUM(voided) AS BIGINT) AS d"
    " FROM allocation GROUP BY account_id",
    "tiiii"};
constexpr Query select_leased{
    "SELECT account_id, CAST(SUM(granted - settled) AS BIGINT) AS a FROM lease"
    " WHERE state = 'open' GROUP BY account_id",
    "ti"};
constexpr Query select_charged{
    "SELECT account_id, CAST(SUM(credits_charged) AS BIGINT) AS a FROM fact GROUP BY account_id",
    "ti"};
// What the postings say each allocation must carry.
constexpr Query select_allocation_faults{
    "SELECT a.id FROM allocation a LEFT JOIN (SELECT allocation_id,"
    " SUM(CASE WHEN from_book = 'issued' THEN units ELSE 0 END) AS issued,"
    " SUM(CASE WHEN to_book = 'available' THEN units ELSE 0 END)"
    " - SUM(CASE WHEN from_book = 'available' THEN units ELSE 0 END) AS available,"
    " SUM(CASE WHEN to_book = 'expired' THEN units ELSE 0 END) AS expired,"
    " SUM(CASE WHEN to_book = 'voided' THEN units ELSE 0 END) AS voided"
    " FROM posting GROUP BY allocation_id) p ON p.allocation_id = a.id"
    " WHERE COALESCE(p.issued, 0) <> a.units OR COALESCE(p.available, 0) <> a.remaining"
    " OR COALESCE(p.expired, 0) <> a.expired OR COALESCE(p.voided, 0) <> a.voided ORDER BY a.id",
    "t"};
// What the postings and facts say each lease must carry.
constexpr Query select_lease_faults{
    "SELECT l.id FROM lease l LEFT JOIN (SELECT lease_id,"
    " SUM(CASE WHEN to_book = 'escrow' THEN units ELSE 0 END) AS granted,"
    " SUM(CASE WHEN from_book = 'escrow' THEN units ELSE 0 END) AS returned"
    " FROM posting GROUP BY lease_id) p ON p.lease_id = l.id"
    " LEFT JOIN (SELECT lease_id, SUM(units) AS charged FROM ("
    "   SELECT lease_id, credits_charged AS units FROM fact WHERE lease_id > 0"
    "   UNION ALL SELECT lease_id, units FROM fact_share) AS shares GROUP BY lease_id) f"
    " ON f.lease_id = l.id"
    " WHERE COALESCE(p.granted, 0) <> l.granted OR COALESCE(f.charged, 0) <> l.settled"
    " OR COALESCE(p.returned, 0) <>"
    " CASE WHEN l.state = 'closed' THEN l.granted - l.settled ELSE 0 END ORDER BY l.id",
    "i"};
// Charges that no lease, or not the leases named, have paid for.
constexpr Query select_fact_faults{
    "SELECT f.message_id FROM fact f LEFT JOIN (SELECT stream, seq, SUM(units) AS units"
    " FROM fact_share GROUP BY stream, seq) s ON s.stream = f.stream AND s.seq = f.seq"
    " LEFT JOIN lease l ON l.id = f.lease_id"
    " WHERE (f.lease_id = 0 AND f.credits_charged <> 0)"
    " OR (f.lease_id = -1 AND f.credits_charged <> COALESCE(s.units, 0))"
    " OR (f.lease_id > 0 AND (l.id IS NULL OR l.account_id <> f.account_id))"
    " ORDER BY f.message_id",
    "t"};
constexpr Query select_batch_faults{
    "SELECT b.stream, b.no FROM settle_batch b WHERE b.facts <> (SELECT COUNT(*) FROM fact f"
    " WHERE f.stream = b.stream AND f.seq >= b.first_seq AND f.seq < b.first_seq + b.facts)"
    " ORDER BY b.stream, b.no",
    "ii"};
constexpr Query select_stream_faults{
    "SELECT c.stream, c.n FROM (SELECT stream, COUNT(*) AS n FROM fact GROUP BY stream) c"
    " LEFT JOIN (SELECT stream, SUM(facts) AS n FROM settle_batch GROUP BY stream) b"
    " ON b.stream = c.stream WHERE c.n <> COALESCE(b.n, 0) ORDER BY c.stream",
    "ii"};

void add_faults(Transaction& snapshot, Verification& verification) {
  const auto each_text = [&](const Query& query, const std::string& before,
                             const std::string& after) {
    const Rows rows = snapshot.run(query);
    for (std::size_t row = 0; row < rows.size(); ++row) {
      verification.problems.push_back(before + rows.text(row, 0) + after);
    }
  };
  each_text(select_allocation_faults, "allocation ", " does not carry what its postings add up to");
  each_text(select_fact_faults, "the charge of message ", " is not what its leases paid");
  const Rows leases = snapshot.run(select_lease_faults);
  for (std::size_t row = 0; row < leases.size(); ++row) {
    verification.problems.push_back("lease " + std::to_string(leases.number(row, 0)) +
                                    " does not carry what its postings and facts add up to");
  }
  const Rows batches = snapshot.run(select_batch_faults);
  for (std::size_t row = 0; row < batches.size(); ++row) {
    verification.problems.push_back("batch " + std::to_string(batches.number(row, 1)) +
                                    " of stream " + std::to_string(batches.number(row, 0)) +
                                    " does not have the facts it was written with");
  }
  const Rows streams = snapshot.run(select_stream_faults);
  for (std::size_t row = 0; row < streams.size(); ++row) {
    verification.problems.push_back("stream " + std::to_string(streams.number(row, 0)) +
                                    " has facts that no batch wrote");
  }
}

}  // namespace

Verification verify_books(Transaction& snapshot) {
  std::map<std::string, AccountSums> accounts;
  const Rows totals = snapshot.run(select_totals);
  for (std::size_t row = 0; row < totals.size(); ++row) {
    AccountSums& sums = accounts[totals.text(row, 0)];
    sums.granted = totals.number(row, 1);
    sums.remaining = totals.number(row, 2);
    sums.expired = totals.number(row, 3);
    sums.voided = totals.number(row, 4);
  }
  const Rows leased = snapshot.run(select_leased);
  for (std::size_t row = 0; row < leased.size(); ++row) {
    accounts[leased.text(row, 0)].leased = leased.number(row, 1);
  }
  const Rows charged = snapshot.run(select_charged);
  for (std::size_t row = 0; row < charged.size(); ++row) {
    accounts[charged.text(row, 0)].charged = charged.number(row, 1);
  }
  Verification verification;
  for (auto& [account_id, sums] : accounts) {
    sums.account_id = account_id;
    if (!sums.balanced()) {
      verification.problems.push_back("account " + account_id + ": granted " +
                                      std::to_string(sums.granted) +
                                      " is not the sum of where the units are");
    }
    verification.accounts.push_back(sums);
  }
  add_faults(snapshot, verification);
  add_correction_faults(snapshot, verification);
  return verification;
}

}  // namespace turnpike::storage
