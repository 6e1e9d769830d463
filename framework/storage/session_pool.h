// SessionPool: a bounded number of open connections. Who finds none free waits for one up to a
// time; a broken one is replaced when it is next taken, outside the pool's lock. (Poco's own pool
// throws at once when exhausted, connects under its mutex and hands out dead sessions.)
//
// Owned by Database; safe for concurrent use by plain Threads and the blocking pool.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "storage/connection.h"

namespace turnpike::storage {

class SessionPool {
 public:
  using Connect = std::function<std::unique_ptr<Connection>()>;
  // Opens all sessions at once; throws StoreError.
  SessionPool(std::uint32_t sessions, std::uint32_t wait_ms, Connect connect);

  // A session on loan; goes back when destroyed.
  class Loan {
   public:
    Loan(SessionPool& pool, std::unique_ptr<Connection> connection)
        : pool_(pool), connection_(std::move(connection)) {}
    Loan(const Loan&) = delete;
    Loan& operator=(const Loan&) = delete;
    ~Loan() { pool_.give_back(std::move(connection_)); }
    Connection& operator*() noexcept { return *connection_; }
    Connection* operator->() noexcept { return connection_.get(); }

   private:
    SessionPool& pool_;
    std::unique_ptr<Connection> connection_;
  };
  // Throws StoreError `unavailable` when none becomes free in time or none can be opened.
  Loan take();

 private:
  void give_back(std::unique_ptr<Connection> connection) noexcept;

  const std::uint32_t wait_ms_;
  const Connect connect_;
  std::mutex mutex_;
  std::condition_variable returned_;
  std::vector<std::unique_ptr<Connection>> free_;  // null: to be opened by whoever takes it
};

}  // namespace turnpike::storage
