// Proposals and votes in the form that Decentraland's DAO publishes, JSON or CSV.
#include <algorithm>
#include <array>

#include "govdata/import/csv.h"
#include "govdata/import/run.h"
#include "govdata/store/text.h"

namespace turnpike::govdata {
namespace {

struct DecentralandState {
  std::string_view name;
  Standing standing;
};
constexpr std::array<DecentralandState, 8> decentraland_states = {{
    {"pending", {Outcome::unknown, Execution::not_started}},
    {"active", {Outcome::unknown, Execution::not_started}},
    {"passed", {Outcome::passed, Execution::not_started}},
    {"finished", {Outcome::passed, Execution::not_started}},
    {"enacted", {Outcome::passed, Execution::executed}},
    {"rejected", {Outcome::failed, Execution::not_applicable}},
    {"out_of_budget", {Outcome::passed, Execution::not_started}},
    {"deleted", {Outcome::canceled, Execution::not_applicable}},
}};

Standing standing_of(const MaybeText& status) {
  for (const DecentralandState& state : decentraland_states) {
    if (status && lower_ascii(*status) == state.name) return state.standing;
  }
  return {};
}

std::vector<Choice> choices_of_labels(const JsonValue* labels) {
  constexpr std::size_t labels_max = 1000;
  std::vector<Choice> choices;
  if (labels == nullptr) return choices;
  std::vector<std::string> texts;
  if (labels->is(JsonValue::Kind::array)) {
    for (const JsonValue& label : labels->items) texts.push_back(label.text);
  } else if (!read_list_cell(labels->text, texts)) {
    throw BadRecord("choices is no list");
  }
  if (texts.size() > labels_max) throw BadRecord("more than 1000 choices");
  for (const std::string& label : texts) {
    choices.push_back({std::to_string(choices.size() + 1), label, {}, {}});
  }
  return choices;
}

class DecentralandDao {
 public:
  explicit DecentralandDao(Run& run) : run_(run) {
    const ImportOptions& options = run.options();
    forum_ = options.base_url.empty() ? "https://forum.decentraland.org" : options.base_url;
    while (!forum_.empty() && forum_.back() == '/') forum_.pop_back();
    SourceKey key;
    key.dao_id = options.dao.dao_id;
    key.provider = options.provider.empty() ? "decentraland" : options.provider;
    key.scope = options.scope.empty() ? "snapshot.dcl.eth" : options.scope;
    key.kind = "proposal";
    key.base_url = "https://governance.decentraland.org";
    key.stale_after_s = options.stale_after_s;
    source_ = run.source(key);
  }

  void take(const JsonValue& record) {
    if (record.find("voter") != nullptr) return take_vote(record);
    ProposalRecord proposal = proposal_of(record);
    if (!run_.first_time("proposal\n" + proposal.external_id)) return run_.ignore();
    run_.count(run_.writer().put_proposal(source_, proposal));
  }

 private:
  ProposalRecord proposal_of(const JsonValue& record) {
    ProposalRecord proposal;
    proposal.external_id = lower_ascii(required_text(record, "snapshot_id"));
    proposal.title = required_text(record, "title", 8192);
    proposal.proposer = any_text(record, {"user", "author"}, 128);
    proposal.proposal_type = text_field(record, "type", 128);
    proposal.source_status = text_field(record, "status", 64);
    proposal.standing = standing_of(proposal.source_status);
    proposal.quorum = decimal_field(record, "required_to_pass");
    proposal.scores_total = decimal_field(record, "scores_total");
    proposal.votes_count = proposal.voters_count = integer_field(record, "votes");
    proposal.tx_hash = text_field(record, "enacting_tx", 128);
    if (const MaybeText id = text_field(record, "id", 128)) {
      proposal.url = "https://governance.decentraland.org/proposal/?id=" + *id;
    }
    if (const MaybeInteger topic = integer_field(record, "discourse_topic_id");
        topic && *topic > 0) {
      proposal.discussion_url = forum_ + "/t/" + std::to_string(*topic);
    }
    proposal.times.starts = iso_field(run_, record, "start_at");
    proposal.times.ends = iso_field(run_, record, "finish_at");
    // Voting begins when a proposal is created. Not all files have a separate time of creation.
    proposal.times.created = iso_field(run_, record, "created_at");
    if (!proposal.times.created) proposal.times.created = proposal.times.starts;
    if (proposal.times.starts && proposal.times.ends &&
        *proposal.times.ends < *proposal.times.starts) {
      throw BadRecord("finish_at lies before start_at");
    }
    const JsonValue* nested = record.get("configuration");
    const JsonValue& texts =
        nested != nullptr && nested->is(JsonValue::Kind::object) ? *nested : record;
    proposal.body = any_text(texts, {"description", "abstract"}, body_bytes_max);
    proposal.choices = choices_of_labels(texts.get("choices"));
    proposal.voting_system = "single-choice";
    if (run_.options().keep_raw) proposal.raw_json = record.dump();
    return proposal;
  }

  void take_vote(const JsonValue& record) {
    const std::string proposal = lower_ascii(required_text(record, "proposal_id"));
    VoteRecord vote;
    vote.voter = required_text(record, "voter", 128);
    const JsonValue* choice = record.get("choice");
    if (choice == nullptr) throw BadRecord("choice is missing");
    const bool plain = choice->text.find_first_not_of("0123456789") == std::string::npos;
    vote.choice_json = plain && !choice->text.empty() ? choice->text : choice->dump();
    if (plain && !choice->text.empty()) vote.choice_id = choice->text;
    vote.power = decimal_field(record, "vp");
    vote.voted_at = iso_field(run_, record, "created");
    put_ballot(run_, source_, proposal, vote);
  }

  Run& run_;
  std::string forum_;
  std::int64_t source_ = 0;
};

}  // namespace

void import_decentraland(Run& run, Input& input) {
  DecentralandDao dao(run);
  each_record(run, input, {{"proposals", "votes"}, false},
              [&](const JsonRecord& record) { dao.take(record.value); });
}

}  // namespace turnpike::govdata
