#include "storage/settlement.h"

#include <algorithm>
#include <unordered_set>

namespace turnpike::storage {

std::vector<LeaseTotal> lease_totals(std::span<const ledger::SettleEntry> entries) {
  std::vector<LeaseTotal> totals;
  totals.reserve(entries.size());
  for (const ledger::SettleEntry& entry : entries) {
    for (const ledger::LeaseShare& share : entry.shares) {
      totals.push_back({share.lease_id, share.epoch, share.units});
    }
  }
  std::sort(totals.begin(), totals.end(), [](const LeaseTotal& left, const LeaseTotal& right) {
    return left.lease_id < right.lease_id;
  });
  std::size_t kept = 0;
  for (const LeaseTotal& total : totals) {
    if (kept > 0 && totals[kept - 1].lease_id == total.lease_id) {
      totals[kept - 1].units += total.units;
    } else {
      totals[kept++] = total;
    }
  }
  totals.resize(kept);
  return totals;
}

std::int64_t charged_units(const ledger::SettleEntry& entry) noexcept {
  std::int64_t units = 0;
  for (const ledger::LeaseShare& share : entry.shares) units += share.units;
  return units;
}

std::int64_t lease_of(const ledger::SettleEntry& entry) noexcept {
  if (entry.shares.empty()) return 0;
  return entry.shares.size() == 1 ? entry.shares.front().lease_id : -1;
}

std::vector<ledger::RepeatedMessage> repeated_within(std::span<const ledger::SettleEntry> entries) {
  std::unordered_set<std::string_view> seen;
  std::vector<ledger::RepeatedMessage> repeated;
  for (std::size_t at = 0; at < entries.size(); ++at) {
    if (!seen.insert(entries[at].fact->message_id).second) repeated.push_back({at, -1});
  }
  return repeated;
}

}  // namespace turnpike::storage
