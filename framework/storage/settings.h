// Settings of the store, as the configuration gives them. Plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace turnpike::storage {

enum class Engine : std::uint8_t { sqlite, postgres };

// The ways in which people sign in here now. A stored credential of another way lets nobody in.
struct SignInWays {
  bool takes_passwords = true;
  std::vector<std::string> former_passkey_domains = {};  // where no browser offers a passkey
  std::optional<std::vector<std::string>> issuers = {};  // of identities; nothing: any
};

struct Settings {
  Engine engine = Engine::sqlite;
  std::string data_dir = "var";             // created when absent
  std::string sqlite_path = "turnpike.db";  // relative to data_dir unless absolute
  // postgres://[user[:password]@]host[:port]/database[?key=value&...], or libpq keywords. Values
  // must not contain blanks; a password is better kept in PGPASSFILE.
  std::string postgres_url = {};
  // Commits are answered before the disk has them: what was charged in the last moments before a
  // machine or a PostgreSQL server dies may be lost, though its replies were seen.
  bool is_durability_relaxed = false;
  // Whether mail is sent: without it none is written to the outbox, and people are told on their
  // pages instead.
  bool sends_mail = false;
  SignInWays sign_in;
  std::uint32_t sessions = 8;             // that calls share, all kept open
  std::uint32_t session_wait_ms = 2'000;  // for a free one
  std::uint32_t connect_timeout_s = 3;
  std::uint32_t statement_timeout_ms = 4'000;  // PostgreSQL
  std::uint32_t busy_timeout_ms = 2'000;       // SQLite, against writers in other processes
};

}  // namespace turnpike::storage
