// Replies of the Snapshot hub: proposals, votes and spaces.
#include <algorithm>
#include <array>

#include "govdata/import/run.h"
#include "govdata/store/decimal.h"
#include "govdata/store/text.h"

namespace turnpike::govdata {
namespace {

using Kind = JsonValue::Kind;

constexpr std::size_t choices_max = 1000;

std::string space_of(const Run& run, const JsonValue& record) {
  const JsonValue* space = record.get("space");
  std::string id;
  if (space != nullptr) {
    id = space->is(Kind::object) ? text_field(*space, "id", 128).value_or("") : space->text;
  }
  if (id.empty()) id = run.options().scope;
  if (id.empty()) throw BadRecord("space.id is missing; give --scope");
  return id;
}

// Writes the DAO of the record's space, with the space's id as an alias, and returns the source.
std::int64_t source_of(Run& run, const JsonValue& record) {
  const std::string space = space_of(run, record);
  const ImportOptions& options = run.options();
  DaoRecord dao;
  dao.dao_id = run.dao_for(space);
  dao.aliases = {space};
  const JsonValue* named = record.get("space");
  if (options.dao.dao_id.empty() && named != nullptr && named->is(Kind::object)) {
    dao.name = text_field(*named, "name", 256);
  }
  if (run.first_time("dao\n" + space)) run.writer().put_dao(dao);
  SourceKey key;
  key.dao_id = dao.dao_id;
  key.provider = options.provider.empty() ? "snapshot" : options.provider;
  key.scope = space;
  key.kind = "proposal";
  key.base_url = "https://snapshot.org";
  key.stale_after_s = options.stale_after_s;
  return run.source(key);
}

std::string proposal_id(std::string id) {
  return id.rfind("0x", 0) == 0 || id.rfind("0X", 0) == 0 ? lower_ascii(id) : id;
}

std::vector<Choice> choices_of(const JsonValue& record) {
  std::vector<Choice> choices;
  const JsonValue* labels = record.get("choices");
  if (labels == nullptr) return choices;
  if (!labels->is(Kind::array)) throw BadRecord("choices is no list");
  if (labels->items.size() > choices_max) throw BadRecord("more than 1000 choices");
  for (const JsonValue& label : labels->items) {
    if (!label.is(Kind::string)) throw BadRecord("a choice is no string");
    choices.push_back({std::to_string(choices.size() + 1), label.text, {}, {}});
  }
  const JsonValue* scores = record.get("scores");
  if (scores == nullptr || !scores->is(Kind::array)) return choices;
  if (scores->items.size() != choices.size()) return choices;  // not counted yet: []
  for (std::size_t at = 0; at < choices.size(); ++at) {
    choices[at].score = canonical_decimal(scores->items[at].text);
    if (!choices[at].score) throw BadRecord("a score is no number");
  }
  return choices;
}

// Whether the proposal has a plugin that executes it on a chain. Then its execution is unknown.
bool has_execution_plugin(const JsonValue& record) {
  const JsonValue* plugins = record.get("plugins");
  constexpr std::array<std::string_view, 4> names = {"safeSnap", "oSnap", "reality", "daoModule"};
  return plugins != nullptr && std::any_of(names.begin(), names.end(), [&](std::string_view name) {
           return plugins->get(name) != nullptr;
         });
}

ProposalRecord proposal_of(const Run& run, const JsonValue& record) {
  ProposalRecord proposal;
  proposal.external_id = proposal_id(required_text(record, "id"));
  proposal.title = text_field(record, "title", 8192)
                       .value_or("Proposal " + std::string(cut_utf8(proposal.external_id, 80)));
  proposal.body = text_field(record, "body", body_bytes_max);
  proposal.proposer = text_field(record, "author");
  proposal.voting_system = text_field(record, "type");
  proposal.url = text_field(record, "link");
  if (!proposal.url) {
    proposal.url =
        "https://snapshot.org/#/" + space_of(run, record) + "/proposal/" + proposal.external_id;
  }
  proposal.discussion_url = text_field(record, "discussion");
  proposal.source_status = text_field(record, "state");
  proposal.quorum = decimal_field(record, "quorum");
  proposal.scores_total = decimal_field(record, "scores_total");
  proposal.votes_count = proposal.voters_count = integer_field(record, "votes");
  proposal.times.created = seconds_field(run, record, "created");
  proposal.times.starts = seconds_field(run, record, "start");
  proposal.times.ends = seconds_field(run, record, "end");
  proposal.times.source_updated = seconds_field(run, record, "updated");
  if (proposal.times.starts && proposal.times.ends &&
      *proposal.times.ends < *proposal.times.starts) {
    throw BadRecord("end lies before start");
  }
  proposal.flagged = flag_field(record, "flagged").value_or(false);
  proposal.choices = choices_of(record);
  proposal.standing.execution =
      has_execution_plugin(record) ? Execution::unknown : Execution::not_applicable;
  const MaybeText counting = text_field(record, "scores_state");
  if (proposal.source_status == "closed" && (!counting || *counting == "final")) {
    proposal.standing.outcome =
        snapshot_outcome(proposal.voting_system.value_or(""), proposal.choices, proposal.quorum,
                         proposal.scores_total);
  }
  if (run.options().keep_raw) proposal.raw_json = record.dump();
  return proposal;
}

void take_vote(Run& run, const JsonValue& record) {
  const JsonValue* named = record.get("proposal");
  std::string proposal = run.options().proposal_id;
  if (named != nullptr) {
    proposal = named->is(Kind::object) ? required_text(*named, "id") : named->text;
  }
  if (proposal.empty()) throw BadRecord("proposal.id is missing; give --proposal");
  const std::int64_t source = source_of(run, record);
  VoteRecord vote;
  vote.voter = required_text(record, "voter", 128);
  const JsonValue* choice = record.get("choice");
  if (choice == nullptr) throw BadRecord("choice is missing");
  vote.choice_json = choice->dump();
  if (choice->is(Kind::number)) vote.choice_id = choice->text;
  vote.power = decimal_field(record, "vp");
  vote.reason = text_field(record, "reason", body_bytes_max);
  vote.voted_at = seconds_field(run, record, "created");
  vote.external_id = text_field(record, "id");
  if (!vote.external_id) vote.external_id = text_field(record, "ipfs");
  proposal = proposal_id(proposal);
  if (!run.first_time("vote\n" + proposal + "\n" + vote.voter)) return run.ignore();
  const auto written = run.writer().put_vote(source, proposal, vote, false);
  if (!written) return run.unknown_proposal(proposal);
  run.count(*written);
}

void take_space(Run& run, const JsonValue& record) {
  DaoRecord dao;
  const std::string space = required_text(record, "id", 128);
  dao.dao_id = run.dao_for(space);
  dao.aliases = {space};
  dao.name = text_field(record, "name", 256);
  dao.about = text_field(record, "about", 8192);
  dao.website = text_field(record, "website");
  dao.logo_url = text_field(record, "avatar");
  if (!run.first_time("space\n" + space)) return run.ignore();
  run.count(run.writer().put_dao(dao));
}

void take_proposal(Run& run, const JsonValue& record) {
  const ProposalRecord proposal = proposal_of(run, record);
  const std::int64_t source = source_of(run, record);
  if (!run.first_time(std::to_string(source) + "\n" + proposal.external_id)) return run.ignore();
  run.count(run.writer().put_proposal(source, proposal));
}

}  // namespace

void import_snapshot(Run& run, Input& input) {
  const JsonShape shape{{"proposals", "votes", "spaces"}};
  const auto on_record = [&](JsonRecord&& record) {
    run.record(record.position, [&] {
      const JsonValue& value = record.value;
      if (!value.is(Kind::object)) throw BadRecord("the record is no object");
      const bool is_vote = value.find("voter") != nullptr && value.find("choice") != nullptr;
      const bool is_proposal = value.find("choices") != nullptr || value.find("start") != nullptr;
      if (record.list == "votes" || (record.list.empty() && is_vote)) {
        take_vote(run, value);
      } else if (record.list == "spaces") {
        take_space(run, value);
      } else if (record.list == "proposals" || is_proposal) {
        take_proposal(run, value);
      } else {
        throw BadRecord("neither a proposal nor a vote nor a space");
      }
    });
  };
  const auto on_bad = [&](const std::string& position, const std::string& reason) {
    run.record(position, [&] { throw BadRecord(reason); });
  };
  read_json_records(input, shape, on_record, on_bad);
}

}  // namespace turnpike::govdata
