// Checkpointer: copies SQLite's write-ahead log into the database file (sqlite.org/wal.html), so
// that commits rarely have to. By default SQLite copies all pages whenever about a thousand were
// written, and waits for the disk twice more, inside a settlement that callers wait for.
//
// The log restarts only when a commit finds all of it copied, which a Thread beside the writer
// never achieves under load. Commits therefore still copy, but only little, when the log has grown
// to 64 MiB. They also make up for a failed copy.
//
// One Thread with a session of its own; owned by a gateway's Node. The Database must outlive it.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "storage/engine/database.h"

namespace turnpike::storage {

class Checkpointer {
 public:
  // SQL to run on every session of a database that has a Checkpointer.
  static std::string prelude();

  explicit Checkpointer(const Database& database);  // throws StoreError
  ~Checkpointer();
  Checkpointer(const Checkpointer&) = delete;
  Checkpointer& operator=(const Checkpointer&) = delete;

 private:
  void run();

  const std::unique_ptr<Connection> connection_;
  std::mutex mutex_;
  std::condition_variable stop_wanted_;
  bool is_stopping_ = false;
  std::thread thread_;
};

}  // namespace turnpike::storage
