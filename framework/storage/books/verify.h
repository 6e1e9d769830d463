// verify_books(): reads the whole books for ledger::Audit, beside running gateways, without holding
// one snapshot for long: an old snapshot keeps PostgreSQL from vacuuming dead versions of the
// leases that settlements update all the time, and SQLite from truncating its write-ahead log.
//
//   1  Immutable rows are read in pieces, each a statement of its own: batches, facts, shares,
//      postings.
//   2  Then mutable rows, in pieces too: allocations and leases.
//   3  Last, in one short snapshot: the facts and postings that were added meanwhile, and again
//      every allocation and lease that one of them names, since nothing else moves their units.
//      Spend windows of keys are read in this snapshot only.
//   4  Corrections and purchases, which are few, in a snapshot of their own.
//
// Throws StoreError. Private to storage/.
#pragma once

#include "ledger/books.h"
#include "storage/stores.h"

namespace turnpike::storage {

// `earlier`: a checkpoint that the books must still contain; null: none.
ledger::Verification verify_books(const Context& context, const ledger::Checkpoint* earlier);

// Checks corrections: each has its allocation, and none exceeds the charge.
void add_correction_faults(Transaction& snapshot, ledger::Verification& verification);

// Checks purchases (commerce/purchase.h, I1 and I5).
void add_purchase_faults(Transaction& snapshot, ledger::Verification& verification);

}  // namespace turnpike::storage
