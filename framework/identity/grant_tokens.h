// GrantTokens: the port by which the authenticator looks up access tokens of OAuth clients
// (storage/ implements it). oauth/ handles which client has a grant and how tokens are issued.
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

// The grant to which an access token's digest belongs, and the state of its account.
struct GrantRecord {
  std::string id;  // "ogr_..."
  std::string account_id;
  SpendCaps caps = {};
  AccountStatus account_status = AccountStatus::active;
  std::int64_t expires_at_ms = 0;  // expiry of the token, wall clock
};

class GrantTokens {
 public:
  virtual ~GrantTokens() = default;
  // nullopt: the token is unknown, or the token or its grant has ended. auth.unavailable.
  [[nodiscard]] virtual Result<std::optional<GrantRecord>, base::Error> find_access(
      const crypto::Sha256& digest) = 0;
};

}  // namespace turnpike::identity
