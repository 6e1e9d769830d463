#include "storage/session_pool.h"

#include <chrono>

namespace turnpike::storage {

SessionPool::SessionPool(std::uint32_t sessions, std::uint32_t wait_ms, Connect connect)
    : wait_ms_(wait_ms), connect_(std::move(connect)) {
  free_.reserve(sessions);
  for (std::uint32_t made = 0; made < sessions; ++made) free_.push_back(connect_());
}

SessionPool::Loan SessionPool::take() {
  std::unique_ptr<Connection> connection;
  {
    std::unique_lock lock(mutex_);
    if (!returned_.wait_for(lock, std::chrono::milliseconds(wait_ms_),
                            [this] { return !free_.empty(); })) {
      throw StoreError(StoreError::Kind::unavailable, "all sessions to the database are in use");
    }
    connection = std::move(free_.back());
    free_.pop_back();
  }
  if (connection == nullptr || connection->broken()) {
    try {
      connection = connect_();
    } catch (...) {
      give_back(nullptr);
      throw;
    }
  }
  return {*this, std::move(connection)};
}

void SessionPool::give_back(std::unique_ptr<Connection> connection) noexcept {
  if (connection != nullptr && connection->broken()) connection.reset();
  {
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(connection));  // never over the reserved size
  }
  returned_.notify_one();
}

}  // namespace turnpike::storage
