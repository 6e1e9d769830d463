#include "storage/books/verify.h"

namespace turnpike::storage {
namespace {

constexpr Query select_carrier_faults{
    "SELECT c.id FROM correction c LEFT JOIN allocation a ON a.id = c.allocation_id"
    " WHERE a.id IS NULL OR a.origin <> 'correction' OR a.account_id <> c.account_id"
    " OR a.units <> c.units ORDER BY c.id",
    "t"};
constexpr Query select_unfounded{
    "SELECT a.id FROM allocation a LEFT JOIN correction c ON c.allocation_id = a.id"
    " WHERE a.origin = 'correction' AND c.id IS NULL ORDER BY a.id",
    "t"};
constexpr Query select_excesses{
    "SELECT c.message_id FROM (SELECT message_id, account_id, SUM(units) AS units FROM correction"
    " GROUP BY message_id, account_id) c"
    " LEFT JOIN fact f ON f.message_id = c.message_id AND f.account_id = c.account_id"
    " WHERE f.message_id IS NULL OR c.units > f.credits_charged ORDER BY c.message_id",
    "t"};

}  // namespace

void add_correction_faults(Transaction& snapshot, ledger::Verification& verification) {
  const auto each = [&](const Query& query, const std::string& before, const std::string& after) {
    const Rows rows = snapshot.run(query);
    for (std::size_t row = 0; row < rows.size(); ++row) {
      verification.problems.push_back(before + rows.text(row, 0) + after);
    }
  };
  each(select_carrier_faults, "correction ", " is not carried by an allocation of its units");
  each(select_unfounded, "allocation ", " corrects no message");
  each(select_excesses, "message ", " was corrected by more than it was charged");
}

}  // namespace turnpike::storage
