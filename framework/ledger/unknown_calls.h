// UnknownCalls: the calls whose settlement is unknown and whose callers were told so. If the charge
// of such a call must be given back, should it turn out to be charged, the call is noted on the
// node's own disk before its caller is told: the database does not answer then. A process that
// finds notes at its start gives back what was charged. By then LedgerStore::start() has taken back
// the leases of the ended process, so that none of its transactions can commit any more.
//
// Notes are not removed one by one, since giving back a charge twice, or one that does not exist,
// changes nothing; all notes are dropped when no call is left. The pool writes and drops them, one
// task at a time; one write covers all notes that wait.
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

// An open call, and for how long it has been one; of those that the dead noted, since the start.
struct OpenCall {
  UnknownCall call;
  std::int64_t age_ms = 0;
};

class UnknownCalls {
 public:
  UnknownCalls(runtime::BlockingPool& pool, base::Log& log);

  // Once, before the rest. Opens what the dead have noted and returns it.
  [[nodiscard]] Stored<std::vector<UnknownCall>> start(std::unique_ptr<UnknownNotes> notes);

  void open(const UnknownCall& call);
  // Notes an open call. It is durable on return, unless the disk fails or takes too long; in the
  // latter case it is written nevertheless, once the disk can.
  void note(const UnknownCall& call);
  void close(std::string_view message_id);  // no effect on one that is not open
  [[nodiscard]] bool is_open(std::string_view account_id, std::string_view message_id) const;
  // Those that are open, oldest first, at most `most`.
  [[nodiscard]] std::vector<OpenCall> list(std::size_t most) const;

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
