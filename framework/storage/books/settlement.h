// Writing batches of settlements: the parts that both engines share, and one implementation per
// engine, since their best ways differ much (measured): SQLite binds vectors to prepared statements
// inside a transaction; PostgreSQL gets the whole batch as one script, whose facts follow in the
// binary format of COPY, which takes a third less of its CPU than one JSON parameter.
//
// Each stream owns its session and the chain of its facts, and is used by one committer Thread. The
// chain advances only when a batch is known to have committed: a refused batch is redone without
// the refused entries, and hashed anew. Private to storage/.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ledger/audit/chain.h"
#include "ledger/store.h"
#include "storage/books/charges.h"
#include "storage/books/leases.h"
#include "storage/stores.h"

namespace turnpike::storage {

// Produces the rows of a batch one after the other.
class BatchRows {
 public:
  BatchRows(const ledger::FactChain& from, std::span<const ledger::SettleEntry> entries)
      : chain_(from), entries_(entries) {}

  bool next();  // false: no more rows
  [[nodiscard]] const ledger::FactRow& fact() const noexcept { return row_; }
  [[nodiscard]] std::span<const ledger::FactShare> shares() const noexcept { return shares_; }
  [[nodiscard]] const std::string& hash() const noexcept { return hash_; }
  // The chain after the rows so far; hash() is its head.
  [[nodiscard]] const ledger::FactChain& chain() const noexcept { return chain_; }

 private:
  ledger::FactChain chain_;
  std::span<const ledger::SettleEntry> entries_;  // entries still to be produced
  ledger::FactRow row_;
  std::vector<ledger::FactShare> shares_;
  std::string hash_;
  std::string buffer_;
};

// The stream of batches, common to both engines.
class BatchStream : public ledger::SettlementStream {
 public:
  BatchStream(const Context& context, std::int64_t incarnation, std::int64_t stream)
      : context_(context),
        owner_{incarnation, 1},
        chain_{.stream = stream},
        payable_(stream),
        connection_(context.database.connect()) {}

  ledger::Stored<ledger::SettleAnswer> settle(std::int64_t number,
                                              std::span<const ledger::SettleEntry> entries) final;
  ledger::Stored<bool> committed(std::int64_t number) final;
  ledger::Stored<std::vector<ledger::LeaseAnswer>> acquire(
      std::span<const ledger::LeaseRequest> requests) final;
  ledger::Stored<Unit> give_back(std::span<const ledger::LeaseShare> shares) final;

 protected:
  enum class Written : std::uint8_t {
    committed,
    refused,  // a message is known already, or a claim is lost
    fenced,   // the fence has moved: the leases must be read again
  };
  struct Batch {
    std::int64_t number = 0;
    std::span<const ledger::SettleEntry> entries;
    std::int64_t fence = 0;
    std::string charges;  // "{}": the batch needs no fence
  };
  // Writes the batch in one transaction. On failure nothing is left uncommitted. Throws StoreError.
  virtual Written write(Connection& connection, const Batch& batch, BatchRows& rows) = 0;
  [[nodiscard]] std::mutex& writer() const noexcept { return context_.database.writer(); }
  // True if a batch of unknown outcome has committed; false: it never will. Throws StoreError.
  virtual bool find(Connection& connection, std::int64_t stream, std::int64_t number) = 0;

 private:
  Connection& session();
  void accept();

  const Context& context_;
  const LeaseOwner owner_;
  ledger::FactChain chain_;
  Payable payable_;
  // The chain after the last batch, whose commit may be unknown.
  ledger::FactChain unproven_;
  std::vector<LeaseTotal> totals_;

 protected:
  // Holds statements that are bound to members of the derived class, which is therefore destroyed
  // first.
  std::unique_ptr<Connection> connection_;
};

std::unique_ptr<ledger::SettlementStream> make_sqlite_stream(const Context& context,
                                                             std::int64_t incarnation,
                                                             std::int64_t stream);
std::unique_ptr<ledger::SettlementStream> make_postgres_stream(const Context& context,
                                                               std::int64_t incarnation,
                                                               std::int64_t stream);

}  // namespace turnpike::storage
