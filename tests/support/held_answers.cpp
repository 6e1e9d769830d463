#include "support/held_answers.h"

#include <string>
#include <thread>

namespace turnpike::support {

using storage::Connection;

HeldAnswers::HeldAnswers(const storage::Settings& settings)
    : database_(settings), outside_(database_.connect()) {
  outside_->run_once("CREATE TABLE IF NOT EXISTS probe (n BIGINT)");
  name_standby("nobody");
  // The server applies the new name some time later: commit until a commit waits, then end that
  // session.
  std::thread probe([this] {
    const auto session = database_.connect();
    try {
      while (true) session->run_once("INSERT INTO probe VALUES (1)");
    } catch (const storage::StoreError&) {
      // end_waiting() ended the session while its commit waited.
    }
  });
  wait_for_commit();
  end_waiting();
  probe.join();
}

HeldAnswers::~HeldAnswers() { name_standby(""); }

void HeldAnswers::wait_for_commit() {
  while (outside_->query_once(
             "SELECT COUNT(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'", "i")
             .number(0, 0) == 0) {
    std::this_thread::yield();
  }
}

void HeldAnswers::end_waiting() { end("wait_event = 'SyncRep'"); }

void HeldAnswers::end_others() {
  end("backend_type = 'client backend' AND pid <> pg_backend_pid()");
}

void HeldAnswers::end(const char* which) {
  (void)outside_->query_once("SELECT COUNT(pg_terminate_backend(pid))::text FROM pg_stat_activity"
                             " WHERE " + std::string(which),
                             "t");
}

void HeldAnswers::name_standby(const char* name) {
  outside_->run_once("ALTER SYSTEM SET synchronous_standby_names = '" + std::string(name) + "'");
  (void)outside_->query_once("SELECT pg_reload_conf()::text", "t");
}

}  // namespace turnpike::support
