// Passive evidence: what real calls show about the providers and the gateway. Each loop counts in
// cells of its own, without a lock; one collector sums them.
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

// The party at fault for an error. A route that the operator has blocked is not counted; a route
// that is blocked by its provider's current behaviour counts as the provider's, though the code
// blames the gateway.
TrafficClass class_of(base::ErrorCode code, bool is_blocked_by_operator) noexcept;

struct TrafficCounts {
  std::uint64_t good = 0;
  std::uint64_t provider_fault = 0;
  std::uint64_t gateway_fault = 0;
  std::uint64_t charged_failures = 0;  // Credits charged for failed calls; 0 by design

  void add(const TrafficCounts& other) noexcept;
  [[nodiscard]] std::uint64_t calls() const noexcept {
    return good + provider_fault + gateway_fault;
  }
  [[nodiscard]] bool is_empty() const noexcept { return calls() == 0 && charged_failures == 0; }
  friend bool operator==(const TrafficCounts&, const TrafficCounts&) = default;
};

// Traffic of one operation, provider or gateway in a period.
struct TrafficSum {
  TrafficCounts counts;
  std::vector<std::uint64_t> accounts;  // distinct hashes, at most traffic_accounts_min

  void add(const TrafficSum& other);
  void add_account(std::uint64_t hash);
};

// Sums by operation: "<capability_id>:<METHOD>".
using TrafficSums = std::map<std::string, TrafficSum, std::less<>>;

// How much of a sum is published.
enum class TrafficPublishing : std::uint8_t { ratio, counts, none };
Traffic published(const TrafficSum& sum, TrafficPublishing how);

// A hash that distinguishes accounts; the same on every node.
std::uint64_t account_hash(std::string_view account_id) noexcept;

class TrafficCells {
 public:
  // `operations`: names by index in the program.
  TrafficCells(std::vector<std::string> operations, std::size_t loops);
  TrafficCells(const TrafficCells&) = delete;
  TrafficCells& operator=(const TrafficCells&) = delete;

  // REQUIRES: one Thread per `loop`; both indexes within bounds. An empty account id counts as one
  // account.
  void count(std::size_t loop, std::uint32_t operation, TrafficClass what,
             std::uint64_t credits_charged, std::string_view account_id) noexcept;

  // Adds the counts since the last call, with the accounts seen.
  void collect(TrafficSums& into);

 private:
  // Written by its loop alone, so increments need no locked instruction.
  struct alignas(64) Cell {
    std::atomic<std::uint64_t> counts[3] = {};  // by TrafficClass
    std::atomic<std::uint64_t> charged_failures{0};
    // 48 bits of an account's hash, 16 bits of the collection in which the account was seen.
    std::atomic<std::uint64_t> accounts[traffic_accounts_min] = {};
  };
  [[nodiscard]] Cell& cell(std::size_t loop, std::size_t operation) noexcept {
    return cells_[loop * operations_.size() + operation];
  }
  static TrafficCounts read(const Cell& cell) noexcept;

  const std::vector<std::string> operations_;
  const std::unique_ptr<Cell[]> cells_;
  std::vector<TrafficCounts> collected_;  // last read values of each cell
  std::atomic<std::uint32_t> collection_{1};
};

}  // namespace turnpike::status
