// Postgres: a PostgreSQL server that belongs to the test binary, on a unix socket in a temporary
// directory, with fsync on as in production. The destructor stops it by its process id; the kernel
// stops it if the test dies. PostgreSQL refuses to run as root; in that case it runs as user
// postgres.
//
// There is one per test binary: shared_postgres(), started at first use. Used by the test's Thread.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>

#include "support/temporary.h"

namespace turnpike::support {

class Postgres {
 public:
  Postgres();  // throws std::runtime_error with the server's log
  ~Postgres();
  Postgres(const Postgres&) = delete;
  Postgres& operator=(const Postgres&) = delete;

  // Returns the URL of a new, empty schema.
  [[nodiscard]] std::string new_schema();
  // Returns the URL of a new database, a copy of a template. The first call makes the template: it
  // passes the URL of an empty database to `migrate`. A copy takes a tenth of the time of the
  // migrations.
  using Migrate = std::function<void(const std::string& url)>;
  [[nodiscard]] std::string new_migrated(const Migrate& migrate);
  // Drops that database and disconnects its clients. Does nothing if the server does not answer.
  void drop(const std::string& migrated_url) noexcept;
  // The URL of the server without a test's schema, for queries from outside.
  [[nodiscard]] std::string url() const;

  void stop();   // immediate shutdown, like a crash
  void start();  // starts again on the same data

 private:
  [[nodiscard]] std::string server_name() const;

  TemporaryDirectory directory_;
  std::string binaries_;
  pid_t server_ = -1;
  int schemas_ = 0;
  int databases_ = 0;
};

// Null if PostgreSQL is not installed; tests are then skipped and report it.
Postgres* shared_postgres();

}  // namespace turnpike::support
