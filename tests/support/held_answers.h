// HeldAnswers: while one exists, commits on shared_postgres() become durable but their answers wait
// for a standby that does not exist. This lets a test end a session between the two.
//
// Owned by a test, one at a time. Any Thread, one call at a time; other Threads may meanwhile wait
// for their commits.
#pragma once

#include <memory>

#include "storage/engine/connection.h"
#include "storage/engine/database.h"

namespace turnpike::support {

class HeldAnswers {
 public:
  // Returns once commits actually wait. Creates a table `probe` in the schema of the settings.
  explicit HeldAnswers(const storage::Settings& settings);
  ~HeldAnswers();
  HeldAnswers(const HeldAnswers&) = delete;
  HeldAnswers& operator=(const HeldAnswers&) = delete;

  void wait_for_commit();  // returns when a commit waits
  void end_waiting();      // ends the sessions whose commits wait
  void end_others();       // ends every session but its own

 private:
  void end(const char* which);
  void name_standby(const char* name);

  storage::Database database_;
  std::unique_ptr<storage::Connection> outside_;
};

}  // namespace turnpike::support
