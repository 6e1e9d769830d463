// verify_books(): adds up every posting and every fact and compares the sums with the totals that
// allocations and leases carry (see ledger/books.h). Reads in the snapshot it is given; throws
// StoreError. Private to storage/.
#pragma once

#include "ledger/books.h"
#include "storage/transaction.h"

namespace turnpike::storage {

ledger::Verification verify_books(Transaction& snapshot);

// Its part about corrections: each has its allocation, and none exceeds what was charged.
void add_correction_faults(Transaction& snapshot, ledger::Verification& verification);

}  // namespace turnpike::storage
