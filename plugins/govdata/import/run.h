// Run: the state that the readers of the formats share during one import: the writer, the counters
// and the sources so far. Also the functions for reading fields and refusing records. Private to
// the importer and the poller; one Thread.
#pragma once

#include <map>
#include <string>

#include "govdata/import/import.h"
#include "govdata/import/json_records.h"
#include "govdata/store/writer.h"

namespace turnpike::govdata {

inline constexpr std::size_t body_bytes_max = 1 << 20;

// Thrown if one record cannot be imported. Run::record() catches and counts it, and the import goes
// on.
class BadRecord : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class Run {
 public:
  Run(Writer& writer, const ImportOptions& options, const OnRejected& on_rejected)
      : writer_(writer), options_(options), on_rejected_(on_rejected) {}

  [[nodiscard]] Writer& writer() { return writer_; }
  [[nodiscard]] const ImportOptions& options() const { return options_; }
  [[nodiscard]] ImportSummary& summary() { return summary_; }
  [[nodiscard]] const std::map<std::string, SourceKey>& sources() const { return keys_; }

  void reject(const std::string& position, const std::string& reason);
  void count(Written written);
  void ignore() { ++summary_.rows_ignored; }
  // For a record about a proposal that is not in the store: throws BadRecord, or ignores the record
  // (ImportOptions::ignores_unknown_proposals).
  void unknown_proposal(const std::string& proposal_id);
  // False if this run was given the key before.
  bool first_time(const std::string& key);

  // The DAO of a scope: the one in the options, otherwise one derived from the scope.
  [[nodiscard]] std::string dao_for(const std::string& scope) const;
  std::int64_t source(const SourceKey& key);

  [[nodiscard]] std::int64_t shifted(std::int64_t time_ms) const {
    return time_ms + options_.time_shift_ms;
  }

  // Runs `take` and turns a BadRecord into a rejection.
  template <class Take>
  void record(const std::string& position, Take take) {
    ++summary_.rows_in;
    try {
      take();
    } catch (const BadRecord& bad) {
      reject(position, bad.what());
    }
  }

 private:
  Writer& writer_;
  const ImportOptions& options_;
  const OnRejected& on_rejected_;
  ImportSummary summary_;
  std::map<std::string, std::int64_t> source_ids_;
  std::map<std::string, SourceKey> keys_;
};

// Readers of a record's fields. They throw a BadRecord that names the field.
MaybeText text_field(const JsonValue& record, std::string_view name, std::size_t bytes_max = 4096);
std::string required_text(const JsonValue& record, std::string_view name,
                          std::size_t bytes_max = 512);
MaybeInteger integer_field(const JsonValue& record, std::string_view name);
MaybeText decimal_field(const JsonValue& record, std::string_view name);
std::optional<bool> flag_field(const JsonValue& record, std::string_view name);
// Reads Unix seconds; the result is shifted (Run::shifted).
MaybeTime seconds_field(const Run& run, const JsonValue& record, std::string_view name);
// Reads ISO 8601; the result is shifted.
MaybeTime iso_field(const Run& run, const JsonValue& record, std::string_view name);

// The text of the first of these fields that is a non-empty string or a number; empty if none is.
MaybeText any_text(const JsonValue& record, std::initializer_list<std::string_view> names,
                   std::size_t bytes_max = 4096);
// Calls `take` for each record of JSON, NDJSON or CSV input; the first byte decides the format.
// Columns of CSV become fields, and empty cells null. Counts the records and turns a BadRecord into
// a rejection.
void each_record(Run& run, Input& input, const JsonShape& shape,
                 const std::function<void(const JsonRecord&)>& take);
// Writes a vote for a proposal of `source_id` and counts it. Repeats within the run are ignored.
void put_ballot(Run& run, std::int64_t source_id, const std::string& proposal_id,
                const VoteRecord& vote);

void import_snapshot_csv(Run& run, Input& input);
void import_aave(Run& run, Input& input);
void import_decentraland(Run& run, Input& input);
void import_opengov(Run& run, Input& input);
void import_daoip2(Run& run, Input& input);
void import_tally(Run& run, Input& input);
void import_snapshot(Run& run, Input& input);
void import_governor(Run& run, Input& input);
void import_discourse(Run& run, Input& input);
void import_block_times(Run& run, Input& input);

// Sets the voting times of a Governor's proposal again, from the block times that are known now.
// False if the proposal is not in the store.
bool refresh_governor_times(Run& run, std::int64_t source_id, const std::string& proposal_id);

}  // namespace turnpike::govdata
