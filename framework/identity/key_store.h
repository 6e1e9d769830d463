// KeyStore: the port through which API keys are stored (storage/ implements it). Only the SHA-256
// of a token is kept. Every change that may invalidate a cached answer (revocation, caps, account
// status, a new key) takes the next number of one change sequence, in the transaction of the change
// itself. Other nodes learn of a change by asking for everything after the last number they saw.
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

// The key to which a token's digest belongs, and the state of its account.
struct KeyRecord {
  ApiKey key;
  AccountStatus account_status = AccountStatus::active;
};

struct KeyChange {
  std::int64_t sequence = 0;
  std::optional<crypto::Sha256> digest;  // nullopt: every key of the account
  std::string account_id;
};

struct KeyUse {
  std::string key_id;  // id of a key or of a grant
  std::int64_t at_ms = 0;
};

// The actor that changes keys, and the account whose keys it may change. A person needs the role
// admin in that account; keys of another account count as absent.
struct KeyEditor {
  Actor actor = operator_actor();
  std::string account_id = {};  // empty: any account
};

// The changes to a key; members without a value leave the key as it is.
struct KeyEdit {
  std::optional<std::string> name = {};
  std::optional<SpendCaps> caps = {};  // replaces both caps: a missing cap means no cap
  // The inner optional: nullopt for a key that never expires.
  std::optional<std::optional<std::int64_t>> expires_at_ms = {};
};

class KeyStore {
 public:
  virtual ~KeyStore() = default;
  // account.absent, account.closed; request.malformed for an expiry that is not in the future. As
  // with every change by a person: account.forbidden, auth.role_missing.
  [[nodiscard]] virtual Result<ApiKey, base::Error> add(const NewKey& key,
                                                        const KeyEditor& editor = {}) = 0;
  [[nodiscard]] virtual Result<std::optional<KeyRecord>, base::Error> find(
      const crypto::Sha256& digest) = 0;
  [[nodiscard]] virtual Result<std::vector<ApiKey>, base::Error> list(
      std::string_view account_id) = 0;
  // Applies all changes or none. The key's spending counts towards its caps from when the key first
  // has a cap; nodes return the amounts reserved under the old caps. nullopt: no such key.
  // request.malformed: caps or expiry of a revoked key, or an expiry that is not in the future.
  [[nodiscard]] virtual Result<std::optional<ApiKey>, base::Error> change(
      std::string_view key_id, const KeyEdit& edit, const KeyEditor& editor = {}) = 0;
  // Revoking a revoked key changes nothing and returns the key.
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
