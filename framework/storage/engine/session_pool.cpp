#include "storage/engine/session_pool.h"

#include <chrono>

namespace turnpike::storage {

SessionPool::SessionPool(std::uint32_t sessions, std::uint32_t wait_ms, Connect connect,
                         std::mutex& writer)
    : wait_ms_(wait_ms), connect_(std::move(connect)), writer_(writer), free_(sessions) {}

void SessionPool::open() {
  for (Session& session : free_) {
    if (session.connection == nullptr) session.connection = connect_();
  }
}

SessionPool::Loan SessionPool::take() {
  Session session;
  bool is_old = false;
  {
    std::unique_lock lock(mutex_);
    if (!returned_.wait_for(lock, std::chrono::milliseconds(wait_ms_),
                            [this] { return !free_.empty(); })) {
      throw StoreError(StoreError::Kind::unavailable, "all sessions to the database are in use");
    }
    session = std::move(free_.back());
    free_.pop_back();
    is_old = session.age < age_;
    session.age = age_;
  }
  if (is_old || session.connection == nullptr) {
    try {
      session.connection.reset();
      session.connection = connect_();
    } catch (...) {
      give_back(std::move(session));
      throw;
    }
  }
  return {*this, std::move(session)};
}

void SessionPool::give_back(Session session) noexcept {
  const bool is_broken = session.connection != nullptr && session.connection->broken();
  if (is_broken) session.connection.reset();
  {
    const std::lock_guard lock(mutex_);
    if (is_broken && session.age == age_) ++age_;
    free_.push_back(std::move(session));  // within the reserved size
  }
  returned_.notify_one();
}

}  // namespace turnpike::storage
