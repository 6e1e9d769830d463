// Operators: people and programs that correct the books from outside, and what each may do. A
// credential carries its authorities exactly as they were given; none implies another, and there is
// no way to change them but a new credential. Only the SHA-256 of the token is stored.
//
// OperatorStore is the port (storage/ implements it); Operators the rules on it, behind the command
// line and the operator host. Every authentication asks the store, since they are few: a revocation
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
  // Oldest first, revoked ones included.
  [[nodiscard]] virtual Result<std::vector<Operator>, base::Error> list() = 0;
  // Nothing: there is none. Revoking a revoked one changes nothing and returns it.
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

  // request.malformed for a name as accounts refuse it, and without any authority.
  [[nodiscard]] Result<CreatedOperator, base::Error> create(std::string_view name,
                                                            Authorities authorities);
  // auth.credential_invalid, auth.wrong_environment, auth.unavailable. The last-used time is
  // written at most once a minute, and a failure to write it is nobody's problem.
  [[nodiscard]] Result<std::shared_ptr<const Principal>, base::Error> authenticate(
      std::string_view token);
  // The same for who was known before: of the token, the digest alone needs to be kept.
  // auth.credential_invalid: it was revoked since. auth.unavailable.
  [[nodiscard]] Result<Operator, base::Error> find(const crypto::Sha256& digest);

 private:
  OperatorStore& store_;
  Environment environment_;
  const Clock& clock_;
  Random& random_;
};

}  // namespace turnpike::identity
