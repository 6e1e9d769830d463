#include "storage/books/verify.h"

namespace turnpike::storage {
namespace {

// An allocation's id is its purchase's id with another prefix (commerce/purchase.h).
#define OWN_ALLOCATION "a.id = 'alc_' || SUBSTR(p.id, 5)"
#define CREDITED "p.state IN ('credited', 'refunded', 'disputed')"
constexpr Query select_uncredited{
    "SELECT p.id FROM purchase p LEFT JOIN allocation a ON " OWN_ALLOCATION " WHERE " CREDITED
    " AND (a.id IS NULL OR a.origin <> p.origin OR a.account_id <> p.account_id"
    " OR a.units <> p.credits) ORDER BY p.id",
    "t"};
constexpr Query select_unpaid{
    "SELECT p.id FROM purchase p JOIN allocation a ON " OWN_ALLOCATION " WHERE NOT " CREDITED
    " ORDER BY p.id",
    "t"};
constexpr Query select_unbought{
    "SELECT a.id FROM allocation a LEFT JOIN purchase p ON " OWN_ALLOCATION
    " LEFT JOIN purchase_restoration r ON r.allocation_id = a.id"
    " WHERE a.origin IN ('purchase', 'auto_top_up') AND p.id IS NULL AND r.allocation_id IS NULL"
    " ORDER BY a.id",
    "t"};
constexpr Query select_unrestored{
    "SELECT r.allocation_id FROM purchase_restoration r JOIN purchase p ON p.id = r.purchase_id"
    " LEFT JOIN allocation a ON a.id = r.allocation_id WHERE a.id IS NULL OR a.units <> r.units"
    " OR a.account_id <> p.account_id OR a.origin <> p.origin ORDER BY r.allocation_id",
    "t"};
// Compares with the units voided in all of a purchase's allocations, less the units restored to it.
constexpr Query select_misclawed{
    "SELECT p.id FROM purchase p JOIN (SELECT o.id, SUM(a.voided) - SUM(o.units) AS voided FROM ("
    "   SELECT p.id, 'alc_' || SUBSTR(p.id, 5) AS allocation_id, 0 AS units FROM purchase p"
    "   UNION ALL SELECT purchase_id, allocation_id, units FROM purchase_restoration) o"
    "  JOIN allocation a ON a.id = o.allocation_id GROUP BY o.id) taken ON taken.id = p.id"
    " WHERE p.clawed > p.wanted OR p.lost < 0"
    " OR (p.is_claw_settled <> 0 AND (p.clawed + p.lost <> p.wanted OR p.clawed > taken.voided))"
    " ORDER BY p.id",
    "t"};
#undef OWN_ALLOCATION
#undef CREDITED

}  // namespace

void add_purchase_faults(Transaction& snapshot, ledger::Verification& verification) {
  const auto each = [&](const Query& query, const std::string& before, const std::string& after) {
    const Rows rows = snapshot.run(query);
    for (std::size_t row = 0; row < rows.size(); ++row) {
      verification.problems.push_back(before + rows.text(row, 0) + after);
    }
  };
  each(select_uncredited, "purchase ", " is credited without an allocation of its Credits");
  each(select_unpaid, "purchase ", " has an allocation, and is not credited");
  each(select_unbought, "allocation ", " was bought by no purchase");
  each(select_unrestored, "allocation ", " does not give back what its purchase says");
  each(select_misclawed, "purchase ", " does not account for what was to be taken back");
}

}  // namespace turnpike::storage
