// Operators: people and programs that correct the books from outside, and what each may do. A
// credential carries exactly the authorities that it was created with; none implies another, and a
// change needs a new credential. Only the SHA-256 of the token is stored.
//
// OperatorStore is the port (storage/ implements it); Operators adds the rules for the command line
// and the operator host. Every authentication asks the store, since operators are few: a revocation
// holds at once on every node. Safe for concurrent use from the blocking pool and plain Threads;
// both block.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <turnpike/host.h>
#include <turnpike/result.h>

#include "base/error.h"
#include "crypto/digest.h"
#include "identity/principal.h"

namespace turnpike::identity {

struct Operator {
  std::string id;  // "opr_..."
  std::string name;
  Environment environment = Environment::development;
  std::string prefix;  // first 24 characters of the token
  Authorities authorities;
  std::int64_t created_at_ms = 0;
  std::optional<std::int64_t> last_used_at_ms;
  std::optional<std::int64_t> revoked_at_ms;
};

struct NewOperator {
  std::string name;
  Environment environment = Environment::development;
  std::string prefix;
  Authorities authorities;
  crypto::Sha256 digest{};
};

class OperatorStore {
 public:
  virtual ~OperatorStore() = default;
  [[nodiscard]] virtual Result<Operator, base::Error> add(const NewOperator& credential) = 0;
  [[nodiscard]] virtual Result<std::optional<Operator>, base::Error> find(
      const crypto::Sha256& digest) = 0;
  // Oldest first, including revoked ones.
  [[nodiscard]] virtual Result<std::vector<Operator>, base::Error> list() = 0;
  // nullopt: no such operator. Revoking a revoked operator changes nothing and returns it.
  [[nodiscard]] virtual Result<std::optional<Operator>, base::Error> revoke(
      std::string_view operator_id) = 0;
  // Moves the last-used time forward, never back.
  [[nodiscard]] virtual Result<Unit, base::Error> record_use(std::string_view operator_id,
                                                             std::int64_t at_ms) = 0;
};

struct CreatedOperator {
  Operator credential;
  std::string secret;  // the token; never stored, never shown again
};

class Operators {
 public:
  Operators(OperatorStore& store, Environment environment, const Clock& clock, Random& random)
      : store_(store), environment_(environment), clock_(clock), random_(random) {}

  // request.malformed for a malformed name, or without any authority.
  [[nodiscard]] Result<CreatedOperator, base::Error> create(std::string_view name,
                                                            Authorities authorities);
  // auth.credential_invalid, auth.wrong_environment, auth.unavailable. The last-used time is
  // written at most once a minute; a failed write is ignored.
  [[nodiscard]] Result<std::shared_ptr<const Principal>, base::Error> authenticate(
      std::string_view token);
  // Authenticates again by the token's digest, so that a session need not keep the token.
  // auth.credential_invalid: the credential was revoked since. auth.unavailable.
  [[nodiscard]] Result<Operator, base::Error> find(const crypto::Sha256& digest);

 private:
  OperatorStore& store_;
  Environment environment_;
  const Clock& clock_;
  Random& random_;
};

}  // namespace turnpike::identity
