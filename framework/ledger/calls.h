// Calls: the outcome of one call, for the account that made it. Its usage fact is authoritative; a
// call whose settlement is still unknown is `pending`.
//
// Callers on fibers are suspended, plain Threads blocked; any Thread.
#pragma once

#include <optional>
#include <string_view>

#include <turnpike/result.h>

#include "base/error.h"
#include "ledger/usage.h"
#include "runtime/deadline.h"
#include "runtime/pool.h"

namespace turnpike::ledger {

struct CallState {
  bool is_pending = false;
  std::optional<CallRecord> record;  // nullopt and not pending: the account has no such call
};

class Calls {
 public:
  virtual ~Calls() = default;
  // Errors: those of UsageStore; billing_ledger_unavailable: not known by the deadline.
  [[nodiscard]] virtual Result<CallState, base::Error> call(std::string_view account_id,
                                                            std::string_view request_id,
                                                            runtime::Deadline deadline) = 0;
};

// What a ledger of this node knows but the books do not yet.
class Unsettled {
 public:
  virtual ~Unsettled() = default;
  // True if this message of the account was answered as unknown, and its outcome is still unknown.
  [[nodiscard]] virtual bool is_settling(std::string_view account_id,
                                         std::string_view message_id) const noexcept = 0;
  // Waits until the uncharged facts that this node has recorded so far are in the books, or were
  // dropped. False: not by the deadline.
  [[nodiscard]] virtual bool await_facts(runtime::Deadline deadline) = 0;
};

// Calls over the books and the ledger of this node.
class PooledCalls final : public Calls {
 public:
  // All arguments outlive it.
  PooledCalls(UsageStore& store, Unsettled& unsettled, runtime::BlockingPool& pool);

  Result<CallState, base::Error> call(std::string_view account_id, std::string_view request_id,
                                      runtime::Deadline deadline) override;

 private:
  UsageStore& store_;
  Unsettled& unsettled_;
  runtime::BlockingPool& pool_;
  const runtime::PoolUser user_;
};

}  // namespace turnpike::ledger
