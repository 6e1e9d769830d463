#include "storage/engine/checkpointer.h"

#include <chrono>

#include "base/thread_name.h"

namespace turnpike::storage {
namespace {

constexpr int log_pages = 16'384;  // 64 MiB
constexpr std::chrono::milliseconds pause{250};
constexpr Query copy{"PRAGMA wal_checkpoint(PASSIVE)", "iii"};

}  // namespace

std::string Checkpointer::prelude() {
  return "PRAGMA wal_autocheckpoint = " + std::to_string(log_pages);
}

Checkpointer::Checkpointer(const Database& database)
    : connection_(database.connect()), thread_([this] { run(); }) {}

Checkpointer::~Checkpointer() {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  stop_wanted_.notify_all();
  thread_.join();
}

void Checkpointer::run() {
  base::name_this_thread("checkpointer");
  std::unique_lock lock(mutex_);
  while (!stop_wanted_.wait_for(lock, pause, [this] { return is_stopping_; })) {
    lock.unlock();
    try {
      connection_->run(copy);
    } catch (const StoreError&) {
      // A failed copy loses nothing: the data stays in the log.
    }
    lock.lock();
  }
}

}  // namespace turnpike::storage
