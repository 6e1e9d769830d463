// Tables of Snapshot proposals and votes with dates instead of times, as researchers publish them.
#include "govdata/import/run.h"
#include "govdata/store/text.h"

namespace turnpike::govdata {
namespace {

std::string csv_proposal_id(const JsonValue& record) {
  std::string id = required_text(record, "proposal_id");
  return id.rfind("0x", 0) == 0 || id.rfind("0X", 0) == 0 ? lower_ascii(id) : id;
}

void take_csv_proposal(Run& run, const JsonValue& record) {
  const std::string space = required_text(record, "space_id", 128);
  DaoRecord dao;
  dao.dao_id = run.dao_for(space);
  dao.aliases = {space};
  ProposalRecord proposal;
  proposal.external_id = csv_proposal_id(record);
  proposal.title = required_text(record, "title", 8192);
  proposal.voting_system = text_field(record, "type");
  proposal.source_status = text_field(record, "state");
  proposal.proposer = text_field(record, "author");
  proposal.url = "https://snapshot.org/#/" + space + "/proposal/" + proposal.external_id;
  proposal.votes_count = proposal.voters_count = integer_field(record, "votes");
  proposal.scores_total = decimal_field(record, "scores_total");
  proposal.quorum = decimal_field(record, "quorum");
  proposal.times.starts = iso_field(run, record, "start");
  proposal.times.ends = iso_field(run, record, "end");
  if (proposal.times.starts && proposal.times.ends &&
      *proposal.times.ends < *proposal.times.starts) {
    throw BadRecord("end lies before start");
  }
  // The times are only dates. There are no labels of choices, so the outcome is unknown.
  proposal.time_confidence = Confidence::estimated;
  proposal.standing.execution = Execution::not_applicable;
  if (run.options().keep_raw) proposal.raw_json = record.dump();
  if (run.first_time("dao\n" + space)) run.writer().put_dao(dao);
  SourceKey key;
  key.dao_id = dao.dao_id;
  key.provider = run.options().provider.empty() ? "snapshot" : run.options().provider;
  key.scope = space;
  key.kind = "proposal";
  key.base_url = "https://snapshot.org";
  key.stale_after_s = run.options().stale_after_s;
  const std::int64_t source = run.source(key);
  if (!run.first_time(std::to_string(source) + "\n" + proposal.external_id)) return run.ignore();
  run.count(run.writer().put_proposal(source, proposal));
}

void take_csv_vote(Run& run, const JsonValue& record) {
  const ImportOptions& options = run.options();
  const std::string proposal = csv_proposal_id(record);
  VoteRecord vote;
  vote.voter = required_text(record, "voter", 128);
  vote.choice_json = required_text(record, "choice", 65536);
  if (vote.choice_json.find_first_not_of("0123456789") == std::string::npos) {
    vote.choice_id = vote.choice_json;
  }
  vote.power = decimal_field(record, "voting_power");
  vote.voted_at = iso_field(run, record, "created");
  const auto source = run.writer().source_of_proposal(
      options.provider.empty() ? "snapshot" : options.provider, options.scope, proposal);
  if (!source) return run.unknown_proposal(proposal);
  put_ballot(run, *source, proposal, vote);
}

}  // namespace

void import_snapshot_csv(Run& run, Input& input) {
  each_record(run, input, {}, [&](const JsonRecord& record) {
    if (record.value.find("voter") != nullptr) {
      take_csv_vote(run, record.value);
    } else {
      take_csv_proposal(run, record.value);
    }
  });
}

}  // namespace turnpike::govdata
