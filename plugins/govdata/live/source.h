// Source: a polled source as a state machine that makes its next request with each step(). Its
// durable state is the cursor in the source's row, so a new process continues where the last one
// committed. Owned by the Poller; used by one Thread at a time; throws SqliteError.
#pragma once

#include <memory>

#include "govdata/live/page.h"
#include "govdata/live/remote.h"

namespace turnpike::govdata {

struct StepContext {
  Database& database;
  Host& host;
  Call& call;
  std::int64_t source_id = 0;
  std::int64_t now_ms = 0;
};

// Writes the page and its cursor, counts its records and returns a step of kind `next`. Returns a
// failed step if the page was refused.
Step commit_page(StepContext& context, const SourceSettings& source, const Page& page,
                 StepKind next);

class Source {
 public:
  virtual ~Source() = default;
  // Makes the next request of the round and writes its result to the store. A cancelled call ends
  // the step early; nothing is written in part.
  virtual Step step(StepContext& context) = 0;
};

std::unique_ptr<Source> make_snapshot_source(const SourceSettings& settings);
std::unique_ptr<Source> make_discourse_source(const SourceSettings& settings);
std::unique_ptr<Source> make_governor_source(const SourceSettings& settings);

}  // namespace turnpike::govdata
