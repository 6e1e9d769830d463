// The audit log: who changed what, or was refused, append-only until an event is as old as the
// operator keeps them. A change writes its event in its
// own transaction, so there is no change without one. Events hold no secrets.
//
// AuditStore is the port (storage/ implements it), called from the blocking pool or a plain Thread;
// it blocks. Values otherwise; any Thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <turnpike/result.h>

#include "base/error.h"

namespace turnpike::identity {

// Who acts, and from where.
struct Actor {
  std::string principal;       // "user:usr_...", "operator:cli", "system:gateway"; "": nobody yet
  std::string person_id = {};  // of a person, whose role is judged in the transaction
  std::string session_id = {};
  std::string address = {};  // of the peer, without a port
  std::string user_agent = {};
  std::string request_id = {};
};

// Of commands, whose right is that to the database.
inline Actor operator_actor() { return {.principal = "operator:cli"}; }

enum class AuditOutcome : std::uint8_t { done, refused };
std::string_view name_of(AuditOutcome outcome) noexcept;

struct AuditEvent {
  std::int64_t sequence = 0;
  std::int64_t at_ms = 0;
  Actor actor;
  std::string account_id = {};  // empty: it is of no account
  std::string action;           // "key.create", "session.begin", ...
  std::string target = {};      // the id of what was changed
  AuditOutcome outcome = AuditOutcome::done;
  std::string method = {};  // how a person proved who they are: "passkey", "link"
  std::string detail = {};
};

struct AuditQuery {
  std::string account_id = {};  // empty: events of all accounts, and of none
  std::string person_id = {};   // what they did, and what was done to them; then of no one account
  std::string actor = {};       // of an account: a principal, "user:usr_..."; empty: all
  std::string action = {};      // of an account: "key.create"; empty: all
  std::int64_t before = 0;      // sequence; 0: from the newest on
  std::int64_t limit = 50;
};

class AuditStore {
 public:
  virtual ~AuditStore() = default;
  // Records what changed nothing, such as a refused sign-in; sequence and time are the store's.
  [[nodiscard]] virtual Result<Unit, base::Error> record(const AuditEvent& event) = 0;
  // Newest first.
  [[nodiscard]] virtual Result<std::vector<AuditEvent>, base::Error> list(
      const AuditQuery& query) = 0;

  // Whether `key` was tried `tries_max` times in its window of time already: the seconds until the
  // window ends, or 0.
  [[nodiscard]] virtual Result<std::uint32_t, base::Error> throttled(std::string_view key,
                                                                     std::int64_t window_ms,
                                                                     std::int64_t tries_max) = 0;
  // Returns how many there were in the window, this one included.
  [[nodiscard]] virtual Result<std::int64_t, base::Error> count_try(std::string_view key,
                                                                    std::int64_t window_ms) = 0;
  // Deletes events that are older; returns how many.
  [[nodiscard]] virtual Result<std::int64_t, base::Error> sweep(std::int64_t kept_ms) = 0;
};

}  // namespace turnpike::identity
