// Imports a file of one format into the store, in one write transaction, which is rolled back if
// more than a fifth of the records are bad. It records the run and reports every rejected record
// with its position. Importing the same file again changes no records. All arguments are owned by
// the caller; one Thread. Errors of the input and the store are returned in the summary; nothing is
// thrown.
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

// A block with its time, and the average time between the blocks after it.
struct BlockPace {
  std::int64_t block = 0;
  std::int64_t time_ms = 0;
  std::int64_t ms_per_block = 0;
};

struct ImportOptions {
  Format format = Format::snapshot_graphql;
  DaoRecord dao;            // an empty id is derived from the Snapshot space
  std::string provider;     // default: by format
  std::string scope;        // default: from the records
  std::string base_url;     // discourse: the forum; others: the site of the proposals
  std::string proposal_id;  // snapshot: the proposal of votes that do not name one
  std::string event;        // governor: the event of a CSV whose columns do not determine it
  std::string clock_mode;   // governor: blocknumber or timestamp; default: by size of the values
  std::string blocks_path;  // governor: CSV of block_number,timestamp
  std::string input_name;
  std::int64_t chain_id = 1;
  std::int64_t stale_after_s = 3600;
  std::int64_t now_ms = 0;
  std::optional<std::int64_t> as_of_ms;  // default: now
  std::int64_t time_shift_ms = 0;        // added to every time that is read
  // Ignore records about proposals that are not in the store instead of rejecting them: polling may
  // begin after the creation of a proposal.
  bool ignores_unknown_proposals = false;
  // governor: for estimates of the times of later blocks. Without it, these times are unknown.
  std::optional<BlockPace> pace;
  bool dry_run = false;
  bool keep_raw = false;
};

struct ImportSummary {
  std::string status;  // ok, partial, failed
  std::string error;
  std::int64_t rows_in = 0, rows_new = 0, rows_changed = 0, rows_same = 0;
  std::int64_t rows_ignored = 0;  // repeats within the file, and events that have no effect here
  std::int64_t rows_rejected = 0;
  std::int64_t revision = 0;
};

using OnRejected = std::function<void(const std::string& position, const std::string& reason)>;

ImportSummary run_import(Database& database, Input& input, const ImportOptions& options,
                         const OnRejected& on_rejected);

}  // namespace turnpike::govdata
