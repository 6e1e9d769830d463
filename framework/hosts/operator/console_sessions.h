// ConsoleSessions: who is signed in to the operator console. A session is begun with an operator
// credential and says no more than which: whether that still holds, and what it may do, is asked of
// the store with every page. They live in the memory of this process alone. The listener is this
// node's, so no other node needs to know them, and nothing is left to steal from a database or a
// backup; a restart signs everybody out.
//
// Owned by Console; safe for concurrent use by all loop Threads. Takes a lock and never waits for
// anything else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include <turnpike/host.h>

#include "crypto/digest.h"

namespace turnpike::hosts::operators {

struct ConsoleLimits {
  std::int64_t idle_ms = 30 * 60'000;         // without a page for so long it ends
  std::int64_t whole_ms = 12 * 60 * 60'000;   // and in any case after this
  std::size_t sessions_max = 64;              // beyond it the one that was idle longest ends
};

struct ConsoleSession {
  crypto::Sha256 credential{};  // digest of the credential that it was begun with
  std::string page_token;       // which forms of its pages bring along
};

class ConsoleSessions {
 public:
  ConsoleSessions(const Clock& clock, Random& random, const ConsoleLimits& limits = {})
      : clock_(clock), random_(random), limits_(limits) {}

  // The token of the cookie: 256 random bits. Its digest alone is kept.
  [[nodiscard]] std::string begin(const crypto::Sha256& credential);
  // Nothing: there is none, or it has ended. One that is found is no longer idle.
  [[nodiscard]] std::optional<ConsoleSession> find(std::string_view token);
  void end(std::string_view token);
  [[nodiscard]] std::size_t count() const;

 private:
  struct Kept {
    ConsoleSession session;
    std::int64_t begun_ns = 0;
    std::int64_t seen_ns = 0;
  };
  [[nodiscard]] std::string random_text();
  void forget_ended(std::int64_t now_ns);

  const Clock& clock_;
  Random& random_;
  const ConsoleLimits limits_;
  mutable std::mutex mutex_;
  std::map<crypto::Sha256, Kept> kept_;  // by digest of the token
};

}  // namespace turnpike::hosts::operators
