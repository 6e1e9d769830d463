#include "status/traffic.h"

#include <algorithm>
#include <utility>

namespace turnpike::status {
namespace {

constexpr unsigned account_shift = 16;
constexpr std::uint64_t collection_mask = 0xFFFF;

void add_one(std::atomic<std::uint64_t>& counter, std::uint64_t increment) noexcept {
  counter.store(counter.load(std::memory_order_relaxed) + increment, std::memory_order_relaxed);
}

}  // namespace

TrafficClass class_of(base::ErrorCode code, bool is_blocked_by_operator) noexcept {
  using enum base::ErrorCode;
  if (code == gateway_route_blocked) {
    return is_blocked_by_operator ? TrafficClass::not_counted : TrafficClass::provider_fault;
  }
  // An unpriced operation is not sold, and a stop of the gateway is no failure of a call.
  if (code == billing_pricing_unavailable || code == gateway_stopping) {
    return TrafficClass::not_counted;
  }
  switch (base::info_of(code).fault) {
    case base::Fault::provider:
      return TrafficClass::provider_fault;
    case base::Fault::gateway:
      return TrafficClass::gateway_fault;
    default:
      return TrafficClass::not_counted;
  }
}

void TrafficCounts::add(const TrafficCounts& other) noexcept {
  good += other.good;
  provider_fault += other.provider_fault;
  gateway_fault += other.gateway_fault;
  charged_failures += other.charged_failures;
}

void TrafficSum::add(const TrafficSum& other) {
  counts.add(other.counts);
  for (const std::uint64_t account : other.accounts) add_account(account);
}

void TrafficSum::add_account(std::uint64_t hash) {
  if (accounts.size() == traffic_accounts_min) return;
  if (std::find(accounts.begin(), accounts.end(), hash) == accounts.end()) accounts.push_back(hash);
}

Traffic published(const TrafficSum& sum, TrafficPublishing how) {
  Traffic traffic;
  const TrafficCounts& counts = sum.counts;
  const std::uint64_t calls = counts.calls();
  if (how == TrafficPublishing::none || calls < traffic_calls_min ||
      sum.accounts.size() < traffic_accounts_min) {
    return traffic;
  }
  traffic.is_thin = false;
  // Rounded down, so that 10,000 means that none failed; the remainder goes to the faults in
  // proportion, so that the shares add up.
  const auto parts = [calls](std::uint64_t count) {
    return static_cast<std::uint32_t>(count * 10'000 / calls);
  };
  traffic.good = parts(counts.good);
  traffic.provider_fault = parts(counts.provider_fault);
  traffic.gateway_fault = parts(counts.gateway_fault);
  std::uint32_t left = 10'000 - traffic.good - traffic.provider_fault - traffic.gateway_fault;
  const bool both_failed = counts.provider_fault > 0 && counts.gateway_fault > 0;
  if (both_failed && left == 2) {
    ++traffic.provider_fault;
    ++traffic.gateway_fault;
    left = 0;
  }
  const bool is_more_theirs = counts.provider_fault * 10'000 % calls >=
                              counts.gateway_fault * 10'000 % calls;
  (is_more_theirs ? traffic.provider_fault : traffic.gateway_fault) += left;
  if (how == TrafficPublishing::counts) {
    traffic.counts = {counts.good, counts.provider_fault, counts.gateway_fault};
  }
  return traffic;
}

// FNV-1a: only requires that two accounts rarely collide.
std::uint64_t account_hash(std::string_view account_id) noexcept {
  std::uint64_t hash = 0xCBF2'9CE4'8422'2325;
  for (const char c : account_id) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x0000'0100'0000'01B3;
  }
  return hash >> account_shift;
}

TrafficCells::TrafficCells(std::vector<std::string> operations, std::size_t loops)
    : operations_(std::move(operations)),
      cells_(new Cell[operations_.size() * loops]),
      collected_(operations_.size() * loops) {}

void TrafficCells::count(std::size_t loop, std::uint32_t operation, TrafficClass what,
                         std::uint64_t credits_charged, std::string_view account_id) noexcept {
  if (what == TrafficClass::not_counted) return;
  Cell& mine = cell(loop, operation);
  add_one(mine.counts[static_cast<std::size_t>(what)], 1);
  if (what != TrafficClass::good && credits_charged != 0) {
    add_one(mine.charged_failures, credits_charged);
  }
  const std::uint64_t now = collection_.load(std::memory_order_relaxed) & collection_mask;
  auto& last = mine.accounts[traffic_accounts_min - 1];
  // Usually enough accounts of this collection are recorded already.
  if ((last.load(std::memory_order_relaxed) & collection_mask) == now) return;
  const std::uint64_t seen = account_hash(account_id) << account_shift | now;
  for (auto& slot : mine.accounts) {
    const std::uint64_t known = slot.load(std::memory_order_relaxed);
    if (known == seen) return;
    if ((known & collection_mask) == now) continue;
    slot.store(seen, std::memory_order_relaxed);
    return;
  }
}

TrafficCounts TrafficCells::read(const Cell& cell) noexcept {
  const auto at = [&cell](TrafficClass what) {
    return cell.counts[static_cast<std::size_t>(what)].load(std::memory_order_relaxed);
  };
  return {at(TrafficClass::good), at(TrafficClass::provider_fault),
          at(TrafficClass::gateway_fault), cell.charged_failures.load(std::memory_order_relaxed)};
}

void TrafficCells::collect(TrafficSums& into) {
  const std::uint64_t now = collection_.load(std::memory_order_relaxed);
  for (std::size_t at = 0; at < collected_.size(); ++at) {
    const Cell& cell = cells_[at];
    const TrafficCounts counts = read(cell);
    TrafficCounts& before = collected_[at];
    if (counts == before) continue;
    TrafficSum& sum = into[operations_[at % operations_.size()]];
    sum.counts.add({counts.good - before.good, counts.provider_fault - before.provider_fault,
                    counts.gateway_fault - before.gateway_fault,
                    counts.charged_failures - before.charged_failures});
    before = counts;
    for (const auto& slot : cell.accounts) {
      const std::uint64_t seen = slot.load(std::memory_order_relaxed);
      if ((seen & collection_mask) == (now & collection_mask)) {
        sum.add_account(seen >> account_shift);
      }
    }
  }
  collection_.store(static_cast<std::uint32_t>(now + 1), std::memory_order_relaxed);
}

}  // namespace turnpike::status
