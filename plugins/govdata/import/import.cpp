#include "govdata/import/import.h"

#include <algorithm>
#include <charconv>

#include "govdata/import/run.h"
#include "govdata/store/decimal.h"
#include "govdata/store/text.h"
#include "govdata/store/timestamp.h"

namespace turnpike::govdata {
namespace {

struct FormatEntry {
  Format format;
  std::string_view name;
  void (*read)(Run& run, Input& input);
};
constexpr FormatEntry format_table[] = {
    {Format::snapshot_graphql, "snapshot-graphql", import_snapshot},
    {Format::snapshot_csv, "snapshot-csv", import_snapshot_csv},
    {Format::governor_logs, "governor-logs", import_governor},
    {Format::discourse, "discourse", import_discourse},
    {Format::aave_v3, "aave-v3", import_aave},
    {Format::decentraland, "decentraland", import_decentraland},
    {Format::opengov_csv, "opengov-csv", import_opengov},
    {Format::daoip2, "daoip2", import_daoip2},
    {Format::tally, "tally", import_tally},
};

constexpr std::int64_t interrupted_after_ms = ms_per_hour;
// An import fails if more than a fifth of its records are rejected. With fewer than five records, a
// single bad one is enough.
constexpr std::int64_t rejected_denominator = 5;

std::int64_t begin_run(Database& database, const ImportOptions& options) {
  Transaction transaction(database, Transaction::Kind::write);
  database
      .prepare(
          "UPDATE import_run SET status='failed', finished_at=?1, error='interrupted'"
          " WHERE status='running' AND started_at < ?2")
      .with(options.now_ms, options.now_ms - interrupted_after_ms)
      .run();
  database
      .prepare(
          "INSERT INTO import_run(importer, input_name, started_at, status)"
          " VALUES (?1,?2,?3,'running')")
      .with(name_of(options.format), options.input_name, options.now_ms)
      .run();
  const std::int64_t id = database.last_row_id();
  transaction.commit();
  return id;
}

void end_run(Database& database, std::int64_t run_id, const ImportOptions& options,
             const ImportSummary& summary, const std::string& sha256,
             const std::map<std::string, SourceKey>& sources) {
  // Callers can read the store, so it gets only a general description. The operator sees the full
  // text of the error.
  const std::string problem = summary.status == "ok" ? ""
                              : summary.rows_rejected > 0
                                  ? std::to_string(summary.rows_rejected) + " of " +
                                        std::to_string(summary.rows_in) + " records rejected"
                                  : "the input could not be read to its end";
  database
      .prepare(
          "UPDATE import_run SET finished_at=?2, status=?3, rows_in=?4, rows_new=?5,"
          " rows_changed=?6, rows_same=?7, rows_rejected=?8, error=nullif(?9,''),"
          " input_sha256=nullif(?10,'') WHERE run_id=?1")
      .with(run_id, options.now_ms, summary.status, summary.rows_in, summary.rows_new,
            summary.rows_changed, summary.rows_same, summary.rows_rejected, problem, sha256)
      .run();
  for (const auto& [name, key] : sources) {
    const bool failed = summary.status == "failed";
    database
        .prepare(
            "UPDATE source SET last_attempt_at=?4, last_error=nullif(?5,''),"
            " last_success_at = CASE WHEN ?6 THEN last_success_at ELSE ?4 END"
            " WHERE provider=?1 AND scope=?2 AND kind=?3")
        .with(key.provider, key.scope, key.kind, options.now_ms, problem, std::int64_t{failed})
        .run();
    database
        .prepare(
            "UPDATE import_run SET source_id = (SELECT source_id FROM source WHERE"
            " provider=?2 AND scope=?3 AND kind=?4) WHERE run_id=?1 AND source_id IS NULL")
        .with(run_id, key.provider, key.scope, key.kind)
        .run();
  }
}

void read_format(Run& run, Input& input) {
  const ImportOptions& options = run.options();
  if (!options.dao.dao_id.empty()) {
    if (!is_dao_id(options.dao.dao_id)) {
      throw ImportError("a DAO id is 1 to 128 of a-z, 0-9, '-', '_' and '.'");
    }
    run.writer().put_dao(options.dao);
  } else if (options.format != Format::snapshot_graphql && options.format != Format::snapshot_csv) {
    throw ImportError("this format needs the DAO's id (--dao)");
  }
  if (!options.blocks_path.empty()) {
    Input blocks(open_file(options.blocks_path));
    import_block_times(run, blocks);
  }
  for (const FormatEntry& entry : format_table) {
    if (entry.format == options.format) return entry.read(run, input);
  }
}

bool too_many_rejected(const ImportSummary& summary) {
  return summary.rows_rejected * rejected_denominator > summary.rows_in;
}

}  // namespace

std::optional<Format> format_of(std::string_view name) {
  for (const FormatEntry& entry : format_table) {
    if (entry.name == name) return entry.format;
  }
  return std::nullopt;
}

std::string format_names() {
  std::string names;
  for (const FormatEntry& entry : format_table) {
    names += (names.empty() ? "" : ", ") + std::string(entry.name);
  }
  return names;
}

std::string_view name_of(Format format) {
  for (const FormatEntry& entry : format_table) {
    if (entry.format == format) return entry.name;
  }
  return {};
}

ImportSummary run_import(Database& database, Input& input, const ImportOptions& options,
                         const OnRejected& on_rejected) {
  ImportSummary failed;
  failed.status = "failed";
  std::optional<std::int64_t> run_id;
  std::map<std::string, SourceKey> sources;
  try {
    if (!options.dry_run) run_id = begin_run(database, options);
    Transaction transaction(database, Transaction::Kind::write);
    Writer writer(database, {options.now_ms, options.as_of_ms.value_or(options.now_ms), run_id});
    Run run(writer, options, on_rejected);
    try {
      read_format(run, input);
    } catch (const ImportError& error) {
      failed = run.summary();
      failed.status = "failed";
      failed.error = error.what();
    }
    ImportSummary summary = run.summary();
    sources = run.sources();
    if (failed.error.empty() && too_many_rejected(summary)) {
      failed = summary;
      failed.status = "failed";
      failed.error = "more than 20 % of the records were rejected; nothing was kept";
    }
    if (failed.error.empty()) {
      summary.status = summary.rows_rejected > 0 ? "partial" : "ok";
      writer.finish();
      writer.count_participation();
      if (run_id) {
        end_run(database, *run_id, options, summary, input.finish_sha256(), sources);
      }
      summary.revision = database.number("SELECT value FROM meta WHERE key='revision'");
      if (!options.dry_run) transaction.commit();
      return summary;
    }
  } catch (const std::exception& error) {
    failed.error = error.what();
  }
  try {
    if (run_id) {
      Transaction transaction(database, Transaction::Kind::write);
      end_run(database, *run_id, options, failed, {}, sources);
      transaction.commit();
    }
  } catch (const SqliteError& error) {
    failed.error += std::string("; the failure could not be recorded: ") + error.what();
  }
  return failed;
}

void Run::reject(const std::string& position, const std::string& reason) {
  ++summary_.rows_rejected;
  if (on_rejected_) on_rejected_(position, reason);
}

void Run::count(Written written) {
  ++(written == Written::fresh     ? summary_.rows_new
     : written == Written::changed ? summary_.rows_changed
                                   : summary_.rows_same);
}

void Run::unknown_proposal(const std::string& proposal_id) {
  if (options_.ignores_unknown_proposals) return ignore();
  throw BadRecord("the proposal " + proposal_id + " is not in the store");
}

bool Run::first_time(const std::string& key) { return writer_.first_time(key); }

std::string Run::dao_for(const std::string& scope) const {
  if (!options_.dao.dao_id.empty()) return options_.dao.dao_id;
  std::string id = minted_dao_id(scope);
  if (!is_dao_id(id)) throw BadRecord("no DAO id can be made of the space '" + scope + "'");
  return id;
}

std::int64_t Run::source(const SourceKey& key) {
  const std::string name = key.provider + "\n" + key.scope + "\n" + key.kind;
  const auto known = source_ids_.find(name);
  if (known != source_ids_.end()) return known->second;
  const std::int64_t id = writer_.put_source(key);
  source_ids_.emplace(name, id);
  keys_.emplace(name, key);
  return id;
}

MaybeText text_field(const JsonValue& record, std::string_view name, std::size_t bytes_max) {
  const JsonValue* value = record.get(name);
  if (value == nullptr) return std::nullopt;
  if (!value->is(JsonValue::Kind::string)) throw BadRecord(std::string(name) + " is no string");
  if (value->text.size() > bytes_max) {
    throw BadRecord(std::string(name) + " is longer than " + std::to_string(bytes_max) + " bytes");
  }
  if (value->text.find('\0') != std::string::npos) {
    throw BadRecord(std::string(name) + " holds a NUL");
  }
  if (value->text.empty()) return std::nullopt;
  return value->text;
}

std::string required_text(const JsonValue& record, std::string_view name, std::size_t bytes_max) {
  MaybeText value = text_field(record, name, bytes_max);
  if (!value) throw BadRecord(std::string(name) + " is missing");
  return *std::move(value);
}

MaybeInteger integer_field(const JsonValue& record, std::string_view name) {
  const JsonValue* value = record.get(name);
  if (value == nullptr) return std::nullopt;
  std::int64_t number = 0;
  const char* end = value->text.data() + value->text.size();
  const auto [rest, problem] = std::from_chars(value->text.data(), end, number);
  if (value->text.empty() || problem != std::errc{} || rest != end) {
    throw BadRecord(std::string(name) + " is no integer");
  }
  return number;
}

MaybeText decimal_field(const JsonValue& record, std::string_view name) {
  const JsonValue* value = record.get(name);
  if (value == nullptr) return std::nullopt;
  auto decimal = canonical_decimal(value->text);
  if (!decimal) throw BadRecord(std::string(name) + " is no number");
  return decimal;
}

std::optional<bool> flag_field(const JsonValue& record, std::string_view name) {
  const JsonValue* value = record.get(name);
  if (value == nullptr) return std::nullopt;
  if (!value->is(JsonValue::Kind::boolean)) throw BadRecord(std::string(name) + " is no boolean");
  return value->truth;
}

MaybeTime seconds_field(const Run& run, const JsonValue& record, std::string_view name) {
  const JsonValue* value = record.get(name);
  if (value == nullptr) return std::nullopt;
  const auto time_ms = ms_of_seconds(value->text);
  if (!time_ms) throw BadRecord(std::string(name) + " is no time in seconds");
  return run.shifted(*time_ms);
}

MaybeTime iso_field(const Run& run, const JsonValue& record, std::string_view name) {
  const JsonValue* value = record.get(name);
  if (value == nullptr) return std::nullopt;
  const auto time_ms = parse_iso_time(value->text);
  if (!time_ms) throw BadRecord(std::string(name) + " is no ISO 8601 time");
  return run.shifted(*time_ms);
}

}  // namespace turnpike::govdata
