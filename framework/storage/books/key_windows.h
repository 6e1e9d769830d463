// KeyWindows: the spend windows of capped keys inside one transaction. A window counts what leases
// of its key were granted in that day or month (what they settled, once they are closed), so caps
// hold across nodes by the same step that takes the units.
//
// Lives on the stack of one transaction; throws StoreError. Private to storage/.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ledger/caps.h"
#include "ledger/store.h"
#include "storage/engine/transaction.h"

namespace turnpike::storage {

class KeyWindows {
 public:
  // Locks the windows of the requests' keys that `now_ms` falls into.
  KeyWindows(Transaction& transaction, std::span<const ledger::LeaseRequest> requests,
             std::int64_t now_ms);

  // The Credits that may still be leased for the key; without a key there is no bound.
  [[nodiscard]] ledger::Credits room(const std::string& key_id) const;
  void take(const std::string& key_id, ledger::Credits units);
  // The Credits that the key may still spend under each of its caps.
  [[nodiscard]] std::vector<ledger::CapRoom> caps(const std::string& key_id) const;
  // When leases that are made now end, and the day they count in; 0 without a key.
  [[nodiscard]] std::int64_t day(const std::string& key_id) const {
    return key_id.empty() ? 0 : day_.starts_at_ms;
  }

  // The same for every capped key of an account that is not revoked, read without a lock.
  [[nodiscard]] static std::vector<ledger::CapsOfKey> of_account(Connection& connection,
                                                                 std::string_view account_id,
                                                                 std::int64_t now_ms);

  // Units of a lease that counts in that day go back.
  using Returned = std::map<std::pair<std::string, std::int64_t>, ledger::Credits>;
  static void give_back(Transaction& transaction, const Returned& units);

 private:
  struct Window {
    ledger::Credits cap = -1;  // -1: none
    ledger::Credits taken = 0;
    [[nodiscard]] ledger::Credits room() const;
  };
  // Adds the room under one cap, if there is one. `reads`: a Transaction or a Connection.
  template <class Reads>
  static void add_room(Reads& reads, const std::string& key_id, std::string_view span,
                       const Window& window, const ledger::SpendWindow& time, std::int64_t now_ms,
                       std::vector<ledger::CapRoom>& rooms);
  struct Key {
    Window day;
    Window month;
  };

  Transaction& transaction_;
  const std::int64_t now_ms_;
  const ledger::SpendWindow day_;
  const ledger::SpendWindow month_;
  std::map<std::string, Key> keys_;
};

}  // namespace turnpike::storage
