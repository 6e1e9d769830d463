// The audit log: who changed or was refused what. Append-only until an event is older than the
// operator's retention time. A change writes its event in its own transaction, so every change has
// an event. Events hold no secrets.
//
// AuditStore is the port (storage/ implements it), called from the blocking pool or a plain Thread;
// it blocks. The other types are values; safe on any Thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <turnpike/result.h>

#include "base/error.h"

namespace turnpike::identity {

// The principal that acts, and where the request came from.
struct Actor {
  std::string principal;       // "user:usr_...", "operator:cli", "system:gateway"; "": unknown
  std::string person_id = {};  // set for a person; the transaction checks their role
  std::string session_id = {};
  std::string address = {};  // of the peer, without a port
  std::string user_agent = {};
  std::string request_id = {};
};

// The actor of the command line, whose authority is its access to the database.
inline Actor operator_actor() { return {.principal = "operator:cli"}; }

enum class AuditOutcome : std::uint8_t { done, refused };
std::string_view name_of(AuditOutcome outcome) noexcept;

struct AuditEvent {
  std::int64_t sequence = 0;
  std::int64_t at_ms = 0;
  Actor actor;
  std::string account_id = {};  // empty: the event belongs to no account
  std::string action;           // "key.create", "session.begin", ...
  std::string target = {};      // id of the changed object
  AuditOutcome outcome = AuditOutcome::done;
  std::string method = {};  // how the person authenticated: "passkey", "link"
  std::string detail = {};
};

struct AuditQuery {
  std::string account_id = {};  // empty: events of all accounts and of none
  std::string person_id = {};   // events by or about this person; account_id is then ignored
  std::string actor = {};       // of an account: a principal, "user:usr_..."; empty: all
  std::string action = {};      // of an account: "key.create"; empty: all
  std::int64_t before = 0;      // cursor, a sequence number; 0: start at the newest
  std::int64_t limit = 50;
};

class AuditStore {
 public:
  virtual ~AuditStore() = default;
  // Records an event that changed nothing, such as a refused sign-in. The store sets sequence and
  // time.
  [[nodiscard]] virtual Result<Unit, base::Error> record(const AuditEvent& event) = 0;
  // Newest first.
  [[nodiscard]] virtual Result<std::vector<AuditEvent>, base::Error> list(
      const AuditQuery& query) = 0;

  // If `key` has already used its `tries_max` tries in the current window: the seconds until the
  // window ends; else 0.
  [[nodiscard]] virtual Result<std::uint32_t, base::Error> throttled(std::string_view key,
                                                                     std::int64_t window_ms,
                                                                     std::int64_t tries_max) = 0;
  // Returns the number of tries in the window, including this one.
  [[nodiscard]] virtual Result<std::int64_t, base::Error> count_try(std::string_view key,
                                                                    std::int64_t window_ms) = 0;
  // Deletes events older than `kept_ms`; returns their number.
  [[nodiscard]] virtual Result<std::int64_t, base::Error> sweep(std::int64_t kept_ms) = 0;
};

}  // namespace turnpike::identity
