// The rows of polled sources: the source's own row (cursor, as_of, last error), and the pages that
// are read. A page and the cursor after it are written in one transaction, so a process that dies
// at any moment neither loses nor repeats a page. The mapping and the writer are those of the
// importer. A Database belongs to one Thread. Functions throw SqliteError only where they say so.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "govdata/import/run.h"
#include "govdata/live/settings.h"

namespace turnpike::govdata {

// Creates the rows of the DAO and the source if they are missing, and returns the source's id.
// Throws SqliteError, also if the source belongs to another DAO.
std::int64_t open_source(Database& database, const SourceSettings& source, std::int64_t now_ms);

// The cursor that was committed last; empty if there is none. Throws SqliteError.
std::string read_cursor(Database& database, std::int64_t source_id);

// Records why a poll failed. Throws SqliteError.
void note_failure(Database& database, std::int64_t source_id, const std::string& problem,
                  std::int64_t now_ms);

struct Page {
  std::string label;   // of the import run: "proposals from 1700000000"
  std::string before;  // the cursor with which it was requested
  std::string after;   // the cursor after it
  // Set at the end of a round: the source's data is complete up to this time.
  std::optional<std::int64_t> complete_to_ms;
  // The page reads the source up to this time, if that is not now: votes that ended by then are
  // over.
  std::optional<std::int64_t> as_of_ms;
  std::optional<BlockPace> pace;
  std::function<void(Run&)> read;  // may throw BadRecord and ImportError; empty: nothing to read
  // Runs last, with the newest run's id, and may change `after`.
  std::function<void(std::int64_t run_id, std::string& after)> finish_cursor;
};

struct Applied {
  std::string problem;  // empty: the page is committed
  std::int64_t records = 0, changed = 0;
};

Applied apply_page(Database& database, std::int64_t source_id, const SourceSettings& source,
                   const Page& page, std::int64_t now_ms);

}  // namespace turnpike::govdata
