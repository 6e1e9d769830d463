// KeyStore: API keys as they are stored (storage/ implements it). Only the SHA-256 of a token is
// kept. Every change that may end or alter what a token is worth (revocation, caps, account status,
// a new key) takes the next number of one change sequence, in the transaction of the change itself,
// so other nodes learn of it by asking what came after the last number they saw.
//
// Called from the blocking pool or a plain Thread; blocks.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <turnpike/result.h>

#include "base/error.h"
#include "crypto/digest.h"
#include "identity/account.h"
#include "identity/audit.h"

namespace turnpike::identity {

struct NewKey {
  std::string account_id;
  std::string name;
  Environment environment = Environment::development;
  std::string prefix;
  crypto::Sha256 digest{};
  SpendCaps caps = {};
  std::optional<std::int64_t> expires_at_ms = {};
};

// The key that a token's digest stands for, and the state of its account.
struct KeyRecord {
  ApiKey key;
  AccountStatus account_status = AccountStatus::active;
};

struct KeyChange {
  std::int64_t sequence = 0;
  std::optional<crypto::Sha256> digest;  // nothing: every key of the account
  std::string account_id;
};

struct KeyUse {
  std::string key_id;  // or of a grant
  std::int64_t at_ms = 0;
};

// Who changes keys, and of which account they are. A person needs the role admin in it; keys of
// another account are none to them.
struct KeyEditor {
  Actor actor = operator_actor();
  std::string account_id = {};  // empty: of any
};

// What is to change of a key; what is not there stays.
struct KeyEdit {
  std::optional<std::string> name = {};
  std::optional<SpendCaps> caps = {};  // both: a cap that is not given is none
  // The inner one: nothing for a key that is to last.
  std::optional<std::optional<std::int64_t>> expires_at_ms = {};
};

class KeyStore {
 public:
  virtual ~KeyStore() = default;
  // account.absent when there is no such account, account.closed; request.malformed for an expiry
  // that is not in the future. As with every change by a person: account.forbidden,
  // auth.role_missing.
  [[nodiscard]] virtual Result<ApiKey, base::Error> add(const NewKey& key,
                                                        const KeyEditor& editor = {}) = 0;
  [[nodiscard]] virtual Result<std::optional<KeyRecord>, base::Error> find(
      const crypto::Sha256& digest) = 0;
  [[nodiscard]] virtual Result<std::vector<ApiKey>, base::Error> list(
      std::string_view account_id) = 0;
  // All of it or nothing. The key's spending counts towards its caps from when it first has one;
  // nodes return what they reserved under the old ones. Nothing: there is no such key.
  // request.malformed: caps or expiry of a revoked key, or an expiry that is not in the future.
  [[nodiscard]] virtual Result<std::optional<ApiKey>, base::Error> change(
      std::string_view key_id, const KeyEdit& edit, const KeyEditor& editor = {}) = 0;
  // Revoking a revoked key changes nothing and returns it.
  [[nodiscard]] virtual Result<std::optional<ApiKey>, base::Error> revoke(
      std::string_view key_id, const KeyEditor& editor = {}) = 0;
  // Changes after `sequence`, in order; at most 1,000.
  [[nodiscard]] virtual Result<std::vector<KeyChange>, base::Error> changes_after(
      std::int64_t sequence) = 0;
  [[nodiscard]] virtual Result<std::int64_t, base::Error> last_change() = 0;
  // Moves last-used times forward, never back.
  [[nodiscard]] virtual Result<Unit, base::Error> record_uses(std::span<const KeyUse> uses) = 0;
};

}  // namespace turnpike::identity
