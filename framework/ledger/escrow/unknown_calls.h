// UnknownCalls: the calls with an unknown settlement whose callers were told so. If the charge of
// such a call would have to be given back, the call is noted on the node's own disk before its
// caller is answered, since the database does not answer then. A process that finds notes at its
// start gives back the charges. By then LedgerStore::start() has taken back the leases of the ended
// process, so that none of its transactions can commit any more.
//
// Notes are not removed one by one, since giving back a charge twice, or a charge that does not
// exist, changes nothing; all notes are dropped when no call is left. The pool writes and drops
// them, one task at a time; one write covers all notes that wait.
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

// An open call, and its age; for calls noted by an earlier process, the time since the start.
struct OpenCall {
  UnknownCall call;
  std::int64_t age_ms = 0;
};

class UnknownCalls {
 public:
  UnknownCalls(runtime::BlockingPool& pool, base::Log& log);

  // Call once, first. Opens the calls that an earlier process noted, and returns them.
  [[nodiscard]] Stored<std::vector<UnknownCall>> start(std::unique_ptr<UnknownNotes> notes);

  void open(const UnknownCall& call);
  // Notes an open call. Durable on return, unless the disk fails or takes too long; in the latter
  // case the note is written nevertheless, once the disk responds.
  void note(const UnknownCall& call);
  void close(std::string_view message_id);  // no effect on a call that is not open
  [[nodiscard]] bool is_open(std::string_view account_id, std::string_view message_id) const;
  // Open calls, oldest first, at most `most`.
  [[nodiscard]] std::vector<OpenCall> list(std::size_t most) const;

 private:
  struct Page;  // notes that are written together
  struct Book;
  class Writing;
  void write_or_drop();

  runtime::BlockingPool& pool_;
  base::Log& log_;
  const runtime::PoolUser user_;
  const std::shared_ptr<Book> book_;  // the pool's tasks share it
};

}  // namespace turnpike::ledger
