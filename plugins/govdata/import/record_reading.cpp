// The functions that the readers of flat formats share: reading records of JSON or CSV, and writing
// ballots.
#include <algorithm>

#include "govdata/import/csv.h"
#include "govdata/import/run.h"
#include "govdata/store/text.h"

namespace turnpike::govdata {
namespace {

using RecordKind = JsonValue::Kind;

JsonValue record_of_row(const std::vector<std::string>& columns, std::vector<std::string>& row) {
  if (row.size() != columns.size()) {
    throw BadRecord(std::to_string(row.size()) + " fields where the header has " +
                    std::to_string(columns.size()));
  }
  JsonValue record;
  record.kind = RecordKind::object;
  for (std::size_t at = 0; at < columns.size(); ++at) {
    if (!is_utf8(row[at])) throw BadRecord(columns[at] + " is not UTF-8");
    JsonValue cell;
    cell.kind = row[at].empty() ? RecordKind::null : RecordKind::string;
    cell.text = std::move(row[at]);
    record.fields.push_back({columns[at], std::move(cell)});
  }
  return record;
}

void each_row(Run& run, Input& input, const std::function<void(const JsonRecord&)>& take) {
  CsvReader reader(input);
  std::vector<std::string> columns;
  if (!reader.row(columns)) return;
  for (std::string& column : columns) {
    if (!is_utf8(column)) throw ImportError("the header is not UTF-8");
    column = lower_ascii(trimmed(column));
  }
  std::vector<std::string> row;
  while (reader.row(row)) {
    JsonRecord record;
    record.position = "line " + std::to_string(reader.line());
    run.record(record.position, [&] {
      record.value = record_of_row(columns, row);
      take(record);
    });
  }
}

}  // namespace

MaybeText any_text(const JsonValue& record, std::initializer_list<std::string_view> names,
                   std::size_t bytes_max) {
  for (const std::string_view name : names) {
    const std::string_view text = record.scalar(name);
    if (text.empty()) continue;
    if (text.size() > bytes_max) {
      throw BadRecord(std::string(name) + " is longer than " + std::to_string(bytes_max) +
                      " bytes");
    }
    if (text.find('\0') != std::string_view::npos) {
      throw BadRecord(std::string(name) + " holds a NUL");
    }
    return std::string(text);
  }
  return std::nullopt;
}

void each_record(Run& run, Input& input, const JsonShape& shape,
                 const std::function<void(const JsonRecord&)>& take) {
  const std::string_view start = trimmed(input.look_ahead());
  if (start.empty()) return;
  if (start[0] != '{' && start[0] != '[') return each_row(run, input, take);
  const auto on_record = [&](JsonRecord&& record) {
    run.record(record.position, [&] {
      if (!record.value.is(RecordKind::object)) throw BadRecord("the record is no object");
      take(record);
    });
  };
  const auto on_bad = [&](const std::string& position, const std::string& reason) {
    run.record(position, [&] { throw BadRecord(reason); });
  };
  read_json_records(input, shape, on_record, on_bad);
}

void put_ballot(Run& run, std::int64_t source_id, const std::string& proposal_id,
                const VoteRecord& vote) {
  if (!run.first_time("vote\n" + proposal_id + "\n" + vote.voter)) return run.ignore();
  const auto written = run.writer().put_vote(source_id, proposal_id, vote, false);
  if (!written) return run.unknown_proposal(proposal_id);
  run.count(*written);
}

}  // namespace turnpike::govdata
