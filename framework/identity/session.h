// Sessions of people, and the port through which they are stored (storage/ implements it). A
// session is found by the SHA-256 of its token. Sessions are not cached, so ending one holds at
// once on every node. When a person steps up or a credential changes, the session gets a new token;
// requests in flight may still read with the previous token for some seconds.
//
// Values; the port is called from the blocking pool or a plain Thread and blocks. Times are the
// store's. Errors of every function: auth.unavailable, with nothing changed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <turnpike/result.h>

#include "base/error.h"
#include "crypto/digest.h"
#include "identity/account.h"
#include "identity/audit.h"
#include "identity/principal.h"

namespace turnpike::identity {

enum class SessionTransport : std::uint8_t { cookie, bearer };
std::string_view name_of(SessionTransport transport) noexcept;
std::optional<SessionTransport> session_transport(std::string_view name) noexcept;

// What the sign-in proved: possession of a link, one factor, or two factors (a passkey that
// verified its user).
enum class Strength : std::uint8_t { enrol, single, multi };
std::string_view name_of(Strength strength) noexcept;
std::optional<Strength> strength(std::string_view name) noexcept;

struct SessionLimits {
  std::int64_t idle_ms = 12 * 3'600'000ll;
  std::int64_t absolute_ms = 7 * 24 * 3'600'000ll;
  std::int64_t step_up_ms = 15 * 60'000ll;
};

struct Session {
  std::string id;  // "ses_..."
  std::string person_id;
  std::string name;  // of a Bearer session, given by its owner
  SessionTransport transport = SessionTransport::cookie;
  std::string method;  // "link", "passkey", "operator", "session"
  Strength strength = Strength::enrol;
  std::int64_t step_up_until_ms = 0;
  std::int64_t created_at_ms = 0;
  std::int64_t last_seen_at_ms = 0;
  std::int64_t expires_at_ms = 0;
  std::string address;
  std::string user_agent;
};

struct NewSession {
  crypto::Sha256 digest{};
  SessionTransport transport = SessionTransport::cookie;
  std::string method;
  Strength strength = Strength::enrol;
  std::int64_t valid_ms = 0;
  std::int64_t step_up_ms = 0;  // from now on; 0: not stepped up
  std::string name = {};
};

struct BegunSession {
  Session session;
  std::string person_id;
};

// A new token for an existing session, and what the person proved.
struct RenewedSession {
  std::string session_id;
  crypto::Sha256 digest{};
  std::optional<std::string> method = {};  // nullopt: method and strength stay
  Strength strength = Strength::multi;
  std::int64_t step_up_ms = 0;  // 0: unchanged
};

// A ceremony that is consumed, so that its challenge is not answered twice.
struct UsedCeremony {
  std::string id;
  std::int64_t expires_at_ms = 0;
};

// An active session, and its person's role in the requested account.
struct FoundSession {
  Session session;
  bool is_of_old_token = false;  // found by the previous token: may only read
  bool is_stepped_up = false;
  std::optional<Role> role = {};
};

class SessionStore {
 public:
  virtual ~SessionStore() = default;
  // nullopt: the token is unknown, the session has ended, or its person is disabled. Updates the
  // last-seen time once a minute. `account_id` may be empty.
  [[nodiscard]] virtual Result<std::optional<FoundSession>, base::Error> find(
      const crypto::Sha256& digest, std::string_view account_id, const SessionLimits& limits) = 0;
  // nullopt: no such person, or the person is disabled. A person has at most 50 sessions; beyond
  // that the oldest end.
  [[nodiscard]] virtual Result<std::optional<Session>, base::Error> add(std::string_view person_id,
                                                                        const NewSession& session,
                                                                        const Actor& actor) = 0;
  // Active sessions, newest first; an empty id selects those of all people.
  [[nodiscard]] virtual Result<std::vector<Session>, base::Error> list(
      std::string_view person_id, const SessionLimits& limits) = 0;
  // Ends one of the person's sessions. False: no such session. An empty `person_id` matches any
  // person.
  [[nodiscard]] virtual Result<bool, base::Error> end(std::string_view person_id,
                                                      std::string_view session_id,
                                                      const Actor& actor) = 0;
  // Ends all of the person's sessions except `kept_session_id`, if given; those of all people if
  // `person_id` is empty. Returns their number.
  [[nodiscard]] virtual Result<std::int64_t, base::Error> end_others(
      std::string_view person_id, std::string_view kept_session_id, const Actor& actor) = 0;
  // Deletes old ended rows: sessions, links, mail, notices, ceremonies, tries.
  [[nodiscard]] virtual Result<Unit, base::Error> sweep() = 0;
};

}  // namespace turnpike::identity
