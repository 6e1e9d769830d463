// Statements: the books of one account, for hosts. Every query sees everything that was committed
// before it began: facts without a position (usage.h) are indexed first.
//
// Owned by app/; safe for concurrent use by all loop Threads. Every call suspends the calling fiber
// (or blocks a plain Thread) while the pool reads.
//
// Errors: billing.ledger_unavailable (503), account.read_failed (500), and request.query_rejected
// (400) for a cursor that is not this account's.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "ledger/statements/usage_summary.h"
#include "ledger/usage.h"
#include "runtime/deadline.h"
#include "runtime/pool.h"

namespace turnpike::ledger {

class Statements {
 public:
  virtual ~Statements() = default;
  [[nodiscard]] virtual Result<Page<UsageRow>, base::Error> usage(const PageQuery& query,
                                                                  runtime::Deadline deadline) = 0;
  [[nodiscard]] virtual Result<Page<Allocation>, base::Error> allocations(
      const PageQuery& query, runtime::Deadline deadline) = 0;
  // As UsageStore::key_caps().
  [[nodiscard]] virtual Result<std::vector<CapsOfKey>, base::Error> key_caps(
      std::string_view account_id, runtime::Deadline deadline) = 0;
  // REQUIRES: the same as summarize().
  [[nodiscard]] virtual Result<UsageSummary, base::Error> summary(const SummaryQuery& query,
                                                                  runtime::Deadline deadline) = 0;
  // The functions of UsageStore.
  [[nodiscard]] virtual Result<Page<UsageRow>, base::Error> search(const PageQuery& query,
                                                                   const CallFilter& filter,
                                                                   runtime::Deadline deadline) = 0;
  [[nodiscard]] virtual Result<std::vector<UsageRow>, base::Error> calls_named(
      std::string_view account_id, std::string_view client_request_id, std::uint32_t limit,
      runtime::Deadline deadline) = 0;
  [[nodiscard]] virtual Result<AccountStatement, base::Error> statement(
      std::string_view account_id, std::int64_t from_ms, std::int64_t to_ms,
      runtime::Deadline deadline) = 0;
  [[nodiscard]] virtual Result<std::optional<Allocation>, base::Error> expiring_next(
      std::string_view account_id, runtime::Deadline deadline) = 0;
};

// Statements over a store.
class PooledStatements final : public Statements {
 public:
  // Both arguments outlive it.
  PooledStatements(UsageStore& store, runtime::BlockingPool& pool);

  Result<Page<UsageRow>, base::Error> usage(const PageQuery& query,
                                            runtime::Deadline deadline) override;
  Result<Page<Allocation>, base::Error> allocations(const PageQuery& query,
                                                    runtime::Deadline deadline) override;
  Result<std::vector<CapsOfKey>, base::Error> key_caps(std::string_view account_id,
                                                       runtime::Deadline deadline) override;
  Result<UsageSummary, base::Error> summary(const SummaryQuery& query,
                                            runtime::Deadline deadline) override;
  Result<Page<UsageRow>, base::Error> search(const PageQuery& query, const CallFilter& filter,
                                             runtime::Deadline deadline) override;
  Result<std::vector<UsageRow>, base::Error> calls_named(std::string_view account_id,
                                                         std::string_view client_request_id,
                                                         std::uint32_t limit,
                                                         runtime::Deadline deadline) override;
  Result<AccountStatement, base::Error> statement(std::string_view account_id, std::int64_t from_ms,
                                                  std::int64_t to_ms,
                                                  runtime::Deadline deadline) override;
  Result<std::optional<Allocation>, base::Error> expiring_next(std::string_view account_id,
                                                               runtime::Deadline deadline) override;

 private:
  template <class T, class F>
  Result<T, base::Error> read(F work, runtime::Deadline deadline);

  UsageStore& store_;
  runtime::BlockingPool& pool_;
  const runtime::PoolUser user_;
};

// Calls catch_up() until everything committed before is indexed, or the deadline passes. Blocks.
Result<Unit, base::Error> catch_up_whole(UsageStore& store, runtime::Deadline deadline);

}  // namespace turnpike::ledger
