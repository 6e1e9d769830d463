// Source: one place that is polled, as a machine that does its next request when it is told to. All
// it must remember stands in the cursor of its row, so that a new process goes on where the last
// one committed. Owned by the Poller; used by one Thread at a time; throws SqliteError.
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

// Writes the page and its cursor, and counts its records; `next` is what follows. A page that is
// not of its form is a failed step.
Step commit_page(StepContext& context, const SourceSettings& source, const Page& page,
                 StepKind next);

class Source {
 public:
  virtual ~Source() = default;
  // The next request of the round, and what it told into the store. A call that is cancelled
  // ends it early; nothing is half written.
  virtual Step step(StepContext& context) = 0;
};

std::unique_ptr<Source> make_snapshot_source(const SourceSettings& settings);
std::unique_ptr<Source> make_discourse_source(const SourceSettings& settings);
std::unique_ptr<Source> make_governor_source(const SourceSettings& settings);

}  // namespace turnpike::govdata
