// GrantTokens: the access tokens of OAuth clients as the authenticator looks them up (storage/
// implements it). Which client has a grant and how it got its tokens is oauth/'s.
//
// Called from the blocking pool or a plain Thread; blocks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <turnpike/result.h>

#include "base/error.h"
#include "crypto/digest.h"
#include "identity/account.h"

namespace turnpike::identity {

// The grant that an access token's digest stands for, and the state of its account.
struct GrantRecord {
  std::string id;  // "ogr_..."
  std::string account_id;
  SpendCaps caps = {};
  AccountStatus account_status = AccountStatus::active;
  std::int64_t expires_at_ms = 0;  // of the token, wall time
};

class GrantTokens {
 public:
  virtual ~GrantTokens() = default;
  // Nothing: it is nobody's, has ended, or its grant has. auth.unavailable.
  [[nodiscard]] virtual Result<std::optional<GrantRecord>, base::Error> find_access(
      const crypto::Sha256& digest) = 0;
};

}  // namespace turnpike::identity
