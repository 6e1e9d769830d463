// The lease transactions, shared by the ports of escrow and committer. All lock rows in one order:
// fences of streams (charges.h), allocations by id, then windows of capped keys when units are
// taken, then leases. When units are returned, the windows are last, under the locks of the same
// allocations.
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

// The current epoch; leases of former epochs are void.
inline constexpr Query select_ledger_epoch{"SELECT value FROM counter WHERE name = 'ledger_epoch'",
                                           "i"};

struct LeaseOwner {
  std::int64_t incarnation = 0;
  std::int64_t purpose = 0;  // 0: the node's escrow; 1: settlements whose own lease was lost
};

std::vector<ledger::LeaseAnswer> acquire_leases(const Context& context, Transaction& transaction,
                                                const LeaseOwner& owner,
                                                std::span<const ledger::LeaseRequest> requests);

// Closes the leases that are still open under their epoch and returns their unsettled units to the
// allocations. Returns the number of closed leases.
std::uint32_t close_leases(Transaction& transaction, std::span<const ledger::LeaseReturn> leases,
                           std::int64_t now_ms);

// Returns units of leases that are open under their epoch and have that many unsettled units.
void give_back_units(Transaction& transaction, std::span<const ledger::LeaseShare> shares,
                     std::int64_t now_ms);

// Posts the remainders of expired allocations to `expired`; returns the number of allocations.
std::uint32_t expire_allocations(Transaction& transaction, std::int64_t now_ms);

// Withdraws an allocation; false: no such allocation.
bool void_allocation(Transaction& transaction, std::string_view allocation_id, std::int64_t now_ms);

// Voids up to `units` of an allocation's free units and, if these did not suffice, recalls the
// units that nodes have leased. Returns the number of voided units.
ledger::Credits withdraw_units(Transaction& transaction, std::string_view allocation_id,
                               ledger::Credits units, std::int64_t now_ms);

// For a short time every node returns the units of the account that it does not hold, except the
// requesting node and key.
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
