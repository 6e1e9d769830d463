// Applies logs of Governor contracts to proposals, one by one. The logs may come from various
// tools.
#include <algorithm>

#include "govdata/import/csv.h"
#include "govdata/import/governor_event.h"
#include "govdata/import/run.h"
#include "govdata/store/text.h"
#include "govdata/store/timestamp.h"

namespace turnpike::govdata {
namespace {

using EventKind = GovernorEventKind;

// Clocks in seconds passed this value in 2001, and no chain has so many blocks.
constexpr std::int64_t first_plausible_second = 1'000'000'000;

std::vector<Choice> governor_choices() {
  return {{"0", "Against", {}, {}}, {"1", "For", {}, {}}, {"2", "Abstain", {}, {}}};
}

// The time of a block or of a clock value, which may be a time in seconds itself.
MaybeTime governor_time(Run& run, ProposalRecord& record, const MaybeInteger& value,
                        bool is_clock) {
  if (!value) return std::nullopt;
  const ImportOptions& options = run.options();
  const std::string& mode = options.clock_mode;
  const bool in_seconds =
      is_clock && (mode.empty() ? *value >= first_plausible_second : mode == "timestamp");
  if (in_seconds) {
    if (*value > time_max_ms / 1000) throw BadRecord("a time lies beyond the year 9999");
    return run.shifted(*value * 1000);
  }
  // The clock counts the blocks of another chain, as on some rollups, so the time is unknown.
  if (is_clock && record.created_block && *value < *record.created_block) return std::nullopt;
  const auto time = run.writer().block_time(options.chain_id, *value);
  if (time) {
    if (!time->exact) record.time_confidence = Confidence::estimated;
    return time->time_ms;
  }
  const auto& pace = options.pace;
  constexpr std::int64_t blocks_ahead_max = 100'000'000;
  if (!pace || *value <= pace->block || *value - pace->block > blocks_ahead_max) {
    return std::nullopt;
  }
  record.time_confidence = Confidence::estimated;
  return pace->time_ms + (*value - pace->block) * pace->ms_per_block;
}

void judge_confidence(ProposalRecord& record) {
  if (record.time_confidence == Confidence::estimated) return;
  const ProposalTimes& times = record.times;
  const bool any = times.created || times.starts || times.ends || times.executed || times.queued ||
                   times.canceled;
  record.time_confidence = any ? Confidence::exact : Confidence::observed;
}

class Contract {
 public:
  explicit Contract(Run& run) : run_(run) {}

  void apply(const GovernorEvent& event) {
    bind(event);
    if (event.kind == EventKind::vote) return apply_vote(event);
    // A contract emits each of these once, except that a deadline may be extended again.
    const std::string key = std::to_string(static_cast<int>(event.kind)) + event.proposal_id;
    if (event.kind != EventKind::extended && !run_.first_time(key)) return run_.ignore();
    auto known = run_.writer().find_proposal(source_, event.proposal_id);
    if (event.kind == EventKind::created) {
      ProposalRecord record = known.value_or(ProposalRecord{});
      apply_created(record, event);
      return store(record);
    }
    if (!known) return run_.unknown_proposal(event.proposal_id);
    apply_transition(*known, event);
    store(*known);
  }

 private:
  // All logs of a run must be of one contract, that of the first log.
  void bind(const GovernorEvent& event) {
    if (source_ != 0) {
      if (event.address && address_ && *event.address != *address_) {
        throw BadRecord("the log is of another contract: " + *event.address);
      }
      return;
    }
    const ImportOptions& options = run_.options();
    address_ = event.address;
    SourceKey key;
    key.dao_id = options.dao.dao_id;
    key.provider = options.provider.empty() ? "governor" : options.provider;
    key.kind = "proposal";
    key.chain_id = options.chain_id;
    key.contract = address_;
    key.scope = !options.scope.empty() ? options.scope
                : address_ ? "eip155:" + std::to_string(options.chain_id) + ":" + *address_
                           : key.dao_id;
    if (!options.clock_mode.empty()) key.clock_mode = options.clock_mode;
    if (!options.base_url.empty()) key.base_url = options.base_url;
    key.stale_after_s = options.stale_after_s;
    source_ = run_.source(key);
  }

  void store(const ProposalRecord& record) {
    run_.count(run_.writer().put_proposal(source_, record));
  }

  MaybeTime time_of(ProposalRecord& record, const MaybeInteger& value, bool is_clock) {
    return governor_time(run_, record, value, is_clock);
  }

  MaybeTime event_time(ProposalRecord& record, const GovernorEvent& event) {
    if (event.time_s && *event.time_s <= time_max_ms / 1000) {
      return run_.shifted(*event.time_s * 1000);
    }
    return time_of(record, event.block, false);
  }

  void apply_created(ProposalRecord& record, const GovernorEvent& event) {
    record.external_id = event.proposal_id;
    record.body = event.description;
    record.title = title_of_markdown(event.description.value_or(""));
    record.title = std::string(cut_utf8(record.title, 1024));
    if (record.title.empty()) {
      record.title = "Proposal " + std::string(cut_utf8(event.proposal_id, 80));
    }
    record.proposer = event.proposer;
    record.voting_system = event.voting_module ? "governor-module" : "governor";
    record.proposal_type = event.proposal_type;
    record.tx_hash = event.tx_hash;
    record.created_block = event.block;
    record.start_block = event.start;
    // Reading the creation again must not undo an extension of the deadline.
    if (event.end && (!record.end_block || *record.end_block < *event.end)) {
      record.end_block = event.end;
    }
    if (event.start && event.end && *event.end < *event.start) {
      throw BadRecord("voting ends before it starts");
    }
    record.actions = event.actions;
    for (Action& action : record.actions) action.chain_id = run_.options().chain_id;
    if (record.choices.empty()) {
      record.choices = governor_choices();
      record.standing.execution = Execution::not_started;
    }
    record.times.created = event_time(record, event);
    record.times.starts = time_of(record, record.start_block, true);
    record.times.ends = time_of(record, record.end_block, true);
    judge_confidence(record);
  }

  void apply_transition(ProposalRecord& record, const GovernorEvent& event) {
    const MaybeTime at = event_time(record, event);
    const bool executed = record.standing.execution == Execution::executed;
    const bool canceled = record.standing.outcome == Outcome::canceled;
    if (event.kind == EventKind::extended) {
      if (!record.end_block || *record.end_block < *event.end) record.end_block = event.end;
      record.times.ends = time_of(record, record.end_block, true);
    } else if (event.kind == EventKind::queued) {
      record.times.queued = at;
      if (!executed && !canceled) {
        record.standing = {Outcome::passed, Execution::queued};
        record.source_status = "Queued";
      }
    } else if (event.kind == EventKind::executed) {
      record.times.executed = at;
      record.standing = {Outcome::passed, Execution::executed};
      record.source_status = "Executed";
    } else {
      record.times.canceled = at;
      if (!executed) {
        record.standing = {Outcome::canceled, Execution::not_started};
        record.source_status = "Canceled";
      }
    }
    judge_confidence(record);
  }

  void apply_vote(const GovernorEvent& event) {
    VoteRecord vote;
    vote.voter = event.voter;
    vote.choice_json = vote.choice_id.emplace(event.support);
    vote.power = event.weight;
    vote.reason = event.reason;
    vote.tx_hash = event.tx_hash;
    ProposalRecord scratch;
    vote.voted_at = event_time(scratch, event);
    // The later ballot on the chain counts, whatever the order of the file.
    const std::string place = place_on_chain(event.block.value_or(0), event.log_index.value_or(0));
    vote.external_id = place;
    const std::string key = "vote\n" + event.proposal_id + "\n" + vote.voter + "\n" + place;
    if (!run_.first_time(key)) return run_.ignore();
    const auto written = run_.writer().put_vote(source_, event.proposal_id, vote, true);
    if (!written) return run_.unknown_proposal(event.proposal_id);
    run_.count(*written);
  }

  Run& run_;
  std::int64_t source_ = 0;
  MaybeText address_;
};

void import_rows(Run& run, Contract& contract, Input& input) {
  CsvReader reader(input);
  std::vector<std::string> columns;
  if (!reader.row(columns)) return;
  for (std::string& column : columns) column = normal_name(column);
  std::vector<std::string> row;
  while (reader.row(row)) {
    run.record("line " + std::to_string(reader.line()),
               [&] { contract.apply(decode_row(columns, row, run.options().event)); });
  }
}

}  // namespace

bool refresh_governor_times(Run& run, std::int64_t source_id, const std::string& proposal_id) {
  auto record = run.writer().find_proposal(source_id, proposal_id);
  if (!record) return false;
  const MaybeTime starts = record->times.starts;
  const MaybeTime ends = record->times.ends;
  record->time_confidence = Confidence::exact;
  governor_time(run, *record, record->created_block, false);  // for its effect on time_confidence
  record->times.starts = governor_time(run, *record, record->start_block, true);
  record->times.ends = governor_time(run, *record, record->end_block, true);
  if (!record->times.starts) record->times.starts = starts;
  if (!record->times.ends) record->times.ends = ends;
  judge_confidence(*record);
  run.count(run.writer().put_proposal(source_id, *record));
  return true;
}

void import_governor(Run& run, Input& input) {
  Contract contract(run);
  const std::string_view start = trimmed(input.look_ahead());
  if (start.empty()) return;
  if (start[0] != '{' && start[0] != '[') return import_rows(run, contract, input);
  const auto on_record = [&](JsonRecord&& record) {
    run.record(record.position, [&] {
      const auto event = decode_log(record.value);
      if (!event) return run.ignore();
      contract.apply(*event);
    });
  };
  const auto on_bad = [&](const std::string& position, const std::string& reason) {
    run.record(position, [&] { throw BadRecord(reason); });
  };
  // eth_getLogs answers with the list `result`.
  read_json_records(input, {{"logs", "events", "result"}}, on_record, on_bad);
}

void import_block_times(Run& run, Input& input) {
  CsvReader reader(input);
  std::vector<std::string> row;
  while (reader.row(row)) {
    if (reader.line() == 1 && !row.empty() && normal_name(row[0]).rfind("block", 0) == 0) continue;
    JsonValue cells;
    cells.kind = JsonValue::Kind::object;
    if (row.size() != 2) {
      throw ImportError("the blocks file has no two columns on line " +
                        std::to_string(reader.line()));
    }
    cells.fields.push_back({"block", {JsonValue::Kind::number, false, row[0], {}, {}}});
    try {
      const MaybeInteger block = integer_field(cells, "block");
      const auto time_ms = ms_of_seconds(row[1]);
      if (!time_ms) throw BadRecord("no time in seconds");
      run.writer().put_block_time(run.options().chain_id, *block, run.shifted(*time_ms));
    } catch (const BadRecord& bad) {
      throw ImportError("the blocks file, line " + std::to_string(reader.line()) + ": " +
                        bad.what());
    }
  }
}

}  // namespace turnpike::govdata
