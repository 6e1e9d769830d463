// SessionPool: a bounded number of open connections. When none is free, a user waits for one up to
// a time limit. A broken connection is replaced when it is next taken, outside the pool's lock. All
// connections that were opened earlier are replaced too, since the same cause, such as a restart of
// the server, has broken them as well. (Poco's own pool throws at once when exhausted, connects
// under its mutex and hands out dead sessions.)
//
// Owned by Database, or by the code that asked for a pool of its own; safe for concurrent use by
// plain Threads and the blocking pool. with() and write() run a function on a session; when that
// proves dead and nothing was written, once more on a fresh one. A write transaction that
// PostgreSQL ends in favour of another one (TransactionLost) is run again, a few times.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "storage/engine/connection.h"
#include "storage/engine/transaction.h"

namespace turnpike::storage {

class SessionPool {
 public:
  using Connect = std::function<std::unique_ptr<Connection>()>;
  // Sessions are opened when first taken. `writer` serializes the writers of this process on
  // SQLite.
  SessionPool(std::uint32_t sessions, std::uint32_t wait_ms, Connect connect, std::mutex& writer);
  // Opens those sessions that are not open yet; throws StoreError. REQUIRES: none is on loan.
  void open();

  struct Session {
    std::unique_ptr<Connection> connection;  // null: opened when the session is next taken
    std::uint64_t age = 0;                   // the pool's age when opening began
  };

  // A session on loan, returned by the destructor.
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
  // Throws StoreError `unavailable` when no session becomes free in time or none can be opened.
  Loan take();

  template <class F>
  auto with(F&& work) {
    bool was_broken = false;
    try {
      Loan loan = take();
      try {
        return work(*loan);
      } catch (const StoreError& error) {
        was_broken = loan->broken() && error.kind() == StoreError::Kind::unavailable;
        throw;
      }
    } catch (const StoreError&) {
      if (!was_broken) throw;
    }
    Loan loan = take();
    return work(*loan);
  }

  // Runs `work` in a write transaction and commits.
  template <class F>
  auto write(F&& work) {
    return with([&](Connection& connection) {
      return until_not_lost([&] {
        Transaction transaction(connection, Transaction::Kind::write, writer_);
        auto result = work(transaction);
        transaction.commit();
        return result;
      });
    });
  }

  // As write(), but a Result with an error rolls the transaction back.
  template <class F>
  auto write_unless_refused(F&& work) {
    return with([&](Connection& connection) {
      return until_not_lost([&] {
        Transaction transaction(connection, Transaction::Kind::write, writer_);
        auto result = work(transaction);
        if (result.ok()) transaction.commit();
        return result;
      });
    });
  }

 private:
  template <class F>
  static auto until_not_lost(F&& work) {
    constexpr int tries_max = 3;
    for (int tries = 1;; ++tries) {
      try {
        return work();
      } catch (const TransactionLost&) {
        if (tries == tries_max) throw;
      }
    }
  }
  void give_back(Session session) noexcept;

  const std::uint32_t wait_ms_;
  const Connect connect_;
  std::mutex& writer_;
  std::mutex mutex_;
  std::condition_variable returned_;
  std::vector<Session> free_;
  std::uint64_t age_ = 0;  // incremented when a session of this age is found broken
};

}  // namespace turnpike::storage
