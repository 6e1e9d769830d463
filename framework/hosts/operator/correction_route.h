// CorrectionRoute: POST /internal/v1/billing-accounts/{billing_account_id}/usage/
// {original_message_id}/corrections (docs/interface.md, "Routes of the operator host"). An operator
// with the authority `usage.correct` gives Credits back for a call that was charged; the reply is a
// durable receipt, and the same one again for the same request under the same Idempotency-Key.
//
// Owned by OperatorHost; called on the fibers of all loop Threads, waits for the blocking pool.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <turnpike/result.h>

#include "base/log.h"
#include "identity/operators.h"
#include "ledger/corrections.h"
#include "runtime/pool.h"
#include "wire/server.h"

namespace turnpike::hosts::operators {

// What the body of a correction asks for; the rest of the request is left empty.
Result<ledger::CorrectionRequest, base::Error> read_correction(std::string_view json);
bool is_idempotency_key(std::string_view text) noexcept;
std::string receipt_json(const ledger::Correction& correction);

class CorrectionRoute {
 public:
  struct Parts {
    identity::Operators& operators;
    ledger::CorrectionStore& corrections;
    runtime::BlockingPool& pool;
    base::Log& log;
  };
  explicit CorrectionRoute(const Parts& parts);

  struct Target {
    std::string_view account_id;
    std::string_view message_id;
  };
  // What the path asks to correct; nothing when it is another path.
  static std::optional<Target> match(std::string_view path) noexcept;

  // The receipt as JSON.
  [[nodiscard]] Result<std::string, base::Error> answer(wire::Request& request,
                                                        const Target& target) const;

 private:
  [[nodiscard]] Result<identity::Operator, base::Error> authorize(wire::Request& request) const;

  const Parts parts_;
  const runtime::PoolUser user_;
};

}  // namespace turnpike::hosts::operators
