// Sessions of people, and the port through which they are stored (storage/ implements it). A
// session is found by the SHA-256 of its token. Nothing of it is cached, so what ends it holds at
// once on every node. When a person proves again who they are, or a credential changes, the session
// gets a new token; with the one before it requests that were on their way may still read for some
// seconds.
//
// Values; the port is called from the blocking pool or a plain Thread and blocks. Times are the
// store's. Errors of all: auth.unavailable, with nothing changed.
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

// What the sign-in proved: nothing but a link, one factor, or two (a passkey that verified its
// user).
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
  std::string name;  // that its owner gave to a Bearer session
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
  std::int64_t step_up_ms = 0;  // from now on; 0: it has none
  std::string name = {};
};

struct BegunSession {
  Session session;
  std::string person_id;
};

// A new token for a session that goes on, and what the person proved.
struct RenewedSession {
  std::string session_id;
  crypto::Sha256 digest{};
  std::optional<std::string> method = {};  // nothing: method and strength stay
  Strength strength = Strength::multi;
  std::int64_t step_up_ms = 0;  // 0: it keeps what it has
};

// A challenge that must not be answered twice.
struct UsedCeremony {
  std::string id;
  std::int64_t expires_at_ms = 0;
};

// A session that goes on, and the role of its person in the account that was asked about.
struct FoundSession {
  Session session;
  bool is_of_old_token = false;  // it may only read
  bool is_stepped_up = false;
  std::optional<Role> role = {};
};

class SessionStore {
 public:
  virtual ~SessionStore() = default;
  // Nothing: it is nobody's, has ended, or its person is disabled. Notes that it was seen, once a
  // minute. `account_id` may be empty.
  [[nodiscard]] virtual Result<std::optional<FoundSession>, base::Error> find(
      const crypto::Sha256& digest, std::string_view account_id, const SessionLimits& limits) = 0;
  // Nothing: there is no such person, or they are disabled. A person has 50 sessions at most; the
  // oldest end.
  [[nodiscard]] virtual Result<std::optional<Session>, base::Error> add(std::string_view person_id,
                                                                        const NewSession& session,
                                                                        const Actor& actor) = 0;
  // Those that go on, newest first; with an empty id those of everyone.
  [[nodiscard]] virtual Result<std::vector<Session>, base::Error> list(
      std::string_view person_id, const SessionLimits& limits) = 0;
  // Ends one of the person's. False: there is none with this id. With an empty `person_id` it may
  // be anyone's.
  [[nodiscard]] virtual Result<bool, base::Error> end(std::string_view person_id,
                                                      std::string_view session_id,
                                                      const Actor& actor) = 0;
  // Ends all of the person's but the one named, if one is; of everyone's where `person_id` is
  // empty. Returns how many.
  [[nodiscard]] virtual Result<std::int64_t, base::Error> end_others(
      std::string_view person_id, std::string_view kept_session_id, const Actor& actor) = 0;
  // Deletes what has ended a while ago: sessions, links, mail, notices, ceremonies, tries.
  [[nodiscard]] virtual Result<Unit, base::Error> sweep() = 0;
};

}  // namespace turnpike::identity
