#include "storage/books/allocation_rows.h"

namespace turnpike::storage {
namespace {

using ledger::AllocationStatus;

AllocationStatus status_of(const std::string& state, ledger::Credits expired,
                           const ledger::Allocation& allocation, std::int64_t now_ms) {
  if (state != "open") return AllocationStatus::voided;
  if (expired > 0) return AllocationStatus::expired;  // the remainder is posted as expired already
  if (allocation.remaining == 0) return AllocationStatus::exhausted;
  return allocation.expires_at_ms <= now_ms ? AllocationStatus::expired : AllocationStatus::active;
}

}  // namespace

ledger::Allocation allocation_at(const Rows& rows, std::size_t row, std::size_t column,
                                 std::int64_t now_ms) {
  const auto origin = ledger::origin(rows.text(row, column + 2));
  if (!origin) throw StoreError(StoreError::Kind::fatal, "an allocation of unknown origin");
  ledger::Allocation allocation;
  allocation.id = rows.text(row, column);
  allocation.account_id = rows.text(row, column + 1);
  allocation.origin = *origin;
  allocation.units = rows.number(row, column + 3);
  allocation.remaining = rows.number(row, column + 4);
  allocation.created_at_ms = rows.number(row, column + 5);
  allocation.effective_at_ms = rows.number(row, column + 6);
  allocation.expires_at_ms = rows.number(row, column + 7);
  allocation.status =
      status_of(rows.text(row, column + 8), rows.number(row, column + 9), allocation, now_ms);
  return allocation;
}

}  // namespace turnpike::storage
