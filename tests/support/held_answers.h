// HeldAnswers: while it lives, commits on shared_postgres() are durable, and their answers wait
// for a standby that is not there. So a test can end a session between the two.
//
// Owned by a test, one at a time. Thread: any, one after another; commits may wait on others.
#pragma once

#include <memory>

#include "storage/engine/connection.h"
#include "storage/engine/database.h"

namespace turnpike::support {

class HeldAnswers {
 public:
  // Returns when commits do wait. The schema of the settings gets a table `probe`.
  explicit HeldAnswers(const storage::Settings& settings);
  ~HeldAnswers();
  HeldAnswers(const HeldAnswers&) = delete;
  HeldAnswers& operator=(const HeldAnswers&) = delete;

  void wait_for_commit();  // until one waits
  void end_waiting();      // ends the sessions whose commits wait
  void end_others();       // ends every session but its own

 private:
  void end(const char* which);
  void name_standby(const char* name);

  storage::Database database_;
  std::unique_ptr<storage::Connection> outside_;
};

}  // namespace turnpike::support
