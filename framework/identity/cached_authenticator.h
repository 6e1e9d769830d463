// CachedAuthenticator: the Authenticator over a KeyStore and the access tokens of grants. Answers
// come from a cache that is split by calling Thread, so loops do not contend: a hit takes one
// uncontended lock and allocates nothing. One Thread of its own, the heartbeat, reads the change
// sequence every 250 ms and drops what changed; when it has not succeeded for 750 ms the cache is
// not believed and every token is looked up, so a revocation elsewhere holds within a second or the
// answer is auth.unavailable. A store that stays silent is no longer asked: calls are refused at
// once instead of waiting for it. Another Thread records when keys were used; the heartbeat does
// not wait for it.
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
  std::int64_t heartbeat_ms = 250;  // 0: no Threads; it beats and records when told to
  std::int64_t believed_ms = 750;   // how long after a heartbeat the cache is believed
  std::int64_t silent_ms = 2'500;   // and after so long without one no token is looked up
  std::int64_t record_uses_ms = 5'000;
  std::uint32_t entries_max = 8'192;  // per slot; known keys
  std::uint32_t unknown_max = 1'024;  // per slot; well-formed tokens that are nobody's
};

class CachedAuthenticator final : public Authenticator {
 public:
  struct Sources {
    const Clock& clock;
    base::Log& log;
    runtime::BlockingPool& pool;    // for look-ups
    GrantTokens* grants = nullptr;  // null: no access token is anybody's
  };
  CachedAuthenticator(KeyStore& store, const AuthenticatorSettings& settings, Sources sources);
  ~CachedAuthenticator() override;  // writes the last-used times it still has

  Result<std::shared_ptr<const Principal>, base::Error> authenticate(
      std::string_view token, runtime::Deadline deadline,
      Accepts accepts = Accepts::api_keys) override;

  // Drops every cached answer about the key; a revocation made on this node calls it.
  void forget(std::string_view key_id) noexcept;
  // One heartbeat, now; for the heartbeat itself and for tests. False: the store is out of reach.
  bool beat();
  // Writes when keys were used, now; for its Thread and for tests.
  void record_uses();

 private:
  struct Machine;
  std::unique_ptr<Machine> machine_;
};

}  // namespace turnpike::identity
