// Aave's Governance V3: the proposals of the core contract, its events, the proposals' texts, and
// the votes from the voting machines on other chains. Four kinds of files fill the same records.
// Files with proposals or events, in either order, must come before those with texts and votes.
#include <algorithm>
#include <array>

#include "govdata/import/abi.h"
#include "govdata/import/run.h"
#include "govdata/store/decimal.h"
#include "govdata/store/text.h"

namespace turnpike::govdata {
namespace {

using AaveKind = JsonValue::Kind;

constexpr const char* aave_provider = "aave_governance_v3";
constexpr const char* core_contract = "0x9aee0b04504cef83a65ac3f0e838d0593bcb2bc7";
constexpr std::size_t payloads_max = 4096;

// In the contract's order. A state never moves back, so of two files the later state is used.
struct AaveState {
  std::string_view name;
  Standing standing;
};
constexpr std::array<AaveState, 8> aave_states = {{
    {"Null", {Outcome::unknown, Execution::not_started}},
    {"Created", {Outcome::unknown, Execution::not_started}},
    {"Active", {Outcome::unknown, Execution::not_started}},
    {"Queued", {Outcome::passed, Execution::queued}},
    {"Executed", {Outcome::passed, Execution::executed}},
    {"Failed", {Outcome::failed, Execution::not_started}},
    {"Cancelled", {Outcome::canceled, Execution::not_started}},
    {"Expired", {Outcome::unknown, Execution::expired}},
}};

void advance(ProposalRecord& record, std::size_t state) {
  std::size_t known = 0;
  for (std::size_t at = 0; at < aave_states.size(); ++at) {
    if (record.source_status == aave_states[at].name) known = at;
  }
  if (state < known || state >= aave_states.size()) return;
  record.source_status = std::string(aave_states[state].name);
  record.standing = aave_states[state].standing;
}

std::string aave_id(const JsonValue& record, std::string_view name) {
  const std::string_view text = record.scalar(name);
  const bool digits =
      std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
  const auto id = digits && text.size() <= 78 ? canonical_decimal(text) : std::nullopt;
  if (!id) throw BadRecord(std::string(name) + " is missing or no number");
  return *id;
}

// A time in Unix seconds; 0 means never.
MaybeTime passed_seconds(const Run& run, const JsonValue& record, std::string_view name) {
  return record.scalar(name) == "0" ? std::nullopt : seconds_field(run, record, name);
}

class AaveCore {
 public:
  explicit AaveCore(Run& run) : run_(run) {
    const ImportOptions& options = run.options();
    SourceKey key;
    key.dao_id = options.dao.dao_id;
    key.provider = options.provider.empty() ? aave_provider : options.provider;
    key.scope = options.scope.empty() ? std::string("eip155:1:") + core_contract : options.scope;
    key.kind = "proposal";
    key.chain_id = 1;
    key.contract = core_contract;
    key.base_url = options.base_url.empty() ? "https://vote.onaave.com" : options.base_url;
    key.stale_after_s = options.stale_after_s;
    base_url_ = *key.base_url;
    provider_ = key.provider;
    source_ = run.source(key);
  }

  void take(const JsonRecord& record) {
    const JsonValue& value = record.value;
    if (value.find("eventName") != nullptr || value.find("topics") != nullptr) {
      take_event(value);
    } else if (value.find("creationTime") != nullptr) {
      take_proposal(value, record.list);
    } else if (value.find("description") != nullptr || value.find("discussions") != nullptr) {
      take_text(value, record.list);
    } else {
      throw BadRecord("neither a proposal nor an event nor a proposal's text");
    }
  }

 private:
  ProposalRecord known_or_fresh(const std::string& id) {
    auto known = run_.writer().find_proposal(source_, id);
    if (known) return *std::move(known);
    ProposalRecord record;
    record.external_id = id;
    record.title = "Proposal " + id;
    record.url = base_url_ + "/proposal/?proposalId=" + id;
    record.voting_system = "aave-governance-v3";
    record.choices = {{"0", "Against", {}, {}}, {"1", "For", {}, {}}};
    record.time_confidence = Confidence::observed;
    record.standing.execution = Execution::not_started;
    return record;
  }

  void store(ProposalRecord& record) {
    const ProposalTimes& times = record.times;
    const bool any = times.created || times.starts || times.ends || times.queued;
    if (any && record.time_confidence == Confidence::observed) {
      record.time_confidence = Confidence::exact;
    }
    run_.count(run_.writer().put_proposal(source_, record));
  }

  void take_proposal(const JsonValue& value, std::string_view key) {
    JsonValue named;
    named.kind = AaveKind::object;
    named.fields.push_back({"id", {AaveKind::string, false, std::string(key), {}, {}}});
    const std::string id = aave_id(key.empty() ? value : named, "id");
    if (!run_.first_time("state\n" + id)) return run_.ignore();
    const MaybeInteger state = integer_field(value, "state");
    if (!state || *state < 0 || *state > 7) throw BadRecord("state is not 0 to 7");
    ProposalRecord record = known_or_fresh(id);
    record.proposer = lower_ascii(required_text(value, "creator", 64));
    record.content_hash = lower_ascii(required_text(value, "ipfsHash", 128));
    record.times.created = passed_seconds(run_, value, "creationTime");
    record.times.starts = passed_seconds(run_, value, "votingActivationTime");
    const MaybeInteger duration = integer_field(value, "votingDuration");
    if (record.times.starts && duration) {
      if (*duration < 0 || *duration > 1'000'000'000) throw BadRecord("votingDuration is too long");
      record.times.ends = *record.times.starts + *duration * 1000;
    }
    if (auto queued = passed_seconds(run_, value, "queuingTime")) record.times.queued = queued;
    if (auto canceled = passed_seconds(run_, value, "cancelTimestamp")) {
      record.times.canceled = canceled;
    }
    const bool counted = *state >= 3 && *state != 6;
    if (counted) count_votes(record, value, "forVotes", "againstVotes");
    record.actions = payloads_of(value);
    advance(record, static_cast<std::size_t>(*state));
    if (run_.options().keep_raw) record.raw_json = value.dump();
    store(record);
  }

  static void count_votes(ProposalRecord& record, const JsonValue& value,
                          std::string_view in_favour, std::string_view against) {
    const MaybeText yes = decimal_field(value, in_favour);
    const MaybeText no = decimal_field(value, against);
    if (!yes || !no || record.choices.size() != 2) return;
    record.choices[0].score = no;
    record.choices[1].score = yes;
    record.scores_total = add_decimals(*yes, *no);
  }

  // The payloads as calls of the payloads controllers of their chains. As in Governor Bravo, the
  // signature is separate and the calldata contains only the arguments.
  static std::vector<Action> payloads_of(const JsonValue& value) {
    std::vector<Action> actions;
    const JsonValue* list = value.get("payloads");
    if (list == nullptr) return actions;
    if (!list->is(AaveKind::array)) throw BadRecord("payloads is no list");
    if (list->items.size() > payloads_max) throw BadRecord("more than 4096 payloads");
    for (const JsonValue& payload : list->items) {
      Action action;
      action.target = lower_ascii(required_text(payload, "payloadsController", 64));
      action.chain_id = integer_field(payload, "chain");
      action.signature = "executePayload(uint40)";
      const MaybeInteger id = integer_field(payload, "payloadId");
      if (!id || *id < 0) throw BadRecord("payloadId is missing");
      std::string word(32, '\0');
      for (std::size_t at = 0; at < 8; ++at) {
        word[31 - at] = static_cast<char>(static_cast<std::uint64_t>(*id) >> (8 * at));
      }
      action.calldata = hex_of_bytes(word);
      actions.push_back(std::move(action));
    }
    return actions;
  }

  void take_text(const JsonValue& value, std::string_view key) {
    const std::string hash = lower_ascii(
        key.empty() ? any_text(value, {"originalIpfsHash"}, 128).value_or("") : std::string(key));
    if (hash.empty()) throw BadRecord("originalIpfsHash is missing");
    if (!run_.first_time("text\n" + hash)) return run_.ignore();
    const auto places =
        run_.writer().proposals_of_content(provider_, run_.options().dao.dao_id, hash);
    // A cache may contain texts of proposals that were never created.
    if (places.empty()) return run_.ignore();
    Written most = Written::same;
    for (const auto& [source, id] : places) {
      auto record = run_.writer().find_proposal(source, id);
      if (auto title = text_field(value, "title", 8192)) record->title = *title;
      record->body = text_field(value, "description", body_bytes_max);
      record->discussion_url.reset();
      const MaybeText discussion = text_field(value, "discussions");
      const auto urls = urls_in(discussion.value_or(""), 1);
      if (!urls.empty()) record->discussion_url = urls.front();
      const Written written = run_.writer().put_proposal(source, *record);
      if (written != Written::same) most = written;
    }
    run_.count(most);
  }

  struct EventPlace {
    MaybeInteger block, log_index;
    MaybeText tx_hash;
  };

  MaybeTime event_time(ProposalRecord& record, const EventPlace& place) {
    if (!place.block) return std::nullopt;
    const auto time = run_.writer().block_time(1, *place.block);
    if (!time) return std::nullopt;
    if (!time->exact) record.time_confidence = Confidence::estimated;
    return time->time_ms;
  }

  void take_event(const JsonValue& log) {
    const std::string name = event_name(log);
    const JsonValue* args = log.get("args");
    if (args == nullptr || !args->is(AaveKind::object)) throw BadRecord("args is no object");
    EventPlace place;
    place.block = integer_field(log, "blockNumber");
    place.log_index = integer_field(log, "logIndex");
    place.tx_hash = text_field(log, "transactionHash", 128);
    if (name == "VoteEmitted") return take_vote(*args, place);
    constexpr std::array<std::pair<std::string_view, std::size_t>, 6> kinds = {
        {{"ProposalCreated", 1},
         {"VotingActivated", 2},
         {"ProposalQueued", 3},
         {"ProposalExecuted", 4},
         {"ProposalFailed", 5},
         {"ProposalCanceled", 6}}};
    const auto* kind = std::find_if(kinds.begin(), kinds.end(),
                                    [&](const auto& entry) { return entry.first == name; });
    if (kind == kinds.end()) return run_.ignore();
    const std::string id = aave_id(*args, "proposalId");
    if (!run_.first_time(name + "\n" + id)) return run_.ignore();
    ProposalRecord record = known_or_fresh(id);
    apply(record, kind->second, *args, place);
    advance(record, kind->second);
    store(record);
  }

  static std::string event_name(const JsonValue& log) {
    const MaybeText name = any_text(log, {"eventName", "event"}, 128);
    if (!name) throw BadRecord("eventName is missing; raw logs of Aave are not read");
    return *name;
  }

  // The proposals file has exact times, so an event only sets times that are not known yet.
  void apply(ProposalRecord& record, std::size_t kind, const JsonValue& args,
             const EventPlace& place) {
    const auto fill = [&](MaybeTime& time) {
      if (!time) time = event_time(record, place);
    };
    if (kind == 1) {
      fill(record.times.created);
      record.created_block = place.block;
      record.tx_hash = place.tx_hash;
      record.proposer = lower_ascii(required_text(args, "creator", 64));
      record.content_hash = lower_ascii(required_text(args, "ipfsHash", 128));
    } else if (kind == 2) {
      fill(record.times.starts);
      record.start_block = place.block;
      const MaybeInteger duration = integer_field(args, "votingDuration");
      if (duration && (*duration < 0 || *duration > 1'000'000'000)) {
        throw BadRecord("votingDuration is too long");
      }
      if (!record.times.ends && record.times.starts && duration) {
        record.times.ends = *record.times.starts + *duration * 1000;
      }
    } else if (kind == 3 || kind == 5) {
      if (kind == 3) fill(record.times.queued);
      count_votes(record, args, "votesFor", "votesAgainst");
    } else if (kind == 4) {
      fill(record.times.executed);
    } else {
      fill(record.times.canceled);
    }
  }

  void take_vote(const JsonValue& args, const EventPlace& place) {
    const std::string id = aave_id(args, "proposalId");
    VoteRecord vote;
    vote.voter = lower_ascii(required_text(args, "voter", 64));
    const auto support = flag_field(args, "support");
    if (!support) throw BadRecord("support is missing");
    vote.choice_json = vote.choice_id.emplace(*support ? "1" : "0");
    vote.power = decimal_field(args, "votingPower");
    vote.tx_hash = place.tx_hash;
    vote.external_id = place_on_chain(place.block.value_or(0), place.log_index.value_or(0));
    // Voting machines are on several chains. Only a blocks file given for this import is known to
    // be of their chain.
    if (!run_.options().blocks_path.empty() && place.block) {
      const auto time = run_.writer().block_time(run_.options().chain_id, *place.block);
      if (time) vote.voted_at = time->time_ms;
    }
    put_ballot(run_, source_, id, vote);
  }

  Run& run_;
  std::string base_url_, provider_;
  std::int64_t source_ = 0;
};

}  // namespace

void import_aave(Run& run, Input& input) {
  AaveCore core(run);
  JsonShape shape;
  shape.keyed = true;
  each_record(run, input, shape, [&](const JsonRecord& record) { core.take(record); });
}

}  // namespace turnpike::govdata
