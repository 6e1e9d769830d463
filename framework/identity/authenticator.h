// Authenticator: turns a Bearer token into the principal that it stands for. Malformed tokens are
// refused by their checksum before any look-up. Known tokens are answered from memory, keyed by the
// SHA-256 of the token; any other is looked up once on the blocking pool, which suspends the
// calling fiber. A revocation holds at once on the node that made it and within one second on every
// other.
//
// Owned by app/; safe for concurrent use by all loop Threads.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include <turnpike/result.h>

#include "base/error.h"
#include "identity/principal.h"
#include "runtime/deadline.h"

namespace turnpike::identity {

// The credentials that an endpoint accepts for an account. Access tokens of OAuth clients are
// accepted at the MCP endpoint of accounts only.
enum class Accepts : std::uint8_t { api_keys, api_keys_and_access_tokens };

class Authenticator {
 public:
  virtual ~Authenticator() = default;
  // `token` is the text after "Bearer ". The principal stays valid as long as the pointer is held.
  // Errors: auth.credential_invalid, auth.wrong_environment, auth.unavailable. The account's status
  // is returned, not checked.
  [[nodiscard]] virtual Result<std::shared_ptr<const Principal>, base::Error> authenticate(
      std::string_view token, runtime::Deadline deadline, Accepts accepts = Accepts::api_keys) = 0;
};

}  // namespace turnpike::identity
