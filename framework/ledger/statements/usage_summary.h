// Usage summed over a time, by time, by operation and by key. Whole days and hours come from the
// sums that the index keeps, the rest of the first and last hour from their facts, so the totals
// equal the ledger for any two moments. Pure but for the store it reads, in bounded steps; called
// from the blocking pool or a plain Thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ledger/usage.h"
#include "runtime/deadline.h"

namespace turnpike::ledger {

enum class Granularity : std::uint8_t { hour, day, month };
std::string_view name_of(Granularity granularity) noexcept;
std::optional<Granularity> granularity(std::string_view name) noexcept;

struct SummaryQuery {
  UsageFilter filter;
  std::int64_t from_ms = 0;
  std::int64_t to_ms = 0;  // exclusive
  Granularity granularity = Granularity::day;
};

struct UsageSummary {
  struct Bucket {
    std::int64_t start_ms = 0;  // of the whole hour, day or month in UTC
    UsageSums sums;
  };
  struct Operation {
    std::string route_id;
    std::string method;
    UsageSums sums;
  };
  struct Key {
    std::string api_key_id;
    UsageSums sums;
  };
  UsageSums totals;
  std::vector<Bucket> series;  // every one of the time, in order
  std::vector<Operation> by_operation;
  std::vector<Key> by_key;
};

// Start of the hour, day or month in UTC that holds the moment, and of the one after it.
std::int64_t bucket_start(std::int64_t at_ms, Granularity granularity) noexcept;
std::int64_t bucket_end(std::int64_t at_ms, Granularity granularity) noexcept;

// The starts of all buckets from `from_ms` to before `to_ms`; nothing when they are more than
// limits::usage_buckets_max.
std::optional<std::vector<std::int64_t>> bucket_starts(std::int64_t from_ms, std::int64_t to_ms,
                                                       Granularity granularity);

// REQUIRES: bucket_starts() has a value for it. billing.ledger_unavailable also when the deadline
// passes.
Result<UsageSummary, base::Error> summarize(UsageStore& store, const SummaryQuery& query,
                                            runtime::Deadline deadline);

}  // namespace turnpike::ledger
