// Transaction: the only place that begins transactions, so every transaction is ended. It marks
// itself failed when a statement throws and then refuses to commit (PostgreSQL answers COMMIT of a
// failed transaction without an error, after rolling back). On SQLite a `write` takes the write
// lock at its beginning, since upgrading a read to a write fails at once if another writer
// committed.
//
// Lives on one Thread's stack; rolls back in its destructor unless committed.
#pragma once

#include <initializer_list>
#include <mutex>

#include "storage/engine/connection.h"

namespace turnpike::storage {

// PostgreSQL's wall clock, even in a transaction that began long ago.
inline constexpr Query server_time{
    "SELECT (EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::bigint AS now_ms", "i"};

class Transaction {
 public:
  using Kind = TransactionKind;
  // `writer` serializes the writers of this process on SQLite, whose own lock is polled, not
  // queued.
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
