// AccountStore: accounts as they are stored (storage/ implements it). An account is created
// `provisioning` and becomes `active` in the transaction that books its starter grant, so the grant
// happens exactly once however often, and by however many nodes, activation is tried; and once for
// each owner, who has claimed it from then on. Until that transaction the account is pending. When
// the books already hold a starter grant of an account that never became active, something is wrong
// that no further try will mend: it becomes `provisioning_failed`, which is final.
//
// Called from the blocking pool or a plain Thread; blocks. Errors: account.absent,
// account.read_failed (nothing was written).
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <turnpike/result.h>

#include "base/error.h"
#include "identity/account.h"
#include "identity/audit.h"

namespace turnpike::identity {

// Credits that new accounts start with; 0 units: none.
struct StarterGrant {
  std::int64_t units = 1000;
  std::int64_t valid_ms = 365ll * 24 * 60 * 60 * 1000;
  bool needs_owner = false;  // accounts whose owner is not known get none
};

// The person who makes an account and is its first owner from then on.
struct Founder {
  std::string person_id;
  Actor actor;
};

struct AccountQuery {
  // In the name, or the whole id or owner, or the prefix of one of its keys; empty: all.
  std::string text = {};
  std::optional<AccountStatus> status = {};
  // Those created before it: the last one of the page before.
  std::int64_t before_created_at_ms = 0;  // 0: from the newest
  std::string before_id = {};
  std::uint32_t limit = 25;
};

class AccountStore {
 public:
  virtual ~AccountStore() = default;
  [[nodiscard]] virtual Result<Account, base::Error> create(
      std::string_view name, std::string_view owner = {},
      const std::optional<Founder>& founder = {}) = 0;
  // Books the starter grant where the account is eligible, and makes a provisioning account active
  // or failed. Accounts in any other state are returned as they are.
  [[nodiscard]] virtual Result<Account, base::Error> activate(std::string_view account_id,
                                                              const StarterGrant& grant) = 0;
  // request.malformed when the account is in none of the states `from`; any will do when that is
  // empty. Setting the state that it has changes nothing.
  [[nodiscard]] virtual Result<Account, base::Error> set_status(
      std::string_view account_id, AccountStatus status,
      std::initializer_list<AccountStatus> from = {}) = 0;
  [[nodiscard]] virtual Result<std::optional<Account>, base::Error> find(
      std::string_view account_id) = 0;
  // Oldest first; only those in `status` where given.
  [[nodiscard]] virtual Result<std::vector<Account>, base::Error> list(
      std::optional<AccountStatus> status) = 0;
  // Newest first. Upper and lower case of ASCII are alike in names.
  [[nodiscard]] virtual Result<std::vector<Account>, base::Error> search(
      const AccountQuery& query) = 0;
};

}  // namespace turnpike::identity
