// One import: a file of one format into the store, in one write transaction that is rolled back
// when more than a fifth of its records are bad. Records a run, reports every rejected record with
// its position, and does nothing the second time. Owned by the caller; one Thread. Errors of the
// input and of the store come back in the summary, nothing is thrown.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "govdata/import/input.h"
#include "govdata/store/records.h"
#include "govdata/store/sqlite.h"

namespace turnpike::govdata {

enum class Format {
  snapshot_graphql,
  snapshot_csv,
  governor_logs,
  discourse,
  aave_v3,
  decentraland,
  opengov_csv,
  daoip2,
  tally
};
// The names of all formats, for messages.
std::string format_names();

std::optional<Format> format_of(std::string_view name);
std::string_view name_of(Format format);

// A block whose time is known, and how fast blocks follow it.
struct BlockPace {
  std::int64_t block = 0;
  std::int64_t time_ms = 0;
  std::int64_t ms_per_block = 0;
};

struct ImportOptions {
  Format format = Format::snapshot_graphql;
  DaoRecord dao;            // an empty id is minted from the Snapshot space
  std::string provider;     // default: by format
  std::string scope;        // default: told by the records
  std::string base_url;     // discourse: the forum; others: where proposals are read
  std::string proposal_id;  // snapshot: of votes that do not name theirs
  std::string event;        // governor: of a CSV whose columns do not tell
  std::string clock_mode;   // governor: blocknumber or timestamp; default: by size
  std::string blocks_path;  // governor: CSV of block_number,timestamp
  std::string input_name;
  std::int64_t chain_id = 1;
  std::int64_t stale_after_s = 3600;
  std::int64_t now_ms = 0;
  std::optional<std::int64_t> as_of_ms;  // default: now
  std::int64_t time_shift_ms = 0;        // added to every time that is read
  // Records about a proposal that is not in the store are ignored, not rejected: what is polled
  // may begin later than its proposals.
  bool ignores_unknown_proposals = false;
  // governor: what lies after this block is estimated from it; without it nothing is known of it.
  std::optional<BlockPace> pace;
  bool dry_run = false;
  bool keep_raw = false;
};

struct ImportSummary {
  std::string status;  // ok, partial, failed
  std::string error;
  std::int64_t rows_in = 0, rows_new = 0, rows_changed = 0, rows_same = 0;
  std::int64_t rows_ignored = 0;  // repeats within the file; events that say nothing here
  std::int64_t rows_rejected = 0;
  std::int64_t revision = 0;
};

using OnRejected = std::function<void(const std::string& position, const std::string& reason)>;

ImportSummary run_import(Database& database, Input& input, const ImportOptions& options,
                         const OnRejected& on_rejected);

}  // namespace turnpike::govdata
