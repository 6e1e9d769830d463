// verify_books(): reads everything for ledger::Audit, beside running gateways, without holding one
// snapshot for long: an old snapshot keeps PostgreSQL from clearing dead versions of the leases
// that settlements write all the time, and SQLite from shortening its log.
//
//   1  What never changes is read in pieces, each a statement of its own: batches, facts, shares,
//      postings.
//   2  Then what changes, in pieces too: allocations and leases.
//   3  Last, in one short snapshot: the facts and postings that came meanwhile, and once more every
//      allocation and lease that one of them names, for nothing else moves their units.
//      Spend windows of keys are read there alone.
//   4  Corrections and purchases, which are few, in a snapshot of their own.
//
// Throws StoreError. Private to storage/.
#pragma once

#include "ledger/books.h"
#include "storage/stores.h"

namespace turnpike::storage {

// `earlier`: what the books must still contain; null: nothing.
ledger::Verification verify_books(const Context& context, const ledger::Checkpoint* earlier);

// Its part about corrections: each has its allocation, and none exceeds what was charged.
void add_correction_faults(Transaction& snapshot, ledger::Verification& verification);

// Its part about purchases (commerce/purchase.h, I1 and I5).
void add_purchase_faults(Transaction& snapshot, ledger::Verification& verification);

}  // namespace turnpike::storage
