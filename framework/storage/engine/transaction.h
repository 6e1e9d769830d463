// Transaction: the only place that begins one, so every one that is begun is ended. It marks itself
// failed when a statement throws and then refuses to commit (PostgreSQL would answer COMMIT of a
// failed transaction without an error, having rolled back). On SQLite a `write` takes the write
// lock at its beginning, since a read that turns into a write fails at once when another wrote.
//
// Lives on one Thread's stack; rolls back in its destructor unless committed.
#pragma once

#include <initializer_list>
#include <mutex>

#include "storage/engine/connection.h"

namespace turnpike::storage {

// PostgreSQL's wall time, also in a transaction that began long ago.
inline constexpr Query server_time{
    "SELECT (EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::bigint AS now_ms", "i"};

class Transaction {
 public:
  using Kind = TransactionKind;
  // `writer` orders the writers of this process on SQLite, whose own lock is polled, not queued.
  Transaction(Connection& connection, Kind kind, std::mutex& writer);
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;

  Rows run(const Query& query, std::initializer_list<Value> values = {});
  std::size_t run_bulk(const Query& query, Bulk& bulk);
  void run_once(const std::string& sql);

  // Throws StoreError: `unknown` when the answer was lost, `unavailable` when nothing was written.
  void commit();

 private:
  template <class F>
  auto watch(F&& work);

  Connection& connection_;
  std::unique_lock<std::mutex> writer_;
  bool failed_ = false;
  bool ended_ = false;
};

}  // namespace turnpike::storage
