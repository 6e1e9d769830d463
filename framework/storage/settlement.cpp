#include "storage/settlement.h"

#include <algorithm>
#include <unordered_set>

#include "base/ids.h"

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

bool BatchRows::next() {
  if (entries_.empty()) return false;
  const ledger::SettleEntry& entry = entries_.front();
  entries_ = entries_.subspan(1);
  const ledger::UsageFact& fact = *entry.fact;
  row_ = {.stream = chain_.stream,
          .seq = chain_.next_seq++,
          .message_id = fact.message_id,
          .request_id = fact.request_id,
          .client_request_id = fact.client_request_id,
          .account_id = fact.account_id,
          .api_key_id = fact.api_key_id,
          .occurred_at = fact.occurred_at_ms,
          .route_id = fact.route_id,
          .route_revision = fact.route_revision,
          .method = fact.method,
          .lane = fact.lane,
          .credit_cost = fact.credit_cost,
          .credits_charged = 0,
          .price_version = fact.price_version,
          .generation = fact.generation,
          .outcome_reason = fact.outcome_reason,
          .upstream_status = fact.upstream_status,
          .upstream_ms = fact.upstream_ms,
          .lease_id = entry.shares.empty() ? 0 : entry.shares.front().lease_id};
  shares_.clear();
  for (const ledger::LeaseShare& share : entry.shares) row_.credits_charged += share.units;
  if (entry.shares.size() > 1) {
    row_.lease_id = -1;
    for (const ledger::LeaseShare& share : entry.shares) {
      shares_.push_back({share.lease_id, share.units});
    }
    std::sort(shares_.begin(), shares_.end(),
              [](const auto& left, const auto& right) { return left.lease_id < right.lease_id; });
  }
  chain_.head = ledger::fact_hash(chain_.head, row_, shares_, buffer_);
  hash_ = base::hex(chain_.head);
  return true;
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
