// ConsoleSessions: the sessions of the operator console. A session is opened with an operator
// credential and stores only its digest: whether the credential is still valid, and its
// authorities, are read from the store for every page. Sessions live only in the memory of this
// process. The listener belongs to this node, so no other node needs them, and they cannot be
// stolen from a database or a backup; a restart ends all sessions.
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
  std::int64_t idle_ms = 30 * 60'000;         // idle timeout
  std::int64_t whole_ms = 12 * 60 * 60'000;   // total lifetime
  std::size_t sessions_max = 64;              // beyond it the longest idle session ends
};

struct ConsoleSession {
  crypto::Sha256 credential{};  // digest of its operator credential
  std::string page_token;       // sent with the forms of its pages
};

class ConsoleSessions {
 public:
  ConsoleSessions(const Clock& clock, Random& random, const ConsoleLimits& limits = {})
      : clock_(clock), random_(random), limits_(limits) {}

  // Returns the token for the cookie: 256 random bits. Only its digest is kept.
  [[nodiscard]] std::string begin(const crypto::Sha256& credential);
  // Nothing: there is no such session, or it has ended. Finding a session resets its idle time.
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
