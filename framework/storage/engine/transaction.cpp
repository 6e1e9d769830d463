#include "storage/engine/transaction.h"

namespace turnpike::storage {

Transaction::Transaction(Connection& connection, Kind kind, std::mutex& writer)
    : connection_(connection) {
  if (connection.engine() == Engine::sqlite && kind == Kind::write) {
    writer_ = std::unique_lock(writer);
  }
  connection.begin(kind);
}

Transaction::~Transaction() {
  if (ended_) return;
  try {
    connection_.roll_back();
  } catch (const StoreError&) {
    // The session is lost, and the transaction with it.
  }
}

template <class F>
auto Transaction::watch(F&& work) {
  if (failed_ || ended_) {
    throw StoreError(StoreError::Kind::unavailable, "the transaction has failed already");
  }
  try {
    return work();
  } catch (...) {
    failed_ = true;
    throw;
  }
}

Rows Transaction::run(const Query& query, std::initializer_list<Value> values) {
  return watch([&] { return connection_.run(query, values); });
}

std::size_t Transaction::run_bulk(const Query& query, Bulk& bulk) {
  return watch([&] { return connection_.run_bulk(query, bulk); });
}

void Transaction::run_once(const std::string& sql) {
  watch([&] { connection_.run_once(sql); });
}

void Transaction::commit() {
  watch([&] {
    try {
      connection_.commit();
      ended_ = true;
    } catch (const StoreError& error) {
      if (connection_.engine() == Engine::postgres) {
        ended_ = connection_.broken();
        throw StoreError(
            connection_.broken() ? StoreError::Kind::unknown : StoreError::Kind::unavailable,
            error.what());
      }
      throw;  // SQLite: fatal for I/O errors; if the file is busy or full the transaction stays
    }
  });
}

}  // namespace turnpike::storage
