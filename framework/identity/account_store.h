// AccountStore: the port through which accounts are stored (storage/ implements it). An account is
// created `provisioning` and becomes `active` in the transaction that books its starter grant. The
// grant therefore happens exactly once, however many nodes try the activation and however often,
// and at most once per owner: the first account claims it. Until that transaction the account is
// pending. When the books already hold a starter grant of an account that never became active, a
// retry cannot repair the state: the account becomes `provisioning_failed`, which is final.
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

// Credits that a new account starts with; 0 units: none.
struct StarterGrant {
  std::int64_t units = 1000;
  std::int64_t valid_ms = 365ll * 24 * 60 * 60 * 1000;
  bool needs_owner = false;  // accounts without a known owner get none
};

// The person who creates an account and becomes its first owner.
struct Founder {
  std::string person_id;
  Actor actor;
};

struct AccountQuery {
  // Matches part of the name, the whole id or owner, or the prefix of a key; empty: all accounts.
  std::string text = {};
  std::optional<AccountStatus> status = {};
  // Cursor: only accounts created before this one, which is the last account of the previous page.
  std::int64_t before_created_at_ms = 0;  // 0: start at the newest
  std::string before_id = {};
  std::uint32_t limit = 25;
};

class AccountStore {
 public:
  virtual ~AccountStore() = default;
  [[nodiscard]] virtual Result<Account, base::Error> create(
      std::string_view name, std::string_view owner = {},
      const std::optional<Founder>& founder = {}) = 0;
  // Books the starter grant if the account is eligible, and makes a provisioning account active or
  // failed. Accounts in any other state are returned unchanged.
  [[nodiscard]] virtual Result<Account, base::Error> activate(std::string_view account_id,
                                                              const StarterGrant& grant) = 0;
  // request.malformed when the account is in none of the states `from`; an empty `from` allows
  // every state. Setting the current state again changes nothing.
  [[nodiscard]] virtual Result<Account, base::Error> set_status(
      std::string_view account_id, AccountStatus status,
      std::initializer_list<AccountStatus> from = {}) = 0;
  [[nodiscard]] virtual Result<std::optional<Account>, base::Error> find(
      std::string_view account_id) = 0;
  // Oldest first; with `status`, only the accounts in that state.
  [[nodiscard]] virtual Result<std::vector<Account>, base::Error> list(
      std::optional<AccountStatus> status) = 0;
  // Newest first. Names are compared without ASCII case.
  [[nodiscard]] virtual Result<std::vector<Account>, base::Error> search(
      const AccountQuery& query) = 0;
};

}  // namespace turnpike::identity
