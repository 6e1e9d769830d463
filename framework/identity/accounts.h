// Accounts and ApiKeys: the account and key services that the command line and the account routes
// call. Both add a few rules to the ports: an account is returned only once it is active, a token
// is shown only once, and a revocation reaches this node's cache at once.
//
// Owned by app/; safe for concurrent use. Called from the blocking pool or a plain Thread; blocks.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <turnpike/host.h>
#include <turnpike/result.h>

#include "base/error.h"
#include "identity/account_store.h"
#include "identity/key_store.h"

namespace turnpike::identity {

class Accounts {
 public:
  Accounts(AccountStore& store, StarterGrant grant) : store_(store), grant_(grant) {}

  // Creates an account, books its starter grant and returns the account active. When booking fails,
  // the account stays provisioning and resume() finishes it. request.malformed for a name that is
  // not 1 to 200 bytes of printable UTF-8, or an owner that is neither that nor empty;
  // account.absent when the account cannot be set up at all.
  [[nodiscard]] Result<Account, base::Error> create(std::string_view name,
                                                    std::string_view owner = {});
  // Like create(), for a person, who becomes the owner. A person gets one starter grant, no matter
  // how many accounts they create.
  [[nodiscard]] Result<Account, base::Error> create_for(std::string_view name,
                                                        const Founder& founder);
  // Books the starter grant of an account that was created elsewhere, and returns the account
  // active.
  [[nodiscard]] Result<Account, base::Error> finish(const Account& account);
  // Activates accounts that a crash left provisioning, here or on another node; returns their
  // number.
  [[nodiscard]] Result<std::size_t, base::Error> resume();

  // Suspended and closed accounts are refused on every lane within a second; closing is final.
  // account.absent; request.malformed when the account's state does not allow the change.
  [[nodiscard]] Result<Account, base::Error> suspend(std::string_view account_id);
  [[nodiscard]] Result<Account, base::Error> reinstate(std::string_view account_id);
  [[nodiscard]] Result<Account, base::Error> close(std::string_view account_id);

 private:
  AccountStore& store_;
  StarterGrant grant_;
};

// Optional limits of a new key.
struct KeyBounds {
  SpendCaps caps = {};
  std::optional<std::int64_t> expires_at_ms = {};
};

struct CreatedKey {
  ApiKey key;
  std::string secret;  // the token; never stored, never shown again
};

class ApiKeys {
 public:
  // `revoked` is called after a revocation is durable: CachedAuthenticator::forget, or null.
  ApiKeys(KeyStore& store, Environment environment, Random& random,
          std::function<void(std::string_view key_id)> revoked = nullptr)
      : store_(store), environment_(environment), random_(random), revoked_(std::move(revoked)) {}

  [[nodiscard]] Result<CreatedKey, base::Error> create(std::string_view account_id,
                                                       std::string_view name,
                                                       const KeyEditor& editor = {},
                                                       const KeyBounds& bounds = {});
  [[nodiscard]] Result<std::vector<ApiKey>, base::Error> list(std::string_view account_id);
  // Errors of KeyStore::change(), and request.malformed for the name or a negative cap.
  [[nodiscard]] Result<std::optional<ApiKey>, base::Error> change(std::string_view key_id,
                                                                  const KeyEdit& edit,
                                                                  const KeyEditor& editor = {});
  [[nodiscard]] Result<std::optional<ApiKey>, base::Error> revoke(std::string_view key_id,
                                                                  const KeyEditor& editor = {});

 private:
  KeyStore& store_;
  Environment environment_;
  Random& random_;
  std::function<void(std::string_view)> revoked_;
};

}  // namespace turnpike::identity
