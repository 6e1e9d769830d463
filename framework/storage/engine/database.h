// Database: one SQLite file or one PostgreSQL server, opened with the settings that durability
// needs, and its sessions. SQLite: WAL, synchronous=FULL, foreign keys, a short busy timeout, and
// one writer of this process at a time. PostgreSQL: synchronous_commit=on; bounded connects,
// statements and idle transactions, and a bound on unacknowledged bytes, so that no Thread waits
// indefinitely for a dead server. Settings may relax synchronous and synchronous_commit.
//
// Owned by Node; safe for concurrent use. with() and write() use the sessions that all calls share
// (session_pool.h).
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "storage/engine/connection.h"
#include "storage/engine/session_pool.h"
#include "storage/engine/transaction.h"
#include "storage/settings.h"

namespace turnpike::storage {

class Database {
 public:
  // Sessions, up to `settings.sessions`, are opened when first used, and `prelude` is run on each.
  // Throws StoreError for an invalid URL.
  explicit Database(const Settings& settings, std::vector<std::string> prelude = {});

  [[nodiscard]] Engine engine() const noexcept { return settings_.engine; }
  [[nodiscard]] const Settings& settings() const noexcept { return settings_; }
  // Opens all sessions that are not open yet, so that no call waits for one later; throws
  // StoreError. REQUIRES: none is in use.
  void open_sessions() { pool_.open(); }
  // Opens a separate session, for a Thread that uses it all the time.
  [[nodiscard]] std::unique_ptr<Connection> connect() const;
  // Opens a separate pool for an occasional user that must not wait for the sessions of calls.
  [[nodiscard]] std::unique_ptr<SessionPool> own_session();
  [[nodiscard]] std::mutex& writer() noexcept { return writer_; }

  template <class F>
  auto with(F&& work) {
    return pool_.with(std::forward<F>(work));
  }
  template <class F>
  auto write(F&& work) {
    return pool_.write(std::forward<F>(work));
  }
  template <class F>
  auto write_unless_refused(F&& work) {
    return pool_.write_unless_refused(std::forward<F>(work));
  }

 private:
  const Settings settings_;
  const std::string target_;
  const std::vector<std::string> prelude_;
  std::mutex writer_;
  mutable std::atomic<bool> was_away_ = false;  // at the last connect
  SessionPool pool_;
};

// The connection string for Poco: a path, or libpq keywords with our bounds. Throws StoreError for
// an invalid URL.
std::string connection_target(const Settings& settings);

// Describes a fault in the form of `storage.postgres.url`; empty: none.
std::string postgres_url_fault(const std::string& url);

// The SQLite file's path, below data_dir unless absolute.
std::string sqlite_file(const Settings& settings);

}  // namespace turnpike::storage
