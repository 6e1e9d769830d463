// The rows of what is polled: the source's own row (cursor, as_of, what went wrong), and the pages
// that come in. A page and the cursor that it leads to are one transaction, so a process that dies
// at any moment neither loses nor repeats one. The mapping and the writer are those of the
// importer. A Database belongs to one Thread; functions throw SqliteError only where they say so.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "govdata/import/run.h"
#include "govdata/live/settings.h"

namespace turnpike::govdata {

// Makes the rows of DAO and source when they are missing; the source's id. Throws SqliteError, also
// when the source belongs to another DAO.
std::int64_t open_source(Database& database, const SourceSettings& source, std::int64_t now_ms);

// The cursor as it was committed last; empty: none. Throws SqliteError.
std::string read_cursor(Database& database, std::int64_t source_id);

// Notes why a poll brought nothing. Throws SqliteError.
void note_failure(Database& database, std::int64_t source_id, const std::string& problem,
                  std::int64_t now_ms);

struct Page {
  std::string label;   // of the import run: "proposals from 1700000000"
  std::string before;  // the cursor that it was asked for with
  std::string after;   // the cursor that it leads to
  // Set when the round is over: up to when the source's data is complete now.
  std::optional<std::int64_t> complete_to_ms;
  // Up to when the source was read with this page, where that is not now: votes that ended by then
  // are over.
  std::optional<std::int64_t> as_of_ms;
  std::optional<BlockPace> pace;
  std::function<void(Run&)> read;  // may throw BadRecord and ImportError; empty: nothing to read
  // Runs last; may change `after`, given the newest run's id.
  std::function<void(std::int64_t run_id, std::string& after)> finish_cursor;
};

struct Applied {
  std::string problem;  // empty: it is committed
  std::int64_t records = 0, changed = 0;
};

Applied apply_page(Database& database, std::int64_t source_id, const SourceSettings& source,
                   const Page& page, std::int64_t now_ms);

}  // namespace turnpike::govdata
