// What real calls say of the providers and of us: passive evidence. Each loop counts in cells of
// its own, without a lock; one collector adds them up.
//
// TrafficCells belongs to one generation: count() is for the loop Thread of that row, the rest for
// one collecting Thread. TrafficSums is a value.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "status/record.h"
#include "status/rules.h"

namespace turnpike::status {

enum class TrafficClass : std::uint8_t { good, provider_fault, gateway_fault, not_counted };

// Whose failure an error is. A route that the operator has blocked is nobody's; one that is blocked
// by what its provider does now is the provider's, though the code blames the gateway.
TrafficClass class_of(base::ErrorCode code, bool is_blocked_by_operator) noexcept;

struct TrafficCounts {
  std::uint64_t good = 0;
  std::uint64_t provider_fault = 0;
  std::uint64_t gateway_fault = 0;
  std::uint64_t charged_failures = 0;  // Credits that calls with a fault cost; 0 by design

  void add(const TrafficCounts& other) noexcept;
  [[nodiscard]] std::uint64_t calls() const noexcept {
    return good + provider_fault + gateway_fault;
  }
  [[nodiscard]] bool is_empty() const noexcept { return calls() == 0 && charged_failures == 0; }
  friend bool operator==(const TrafficCounts&, const TrafficCounts&) = default;
};

// Of one operation, provider or gateway in a span of time.
struct TrafficSum {
  TrafficCounts counts;
  std::vector<std::uint64_t> accounts;  // hashes, distinct, at most traffic_accounts_min of them

  void add(const TrafficSum& other);
  void add_account(std::uint64_t hash);
};

// Sums by operation: "<capability_id>:<METHOD>".
using TrafficSums = std::map<std::string, TrafficSum, std::less<>>;

// What is published of a sum.
enum class TrafficPublishing : std::uint8_t { ratio, counts, none };
Traffic published(const TrafficSum& sum, TrafficPublishing how);

// The hash of an account under which it is told apart from others; the same on every node.
std::uint64_t account_hash(std::string_view account_id) noexcept;

class TrafficCells {
 public:
  // `operations`: the names, by their index in the program.
  TrafficCells(std::vector<std::string> operations, std::size_t loops);
  TrafficCells(const TrafficCells&) = delete;
  TrafficCells& operator=(const TrafficCells&) = delete;

  // REQUIRES: one Thread for each `loop`; both within bounds. No account is one account.
  void count(std::size_t loop, std::uint32_t operation, TrafficClass what,
             std::uint64_t credits_charged, std::string_view account_id) noexcept;

  // Adds what was counted since the last time, with the accounts that were seen.
  void collect(TrafficSums& into);

 private:
  // Written by its loop alone, so adding needs no locked instruction.
  struct alignas(64) Cell {
    std::atomic<std::uint64_t> counts[3] = {};  // by TrafficClass
    std::atomic<std::uint64_t> charged_failures{0};
    // 48 bits of an account's hash, 16 of the collection in which it was seen.
    std::atomic<std::uint64_t> accounts[traffic_accounts_min] = {};
  };
  [[nodiscard]] Cell& cell(std::size_t loop, std::size_t operation) noexcept {
    return cells_[loop * operations_.size() + operation];
  }
  static TrafficCounts read(const Cell& cell) noexcept;

  const std::vector<std::string> operations_;
  const std::unique_ptr<Cell[]> cells_;
  std::vector<TrafficCounts> collected_;  // of each cell, by the collector
  std::atomic<std::uint32_t> collection_{1};
};

}  // namespace turnpike::status
