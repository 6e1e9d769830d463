// Postgres: a PostgreSQL server of the test binary's own, on a unix socket in a temporary
// directory, with fsync on, as in service. It is stopped by its process id when the object ends,
// and by the kernel when the test dies. PostgreSQL refuses to run as root; then it runs as user
// postgres.
//
// One per test binary: shared_postgres(), started at first use. Thread: the test's own.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>

#include "support/temporary.h"

namespace turnpike::support {

class Postgres {
 public:
  Postgres();  // throws std::runtime_error with the server's words
  ~Postgres();
  Postgres(const Postgres&) = delete;
  Postgres& operator=(const Postgres&) = delete;

  // A URL of an empty schema that nobody else uses.
  [[nodiscard]] std::string new_schema();
  // A URL of a database that nobody else uses, a copy of the one that `migrate` made of an empty
  // one, given its URL, when it was asked for first: a tenth of the time that migrations take.
  using Migrate = std::function<void(const std::string& url)>;
  [[nodiscard]] std::string new_migrated(const Migrate& migrate);
  // Whoever is still connected is cut off. Says nothing when the server does not answer.
  void drop(const std::string& migrated_url) noexcept;
  // The same server without a schema of its own, for a look from outside.
  [[nodiscard]] std::string url() const;

  void stop();   // immediate, as a crash of the server is
  void start();  // again, on the same data

 private:
  [[nodiscard]] std::string server_name() const;

  TemporaryDirectory directory_;
  std::string binaries_;
  pid_t server_ = -1;
  int schemas_ = 0;
  int databases_ = 0;
};

// Null when PostgreSQL is not installed: tests then skip, saying so.
Postgres* shared_postgres();

}  // namespace turnpike::support
