// Formats that list proposals without their history: OpenGov tables, DAOIP-2 documents, and saved
// replies of Tally.
#include <algorithm>
#include <array>

#include "govdata/import/run.h"
#include "govdata/store/decimal.h"
#include "govdata/store/text.h"
#include "govdata/store/url.h"

namespace turnpike::govdata {
namespace {

using ListKind = JsonValue::Kind;

struct ListedState {
  std::string_view name;
  Standing standing;
};

constexpr std::array<ListedState, 11> opengov_states = {{
    {"submitted", {Outcome::unknown, Execution::not_started}},
    {"preparing", {Outcome::unknown, Execution::not_started}},
    {"queueing", {Outcome::unknown, Execution::not_started}},
    {"deciding", {Outcome::unknown, Execution::not_started}},
    {"confirming", {Outcome::unknown, Execution::not_started}},
    {"approved", {Outcome::passed, Execution::queued}},
    {"executed", {Outcome::passed, Execution::executed}},
    {"rejected", {Outcome::failed, Execution::not_started}},
    {"timedout", {Outcome::no_quorum, Execution::expired}},
    {"cancelled", {Outcome::canceled, Execution::not_started}},
    {"killed", {Outcome::canceled, Execution::not_started}},
}};

constexpr std::array<ListedState, 13> tally_states = {{
    {"pending", {Outcome::unknown, Execution::not_started}},
    {"submitted", {Outcome::unknown, Execution::not_started}},
    {"active", {Outcome::unknown, Execution::not_started}},
    {"extended", {Outcome::unknown, Execution::not_started}},
    {"canceled", {Outcome::canceled, Execution::not_started}},
    {"defeated", {Outcome::failed, Execution::not_started}},
    {"succeeded", {Outcome::passed, Execution::not_started}},
    {"queued", {Outcome::passed, Execution::queued}},
    {"pendingexecution", {Outcome::passed, Execution::queued}},
    {"expired", {Outcome::passed, Execution::expired}},
    {"executed", {Outcome::passed, Execution::executed}},
    {"callexecuted", {Outcome::passed, Execution::executed}},
    {"crosschainexecuted", {Outcome::passed, Execution::executed}},
}};

template <std::size_t Count>
Standing listed_standing(const std::array<ListedState, Count>& states, const MaybeText& status) {
  std::string name = lower_ascii(status.value_or(""));
  name.erase(std::remove_if(name.begin(), name.end(),
                            [](char c) { return c == ' ' || c == '_' || c == '-'; }),
             name.end());
  for (const ListedState& state : states) {
    if (name == state.name) return state.standing;
  }
  return {};
}

SourceKey listed_source(const Run& run, const std::string& provider, const std::string& scope) {
  const ImportOptions& options = run.options();
  SourceKey key;
  key.dao_id = options.dao.dao_id;
  key.provider = options.provider.empty() ? provider : options.provider;
  key.scope = !options.scope.empty() ? options.scope : !scope.empty() ? scope : key.dao_id;
  key.kind = "proposal";
  if (!options.base_url.empty()) key.base_url = options.base_url;
  key.stale_after_s = options.stale_after_s;
  return key;
}

// Reads an id of a contract with its chain, such as `eip155:1:0xabc` (CAIP-10), into `key`.
bool read_caip10(std::string_view id, SourceKey& key) {
  constexpr std::string_view prefix = "eip155:";
  if (id.substr(0, prefix.size()) != prefix) return false;
  const std::size_t colon = id.find(':', prefix.size());
  if (colon == std::string_view::npos || colon - prefix.size() > 15) return false;
  const std::string chain(id.substr(prefix.size(), colon - prefix.size()));
  const bool digits = !chain.empty() && chain.find_first_not_of("0123456789") == std::string::npos;
  if (!digits || colon + 1 == id.size()) return false;
  key.chain_id = std::stoll(chain);
  key.contract = lower_ascii(id.substr(colon + 1));
  key.scope = lower_ascii(id);
  return true;
}

bool is_missing_title(const ProposalRecord& record) {
  return record.title == "Proposal " + record.external_id;
}

template <class T>
void fill(std::optional<T>& into, const std::optional<T>& from) {
  if (!into) into = from;
}

void take_referendum(Run& run, const JsonValue& record) {
  const MaybeText index = any_text(
      record, {"index", "referendum_index", "referendumindex", "referendum", "ref_index", "id"},
      20);
  const auto number = index ? canonical_decimal(*index) : std::nullopt;
  if (!number || number->find_first_not_of("0123456789") != std::string::npos) {
    throw BadRecord("index is missing or no number");
  }
  const MaybeText track = any_text(record, {"track_name", "track", "origin", "track_id"}, 128);
  ProposalRecord proposal;
  proposal.external_id = *number;
  proposal.title = "Referendum #" + *number + (track ? " (" + *track + ")" : "");
  proposal.proposer = any_text(record, {"proposer", "submitter", "account"}, 128);
  proposal.proposal_type = track;
  proposal.voting_system = "opengov";
  proposal.source_status = any_text(record, {"status", "state"}, 64);
  proposal.standing = listed_standing(opengov_states, proposal.source_status);
  proposal.time_confidence = Confidence::observed;
  const MaybeText ayes = decimal_field(record, "ayes");
  const MaybeText nays = decimal_field(record, "nays");
  proposal.choices = {{"aye", "Aye", ayes, {}}, {"nay", "Nay", nays, {}}};
  if (ayes && nays) proposal.scores_total = add_decimals(*ayes, *nays);
  if (!run.options().base_url.empty()) {
    proposal.url = run.options().base_url + "/referenda/" + *number;
  }
  if (run.options().keep_raw) proposal.raw_json = record.dump();
  const std::int64_t source = run.source(listed_source(run, "opengov", ""));
  if (!run.first_time("referendum\n" + *number)) return run.ignore();
  run.count(run.writer().put_proposal(source, proposal));
}

// The id may be a contract with `?proposalId=`, an address of Snapshot, or any text.
SourceKey daoip2_place(const Run& run, const std::string& id, std::string& external_id) {
  SourceKey key = listed_source(run, "governor", "");
  external_id = id;
  const std::size_t query = id.find("?proposalId=");
  SourceKey chain = key;
  if (query != std::string::npos && read_caip10(std::string_view(id).substr(0, query), chain)) {
    external_id = id.substr(query + 12);
    if (!run.options().scope.empty()) chain.scope = run.options().scope;
    return chain;
  }
  const Address address = read_address(id);
  if (address.form == AddressForm::snapshot) {
    external_id = address.external_id;
    if (run.options().provider.empty()) key.provider = "snapshot";
    if (run.options().scope.empty()) key.scope = address.scope;
  }
  return key;
}

std::vector<Action> daoip2_calls(const JsonValue& record, const MaybeInteger& chain_id) {
  constexpr std::size_t calls_max = 4096;
  std::vector<Action> actions;
  const JsonValue* calls = record.get("calls");
  if (calls == nullptr) return actions;
  if (!calls->is(ListKind::array)) throw BadRecord("calls is no list");
  if (calls->items.size() > calls_max) throw BadRecord("more than 4096 calls");
  for (const JsonValue& call : calls->items) {
    Action action;
    if (auto target = any_text(call, {"to", "target"}, 128)) action.target = lower_ascii(*target);
    const MaybeText value = any_text(call, {"value"}, 128);
    if (value) action.value = decimal_of_hex(*value);
    if (value && !action.value) action.value = canonical_decimal(*value);
    action.calldata = any_text(call, {"data", "calldata"}, body_bytes_max);
    action.signature = any_text(call, {"signature"}, 4096);
    action.chain_id = chain_id;
    actions.push_back(std::move(action));
  }
  return actions;
}

void take_daoip2(Run& run, const JsonValue& record) {
  const MaybeText id = any_text(record, {"id"}, 512);
  if (!id) throw BadRecord("id is missing");
  std::string external_id;
  const SourceKey place = daoip2_place(run, *id, external_id);
  const std::int64_t source = run.source(place);
  if (external_id.empty()) throw BadRecord("the proposal's id is empty");
  auto known = run.writer().find_proposal(source, external_id);
  ProposalRecord proposal = known.value_or(ProposalRecord{});
  if (!known) {
    proposal.external_id = external_id;
    proposal.title = "Proposal " + std::string(cut_utf8(external_id, 80));
    proposal.time_confidence = Confidence::observed;
  }
  // Data from a more detailed source stays.
  if (!proposal.created_block && !proposal.voting_system) {
    proposal.source_status = text_field(record, "status", 256);
    proposal.actions = daoip2_calls(record, place.chain_id);
  }
  const MaybeText name = any_text(record, {"name", "title"}, 8192);
  if (name && (is_missing_title(proposal) || !known)) proposal.title = *name;
  fill(proposal.url, text_field(record, "contentURI"));
  fill(proposal.discussion_url, text_field(record, "discussionURI"));
  if (!run.first_time(std::to_string(source) + "\n" + external_id)) return run.ignore();
  run.count(run.writer().put_proposal(source, proposal));
}

const JsonValue& part_of(const JsonValue& record, std::string_view name) {
  static const JsonValue nothing;
  const JsonValue* part = record.get(name);
  return part != nullptr && part->is(ListKind::object) ? *part : nothing;
}

void read_tally_votes(ProposalRecord& proposal, const JsonValue& record) {
  const JsonValue* stats = record.get("voteStats");
  if (stats == nullptr || !stats->is(ListKind::array)) return;
  proposal.choices = {{"0", "Against", {}, {}}, {"1", "For", {}, {}}, {"2", "Abstain", {}, {}}};
  std::string total = "0";
  std::int64_t voters = 0;
  for (const JsonValue& stat : stats->items) {
    const std::string_view type = stat.scalar("type");
    const std::size_t at = type == "against" ? 0 : type == "for" ? 1 : type == "abstain" ? 2 : 3;
    if (at == 3) continue;
    proposal.choices[at].score = decimal_field(stat, "votesCount");
    proposal.choices[at].votes_count = integer_field(stat, "votersCount");
    if (proposal.choices[at].score) total = add_decimals(total, *proposal.choices[at].score);
    const std::int64_t counted = proposal.choices[at].votes_count.value_or(0);
    if (counted < 0 || counted > 1'000'000'000) throw BadRecord("votersCount is out of range");
    voters += counted;
  }
  proposal.scores_total = total;
  proposal.votes_count = proposal.voters_count = voters;
}

std::vector<Action> tally_calls(const JsonValue& record, const MaybeInteger& chain_id) {
  std::vector<Action> actions;
  const JsonValue* calls = record.get("executableCalls");
  if (calls == nullptr || !calls->is(ListKind::array)) return actions;
  if (calls->items.size() > 4096) throw BadRecord("more than 4096 calls");
  for (const JsonValue& call : calls->items) {
    Action action;
    if (auto target = any_text(call, {"target"}, 128)) action.target = lower_ascii(*target);
    action.value = decimal_field(call, "value");
    action.signature = any_text(call, {"signature"}, 4096);
    action.calldata = any_text(call, {"calldata"}, body_bytes_max);
    action.chain_id = chain_id;
    actions.push_back(std::move(action));
  }
  return actions;
}

// Tally's state "defeated" means either a lost vote or a missed quorum. Votes for and abstentions
// count towards the quorum, as by OpenZeppelin's default.
bool misses_quorum(const ProposalRecord& proposal) {
  if (!proposal.quorum || proposal.choices.empty()) return false;
  const auto counted = counted_power("governor", proposal.scores_total, proposal.choices);
  return counted && compare_decimals(*counted, *proposal.quorum) < 0;
}

ProposalRecord tally_proposal(const Run& run, const JsonValue& record, const std::string& id) {
  ProposalRecord proposal;
  const JsonValue& texts = part_of(record, "metadata");
  proposal.external_id = id;
  proposal.title =
      text_field(texts, "title", 8192).value_or("Proposal " + std::string(cut_utf8(id, 80)));
  proposal.body = text_field(texts, "description", body_bytes_max);
  proposal.discussion_url = text_field(texts, "discourseURL");
  if (auto proposer = text_field(part_of(record, "proposer"), "address", 128)) {
    proposal.proposer = lower_ascii(*proposer);
  }
  proposal.voting_system = "governor";
  proposal.source_status = text_field(record, "status", 64);
  proposal.standing = listed_standing(tally_states, proposal.source_status);
  proposal.quorum = decimal_field(record, "quorum");
  proposal.times.created = iso_field(run, record, "createdAt");
  proposal.times.starts = iso_field(run, part_of(record, "start"), "timestamp");
  proposal.times.ends = iso_field(run, part_of(record, "end"), "timestamp");
  if (proposal.times.starts && proposal.times.ends &&
      *proposal.times.ends < *proposal.times.starts) {
    throw BadRecord("end lies before start");
  }
  const bool timed = proposal.times.created || proposal.times.starts || proposal.times.ends;
  proposal.time_confidence = timed ? Confidence::exact : Confidence::observed;
  const std::string_view slug = part_of(part_of(record, "governor"), "organization").scalar("slug");
  if (!slug.empty() && slug.size() <= 128) {
    proposal.url = "https://www.tally.xyz/gov/" + std::string(slug) + "/proposal/" + id;
  }
  read_tally_votes(proposal, record);
  if (proposal.standing.outcome == Outcome::failed && misses_quorum(proposal)) {
    proposal.standing.outcome = Outcome::no_quorum;
  }
  if (run.options().keep_raw) proposal.raw_json = record.dump();
  return proposal;
}

// Data from the contract's logs stays; Tally only adds what is missing.
void add_tally(ProposalRecord& known, const ProposalRecord& told) {
  if (is_missing_title(known)) known.title = told.title;
  fill(known.body, told.body);
  fill(known.discussion_url, told.discussion_url);
  fill(known.url, told.url);
  fill(known.quorum, told.quorum);
  fill(known.proposer, told.proposer);
  const bool times_unknown = !known.times.created && !known.times.starts && !known.times.ends;
  fill(known.times.created, told.times.created);
  fill(known.times.starts, told.times.starts);
  fill(known.times.ends, told.times.ends);
  if (times_unknown) known.time_confidence = told.time_confidence;
}

void take_tally(Run& run, const JsonValue& record) {
  const JsonValue* const on_chain = record.find("onchainId");
  const bool is_draft = on_chain != nullptr && on_chain->is(ListKind::null);
  if (is_draft) return run.ignore();  // a draft has no vote
  const MaybeText id = any_text(record, {"onchainId", "id"}, 80);
  if (!id) throw BadRecord("onchainId is missing");
  const MaybeText governor = text_field(part_of(record, "governor"), "id", 256);
  SourceKey key = listed_source(run, "governor", "");
  if (governor && read_caip10(*governor, key) && !run.options().scope.empty()) {
    key.scope = run.options().scope;
  }
  ProposalRecord told = tally_proposal(run, record, *id);
  told.actions = tally_calls(record, key.chain_id);
  const std::int64_t source = run.source(key);
  auto known = run.writer().find_proposal(source, *id);
  // A proposal with a creation block was read from the chain.
  if (known && known->created_block) {
    add_tally(*known, told);
    told = *known;
  }
  if (!run.first_time(std::to_string(source) + "\n" + *id)) return run.ignore();
  run.count(run.writer().put_proposal(source, told));
}

}  // namespace

void import_opengov(Run& run, Input& input) {
  each_record(run, input, {{"referenda", "items"}, false},
              [&](const JsonRecord& record) { take_referendum(run, record.value); });
}

void import_daoip2(Run& run, Input& input) {
  each_record(run, input, {{"proposals"}, false},
              [&](const JsonRecord& record) { take_daoip2(run, record.value); });
}

void import_tally(Run& run, Input& input) {
  each_record(run, input, {{"nodes", "proposals"}, false},
              [&](const JsonRecord& record) { take_tally(run, record.value); });
}

}  // namespace turnpike::govdata
