// Writing batches of settlements: what both engines share, and the two ways to write one (the
// differences are large here, and measured): SQLite binds vectors to kept statements inside a
// transaction; PostgreSQL gets the whole batch as one script, whose facts follow it in the binary
// format of COPY: a third less of its CPU than one JSON parameter takes.
//
// Each stream owns its session and the chain of its facts, and is used by one committer Thread. The
// chain is moved on only when a batch is known to have committed: one that is refused is redone
// without what refused it, and hashed anew. Private to storage/.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ledger/chain.h"
#include "ledger/store.h"
#include "storage/books/charges.h"
#include "storage/books/leases.h"
#include "storage/stores.h"

namespace turnpike::storage {

// The rows that a batch becomes, one after the other.
class BatchRows {
 public:
  BatchRows(const ledger::FactChain& from, std::span<const ledger::SettleEntry> entries)
      : chain_(from), entries_(entries) {}

  bool next();  // false: there are no more
  [[nodiscard]] const ledger::FactRow& fact() const noexcept { return row_; }
  [[nodiscard]] std::span<const ledger::FactShare> shares() const noexcept { return shares_; }
  [[nodiscard]] const std::string& hash() const noexcept { return hash_; }
  // Where the stream stands after the rows so far; hash() is then its head.
  [[nodiscard]] const ledger::FactChain& chain() const noexcept { return chain_; }

 private:
  ledger::FactChain chain_;
  std::span<const ledger::SettleEntry> entries_;  // those still to come
  ledger::FactRow row_;
  std::vector<ledger::FactShare> shares_;
  std::string hash_;
  std::string buffer_;
};

// The stream of batches, the same on both engines.
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
    refused,  // a message was known, or a claim is lost
    fenced,   // the leases must be looked at again
  };
  struct Batch {
    std::int64_t number = 0;
    std::span<const ledger::SettleEntry> entries;
    std::int64_t fence = 0;
    std::string charges;  // "{}": it needs no fence
  };
  // Writes in one transaction: nothing uncommitted stays. Throws StoreError.
  virtual Written write(Connection& connection, const Batch& batch, BatchRows& rows) = 0;
  [[nodiscard]] std::mutex& writer() const noexcept { return context_.database.writer(); }
  // Whether an unknown batch has committed; it never will if it had not. Throws StoreError.
  virtual bool find(Connection& connection, std::int64_t stream, std::int64_t number) = 0;

 private:
  Connection& session();
  void accept();

  const Context& context_;
  const LeaseOwner owner_;
  ledger::FactChain chain_;
  Payable payable_;
  // The chain of the last batch, whose commit may be unknown.
  ledger::FactChain unproven_;
  std::vector<LeaseTotal> totals_;

 protected:
  // Keeps statements that are bound to members of the derived class, which ends it first.
  std::unique_ptr<Connection> connection_;
};

std::unique_ptr<ledger::SettlementStream> make_sqlite_stream(const Context& context,
                                                             std::int64_t incarnation,
                                                             std::int64_t stream);
std::unique_ptr<ledger::SettlementStream> make_postgres_stream(const Context& context,
                                                               std::int64_t incarnation,
                                                               std::int64_t stream);

}  // namespace turnpike::storage
