// Settings of the store, as the configuration gives them. Plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace turnpike::storage {

enum class Engine : std::uint8_t { sqlite, postgres };

// The currently enabled ways to sign in. A stored credential of another kind cannot be used.
struct SignInWays {
  bool takes_passwords = true;
  std::vector<std::string> former_passkey_domains = {};  // passkeys bound to these cannot be used
  std::optional<std::vector<std::string>> issuers = {};  // of identities; nullopt: any
};

struct Settings {
  Engine engine = Engine::sqlite;
  std::string data_dir = "var";             // created when absent
  std::string sqlite_path = "turnpike.db";  // relative to data_dir unless absolute
  // postgres://[user[:password]@]host[:port]/database[?key=value&...], or libpq keywords. Values
  // must not contain blanks; a password is better kept in PGPASSFILE.
  std::string postgres_url = {};
  // Commits are acknowledged before they are on disk: charges of the last moments before a machine
  // or a PostgreSQL server fails may be lost, though callers received the replies.
  bool is_durability_relaxed = false;
  // Without mail, nothing is written to the outbox, and people see notices on their pages instead.
  bool sends_mail = false;
  SignInWays sign_in;
  std::uint32_t sessions = 8;             // at most, shared by calls; kept open once opened
  std::uint32_t session_wait_ms = 2'000;  // wait for a free session
  std::uint32_t connect_timeout_s = 3;
  std::uint32_t statement_timeout_ms = 4'000;  // PostgreSQL
  std::uint32_t busy_timeout_ms = 2'000;       // SQLite: wait for writers in other processes
};

}  // namespace turnpike::storage
