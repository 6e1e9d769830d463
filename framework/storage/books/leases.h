// The lease transactions, shared by the escrow's and the committer's ports. Rows are locked in one
// order everywhere: fences of streams (charges.h), allocations by id, then windows of capped keys
// where units are taken, then leases; where units come back the windows are last, under the locks
// of the same allocations.
//
// Free functions inside a write transaction; they throw StoreError. Private to storage/.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ledger/store.h"
#include "storage/stores.h"

namespace turnpike::storage {

// Leases of former epochs are void.
inline constexpr Query select_ledger_epoch{"SELECT value FROM counter WHERE name = 'ledger_epoch'",
                                           "i"};

struct LeaseOwner {
  std::int64_t incarnation = 0;
  std::int64_t purpose = 0;  // 0: the node's escrow; 1: settlements whose own lease was lost
};

std::vector<ledger::LeaseAnswer> acquire_leases(const Context& context, Transaction& transaction,
                                                const LeaseOwner& owner,
                                                std::span<const ledger::LeaseRequest> requests);

// Closes those that are still open under their epoch, giving back what is unsettled; how many.
std::uint32_t close_leases(Transaction& transaction, std::span<const ledger::LeaseReturn> leases,
                           std::int64_t now_ms);

// Gives back units of leases that are still open under their epoch and have them unsettled.
void give_back_units(Transaction& transaction, std::span<const ledger::LeaseShare> shares,
                     std::int64_t now_ms);

// Posts what remains of allocations whose time is over to `expired`; how many.
std::uint32_t expire_allocations(Transaction& transaction, std::int64_t now_ms);

// Withdraws an allocation; false: there is none.
bool void_allocation(Transaction& transaction, std::string_view allocation_id, std::int64_t now_ms);

// Voids up to `units` of what is free of an allocation and recalls what nodes have of it, where
// that was not all. Returns how many were voided.
ledger::Credits withdraw_units(Transaction& transaction, std::string_view allocation_id,
                               ledger::Credits units, std::int64_t now_ms);

// For a moment, every node returns what it does not hold of the account; the node and key that ask
// are excepted.
void recall_leases(Transaction& transaction, std::string_view account_id, std::int64_t incarnation,
                   std::string_view key_id, std::int64_t now_ms);

template <class T, class F>
ledger::Stored<T> stored(F&& work) {
  using Kind = ledger::StoreFailure::Kind;
  try {
    return work();
  } catch (const StoreError& error) {
    const Kind kind = error.kind() == StoreError::Kind::unavailable ? Kind::unavailable
                      : error.kind() == StoreError::Kind::unknown   ? Kind::unknown
                                                                    : Kind::fatal;
    return ledger::StoreFailure{kind, error.what()};
  }
}

}  // namespace turnpike::storage
