// Tries: failed tries of people to prove who they are. They are counted for each source, which
// waits when there were too many, and are audited. Nobody is locked out: another source goes on.
//
// Owned by app/; safe for concurrent use. Asks the store: call it from the blocking pool or a plain
// Thread.
#pragma once

#include <cstdint>
#include <string_view>

#include <turnpike/result.h>

#include "base/error.h"
#include "identity/audit.h"

namespace turnpike::identity {

class Tries {
 public:
  static constexpr std::int64_t failures_max = 20;  // a minute, of one source

  explicit Tries(AuditStore& audit) : audit_(audit) {}

  // auth.throttled: too many tries from the actor's address have failed.
  [[nodiscard]] Result<Unit, base::Error> judge(const Actor& actor);
  // Counts and records a try that failed; returns `error`, or why it could not be recorded.
  [[nodiscard]] base::Error failed(const base::Error& error, std::string_view method,
                                   const Actor& actor);

 private:
  AuditStore& audit_;
};

}  // namespace turnpike::identity
