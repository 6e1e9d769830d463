// Tries: failed attempts of people to authenticate. Failures are counted per source, which must
// wait after too many, and are audited. The person is not locked out: other sources are unaffected.
// A source is an IPv4 address or an IPv6 /64 network, which is what one customer typically has.
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

// The number of failures allowed per source and window. Bounds of different names count separately.
struct TryBound {
  std::string_view name = "sign_in";
  std::int64_t window_ms = 60'000;
  std::int64_t failures_max = 20;
};
// Passwords can be guessed, so their bound is lower.
inline constexpr TryBound password_tries{"password", 600'000, 30};

class Tries {
 public:
  explicit Tries(AuditStore& audit, TryBound bound = {}) : audit_(audit), bound_(bound) {}

  // auth.throttled: too many tries from the actor's address have failed.
  [[nodiscard]] Result<Unit, base::Error> judge(const Actor& actor);
  // Counts and records a failed try; returns `error`, or the reason why it could not be recorded.
  [[nodiscard]] base::Error failed(const base::Error& error, std::string_view method,
                                   const Actor& actor);

 private:
  [[nodiscard]] std::string source_of(const Actor& actor) const;

  AuditStore& audit_;
  const TryBound bound_;
};

}  // namespace turnpike::identity
