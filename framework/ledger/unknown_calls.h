// UnknownCalls: the calls whose callers were told that their settlement is unknown, as long as it
// is. Those whose charge is then to be given back are noted before they are told so, on the node's
// own disk, since it is the database that does not answer: a process that finds notes gives back
// what it finds charged. LedgerStore::start() has taken back the leases of the dead by then, so
// that nothing of theirs commits any more.
//
// Notes are not taken back one by one, since to give back what was not charged, or for the second
// time, changes nothing; all are dropped when no call is left. The pool writes and drops them, one
// work at a time, and all that wait in one write.
//
// Owned by Committer; safe for concurrent use from fibers and plain Threads. Only note() waits.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "ledger/store.h"
#include "runtime/pool.h"

namespace turnpike::ledger {

class UnknownCalls {
 public:
  UnknownCalls(runtime::BlockingPool& pool, base::Log& log);

  // Once, before the rest. Opens what the dead have noted and returns it.
  [[nodiscard]] Stored<std::vector<UnknownCall>> start(std::unique_ptr<UnknownNotes> notes);

  void open(const UnknownCall& call);
  // Of an open call. Durable when it returns, unless the disk fails or takes too long; in the
  // latter case it is written nevertheless, once the disk can.
  void note(const UnknownCall& call);
  void close(std::string_view message_id);  // no effect on one that is not open
  [[nodiscard]] bool is_open(std::string_view account_id, std::string_view message_id) const;

 private:
  struct Page;  // of notes, written together
  struct Book;
  class Writing;
  void write_or_drop();

  runtime::BlockingPool& pool_;
  base::Log& log_;
  const runtime::PoolUser user_;
  const std::shared_ptr<Book> book_;  // the pool's works hold it too
};

}  // namespace turnpike::ledger
