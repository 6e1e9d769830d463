// Tries: failed tries of people to prove who they are. They are counted for each source, which
// waits when there were too many, and are audited. Nobody is locked out: another source goes on. A
// source is an IPv4 address, or a network of 64 bits, which is what one IPv6 customer has.
//
// Owned by app/; safe for concurrent use. Asks the store: call it from the blocking pool or a plain
// Thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <turnpike/result.h>

#include "base/error.h"
#include "identity/audit.h"

namespace turnpike::identity {

// How many failures one source may have in a time. Bounds of different names count apart.
struct TryBound {
  std::string_view name = "sign_in";
  std::int64_t window_ms = 60'000;
  std::int64_t failures_max = 20;
};
// Passwords can be guessed, so fewer of them may be tried.
inline constexpr TryBound password_tries{"password", 600'000, 30};

class Tries {
 public:
  explicit Tries(AuditStore& audit, TryBound bound = {}) : audit_(audit), bound_(bound) {}

  // auth.throttled: too many tries from the actor's address have failed.
  [[nodiscard]] Result<Unit, base::Error> judge(const Actor& actor);
  // Counts and records a try that failed; returns `error`, or why it could not be recorded.
  [[nodiscard]] base::Error failed(const base::Error& error, std::string_view method,
                                   const Actor& actor);

 private:
  [[nodiscard]] std::string source_of(const Actor& actor) const;

  AuditStore& audit_;
  const TryBound bound_;
};

}  // namespace turnpike::identity
