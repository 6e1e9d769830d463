// KeyWindows: the spend windows of capped keys inside one transaction. A window counts the units
// that leases of its key were granted in that day or month (after closing: the settled units), so
// caps hold across nodes by the same step that takes the units.
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
  // Locks the windows that contain `now_ms`, for the requests' keys.
  KeyWindows(Transaction& transaction, std::span<const ledger::LeaseRequest> requests,
             std::int64_t now_ms);

  // The Credits that may still be leased for the key; unlimited without a key.
  [[nodiscard]] ledger::Credits room(const std::string& key_id) const;
  void take(const std::string& key_id, ledger::Credits units);
  // The Credits that the key may still spend under each of its caps.
  [[nodiscard]] std::vector<ledger::CapRoom> caps(const std::string& key_id) const;
  // Start of the day in which new leases count; 0 without a key.
  [[nodiscard]] std::int64_t day(const std::string& key_id) const {
    return key_id.empty() ? 0 : day_.starts_at_ms;
  }

  // As caps(), for every capped and unrevoked key of an account, read without a lock.
  [[nodiscard]] static std::vector<ledger::CapsOfKey> of_account(Connection& connection,
                                                                 std::string_view account_id,
                                                                 std::int64_t now_ms);

  // Returns units to the windows: (key id, day of the lease) -> units.
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
