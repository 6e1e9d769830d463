// Sessions: authenticates session tokens, and makes and ends sessions. Cookie sessions and Bearer
// sessions are separate: the token of one transport is refused on the other.
//
// Owned by app/; safe for concurrent use. Everything but the page tokens asks the store: call it
// from the blocking pool or a plain Thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <turnpike/host.h>
#include <turnpike/result.h>

#include "base/error.h"
#include "identity/principal.h"
#include "identity/session.h"

namespace turnpike::identity {

struct Token {
  std::string text;  // never stored
  crypto::Sha256 digest{};
};

struct CreatedSession {
  Session session;
  std::string token;  // never stored, never shown again
};

class Sessions {
 public:
  struct Settings {
    Environment environment = Environment::development;
    SessionLimits limits;
    std::string page_token_key;  // a secret that all nodes share
  };
  static constexpr std::int64_t bearer_ms_max = 12 * 3'600'000ll;

  Sessions(SessionStore& store, Settings settings, Random& random)
      : store_(store), settings_(std::move(settings)), random_(random) {}

  // Returns the token's principal, and their role in the account if one is named. With the
  // session's previous token the principal may only read. auth.session_ended, auth.unavailable.
  [[nodiscard]] Result<std::shared_ptr<const Principal>, base::Error> authenticate(
      std::string_view token, SessionTransport transport, std::string_view account_id,
      bool changes_something);

  // The CSRF token that the session's pages send with each change.
  [[nodiscard]] std::string page_token(std::string_view session_id) const;
  [[nodiscard]] bool is_page_token(std::string_view session_id, std::string_view token) const;

  // Valid for 1 s to 12 h; the session counts as stepped up for its first `step_up_ms`.
  // request.malformed for the name; request.not_found: no such person.
  [[nodiscard]] Result<CreatedSession, base::Error> create_bearer(
      std::string_view person_id, std::string_view name, std::int64_t valid_ms,
      std::int64_t step_up_ms, std::string_view method, const Actor& actor);
  [[nodiscard]] Result<std::vector<Session>, base::Error> list(std::string_view person_id) {
    return store_.list(person_id, settings_.limits);
  }
  [[nodiscard]] Result<bool, base::Error> end(std::string_view person_id,
                                              std::string_view session_id, const Actor& actor) {
    return store_.end(person_id, session_id, actor);
  }
  [[nodiscard]] Result<std::int64_t, base::Error> end_others(std::string_view person_id,
                                                             std::string_view kept_session_id,
                                                             const Actor& actor) {
    return store_.end_others(person_id, kept_session_id, actor);
  }

  // A new random token for a session.
  [[nodiscard]] Token make_token() const;
  [[nodiscard]] const SessionLimits& limits() const noexcept { return settings_.limits; }
  [[nodiscard]] Environment environment() const noexcept { return settings_.environment; }

 private:
  SessionStore& store_;
  const Settings settings_;
  Random& random_;
};

}  // namespace turnpike::identity
