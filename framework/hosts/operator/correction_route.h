// CorrectionRoute: POST /internal/v1/billing-accounts/{billing_account_id}/usage/
// {original_message_id}/corrections (docs/interface.md, "Routes of the operator host"). An operator
// with the authority `usage.correct` refunds Credits of a charged call. The reply is a durable
// receipt; a retry of the same request under the same Idempotency-Key gets the same receipt.
//
// Owned by OperatorHost; called on the fibers of all loop Threads, waits for the blocking pool.
#pragma once

#include <string>
#include <string_view>

#include <turnpike/result.h>

#include "base/log.h"
#include "hosts/route.h"
#include "identity/operators.h"
#include "ledger/corrections.h"
#include "runtime/pool.h"

namespace turnpike::hosts::operators {

// Reads the correction in a body; the other members of the request stay empty.
Result<ledger::CorrectionRequest, base::Error> read_correction(std::string_view json);
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

  // Returns the owner of the credential.
  [[nodiscard]] Result<Caller, base::Error> authenticate(Headers headers) const;

  // Returns the receipt as JSON. The path names account and message; the host's table has checked
  // the rest of the request.
  [[nodiscard]] Result<std::string, base::Error> answer(const Asked& asked,
                                                        std::string_view idempotency_key) const;

 private:
  const Parts parts_;
  const runtime::PoolUser user_;
};

}  // namespace turnpike::hosts::operators
