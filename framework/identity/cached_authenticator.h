// CachedAuthenticator: the Authenticator over a KeyStore and the access tokens of grants. Answers
// come from a cache that is split by calling Thread, so loops do not contend: a hit takes one
// uncontended lock and allocates nothing. A Thread of its own, the heartbeat, reads the change
// sequence every 250 ms and drops the entries that changed. If no heartbeat has succeeded for 750
// ms, the cache counts as stale and every token is looked up. A revocation on another node thus
// holds within a second, or the answer is auth.unavailable. After a longer silence of the store,
// calls are refused at once instead of waiting for the store. A second Thread records when keys
// were used, so that the heartbeat does not wait for those writes.
//
// Owned by app/; the stores and the pool must outlive it. authenticate() may be called from fibers
// and plain Threads, forget() from any Thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include <turnpike/host.h>

#include "base/log.h"
#include "identity/authenticator.h"
#include "identity/grant_tokens.h"
#include "identity/key_store.h"
#include "runtime/pool.h"

namespace turnpike::identity {

struct AuthenticatorSettings {
  Environment environment = Environment::development;
  std::int64_t heartbeat_ms = 250;  // 0: no Threads; tests call beat() and record_uses()
  std::int64_t believed_ms = 750;   // time after a heartbeat during which the cache is trusted
  std::int64_t silent_ms = 2'500;   // time without a heartbeat after which no token is looked up
  std::int64_t record_uses_ms = 5'000;
  std::uint32_t entries_max = 8'192;  // known keys per slot
  std::uint32_t unknown_max = 1'024;  // per slot: well-formed tokens that no store knows
};

class CachedAuthenticator final : public Authenticator {
 public:
  struct Sources {
    const Clock& clock;
    base::Log& log;
    runtime::BlockingPool& pool;    // for look-ups
    GrantTokens* grants = nullptr;  // null: every access token is invalid
  };
  CachedAuthenticator(KeyStore& store, const AuthenticatorSettings& settings, Sources sources);
  ~CachedAuthenticator() override;  // writes the last-used times that are pending

  Result<std::shared_ptr<const Principal>, base::Error> authenticate(
      std::string_view token, runtime::Deadline deadline,
      Accepts accepts = Accepts::api_keys) override;

  // Drops every cached answer about the key; called after a revocation on this node.
  void forget(std::string_view key_id) noexcept;
  // Runs one heartbeat; called by the heartbeat Thread and by tests. False: the store did not
  // answer.
  bool beat();
  // Writes the pending last-used times; called by the recording Thread and by tests.
  void record_uses();

 private:
  struct Machine;
  std::unique_ptr<Machine> machine_;
};

}  // namespace turnpike::identity
