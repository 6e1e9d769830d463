// SessionPool: a bounded number of open connections. Who finds none free waits for one up to a
// time; a broken one is replaced when it is next taken, outside the pool's lock, and with it all
// that were opened before it was found broken: what broke it, such as a restart of the server, will
// have broken those too. (Poco's own pool throws at once when exhausted, connects under its mutex
// and hands out dead sessions.)
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

  struct Session {
    std::unique_ptr<Connection> connection;  // null: to be opened by whoever takes it
    std::uint64_t age = 0;                   // the pool's, when it began to be opened
  };

  // A session on loan; goes back when destroyed.
  class Loan {
   public:
    Loan(SessionPool& pool, Session session) : pool_(pool), session_(std::move(session)) {}
    Loan(const Loan&) = delete;
    Loan& operator=(const Loan&) = delete;
    ~Loan() { pool_.give_back(std::move(session_)); }
    Connection& operator*() noexcept { return *session_.connection; }
    Connection* operator->() noexcept { return session_.connection.get(); }

   private:
    SessionPool& pool_;
    Session session_;
  };
  // Throws StoreError `unavailable` when none becomes free in time or none can be opened.
  Loan take();

 private:
  void give_back(Session session) noexcept;

  const std::uint32_t wait_ms_;
  const Connect connect_;
  std::mutex mutex_;
  std::condition_variable returned_;
  std::vector<Session> free_;
  std::uint64_t age_ = 0;  // grows when a session of this age is found broken
};

}  // namespace turnpike::storage
