// GET /daos/{dao_id}/proposals/{source}/{external_id}/evidence: what the store knows of a proposal
// and how it knows it. Every statement is counted, hashed or quoted.

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <set>

#include "govdata/serve/routes.h"
#include "govdata/store/decimal.h"
#include "govdata/store/digest.h"
#include "govdata/store/timestamp.h"

namespace turnpike::govdata {
namespace {

constexpr std::size_t top_votes_max = 10;
constexpr std::size_t revisions_max = 200;
constexpr std::size_t discussion_max = 10;
constexpr std::size_t voter_bytes_max = 256;

// Columns that only this route reads: the large ones and the blocks.
struct Substance {
  MaybeText body, raw_json, tx_hash;
  MaybeInteger start_block, end_block, created_block;
};

struct RevisionRow {
  std::int64_t revision = 0, observed_at = 0;
  MaybeInteger run_id, finished_at;
  MaybeText importer;
  std::set<std::string> changed;  // by the store's names
};

struct VoteTally {
  std::int64_t counted = 0;
  std::string power = "0";
  std::map<std::string, std::pair<std::int64_t, std::string>> by_choice;
  struct Ballot {
    std::string voter;
    MaybeText choice_id, power, tx_hash;
    MaybeInteger voted_at;
  };
  std::vector<Ballot> top;
};

struct Evidence {
  ProposalRow row;
  std::vector<Choice> choices;
  Substance substance;
  std::vector<RevisionRow> revisions;  // oldest first
  VoteTally votes;
  Json discussion = Json::array();
};

RouteError missing(const char* what) {
  return {404, "not_found", std::string("this ") + what + " is not in the store",
          {{"missing", what}}};
}

ProposalRow find_row(RouteContext& context) {
  const RouteRequest& request = context.request;
  if (request.dao_unknown) throw missing("dao");
  const std::string provider = provider_name(request.source);
  const auto sources = read_sources(context.database, request.dao_id);
  const bool has_source =
      std::any_of(sources.begin(), sources.end(), [&](const SourceRow& source) {
        return source.kind == "proposal" && source.provider == provider;
      });
  if (!has_source) throw missing("source");
  for (const std::string& id : id_forms(read_item_name(*request.external_id).external_id)) {
    auto rows = read_proposals(context.database,
                               "WHERE p.external_id = ?1 AND p.dao_id = ?2 AND p.provider = ?3"
                               " ORDER BY p.updated_at DESC, p.proposal_pk LIMIT 1",
                               [&](Statement& statement) {
                                 statement.with(id, *request.dao_id, provider);
                               });
    if (!rows.empty()) return std::move(rows.front());
  }
  throw missing("proposal");
}

Substance read_substance(Database& database, std::int64_t pk) {
  auto row = database.prepare(
      "SELECT body, raw_json, tx_hash, start_block, end_block, created_block FROM proposal"
      " WHERE proposal_pk = ?1");
  row.with(pk);
  row.step();
  return {row.maybe_text(0),    row.maybe_text(1),    row.maybe_text(2),
          row.maybe_integer(3), row.maybe_integer(4), row.maybe_integer(5)};
}

std::vector<RevisionRow> read_revisions(Database& database, std::int64_t pk) {
  std::vector<RevisionRow> revisions;
  auto row = database.prepare(
      "SELECT r.revision, r.observed_at, r.run_id, i.finished_at, i.importer, r.changed_fields"
      " FROM proposal_revision r LEFT JOIN import_run i ON i.run_id = r.run_id"
      " WHERE r.proposal_pk = ?1 ORDER BY r.revision");
  row.with(pk);
  while (row.step()) {
    RevisionRow revision{row.integer(0),       row.integer(1),    row.maybe_integer(2),
                         row.maybe_integer(3), row.maybe_text(4), {}};
    for (const auto& name : Json::parse(row.text(5), nullptr, false)) {
      if (name.is_string()) revision.changed.insert(name.get<std::string>());
    }
    revisions.push_back(std::move(revision));
  }
  return revisions;
}

bool has_more_power(const VoteTally::Ballot& left, const VoteTally::Ballot& right) {
  if (left.power.has_value() != right.power.has_value()) return left.power.has_value();
  const int order = left.power ? compare_decimals(*left.power, *right.power) : 0;
  return order != 0 ? order > 0 : left.voter < right.voter;
}

VoteTally tally_votes(Database& database, std::int64_t pk) {
  VoteTally tally;
  auto row = database.prepare(
      "SELECT voter, choice_id, power, tx_hash, voted_at FROM vote WHERE proposal_pk = ?1");
  row.with(pk);
  while (row.step()) {
    VoteTally::Ballot ballot{row.text(0), row.maybe_text(1), row.maybe_text(2), row.maybe_text(3),
                             row.maybe_integer(4)};
    ++tally.counted;
    if (ballot.power) tally.power = add_decimals(tally.power, *ballot.power);
    if (ballot.choice_id) {
      auto& [count, power] =
          tally.by_choice.try_emplace(*ballot.choice_id, 0, "0").first->second;
      ++count;
      if (ballot.power) power = add_decimals(power, *ballot.power);
    }
    const auto place =
        std::upper_bound(tally.top.begin(), tally.top.end(), ballot, has_more_power);
    if (place - tally.top.begin() >= static_cast<std::ptrdiff_t>(top_votes_max)) continue;
    tally.top.insert(place, std::move(ballot));
    if (tally.top.size() > top_votes_max) tally.top.pop_back();
  }
  return tally;
}

Json hashes_of(const Evidence& evidence) {
  const auto hash = [](const MaybeText& text) {
    return text ? Json(sha256_hex(*text)) : Json(nullptr);
  };
  Json description = nullptr;
  if (evidence.row.provider == "governor" && evidence.substance.body) {
    description = "0x" + keccak256_hex(*evidence.substance.body);
  }
  return {{"titleSha256", sha256_hex(evidence.row.record.title)},
          {"bodySha256", hash(evidence.substance.body)},
          {"descriptionKeccak256", description},
          {"rawSha256", hash(evidence.substance.raw_json)}};
}

// For each field, the revision that last changed it, with its import and time.
Json provenance_of(const Evidence& evidence) {
  static constexpr std::pair<const char*, const char*> fields[] = {
      {"title", "title"},        {"body", "body"},           {"proposerId", "proposer"},
      {"choices", "choices"},    {"createdAt", "created"},   {"votingStartsAt", "start"},
      {"votingEndsAt", "end"},   {"quorum", "quorum"},       {"outcome", "outcome"},
      {"votes", "scores"},       {"actions", "actions"},     {"executionStatus", "execution"},
      {"discussionUrl", "discussion_url"}};
  Json list = Json::array();
  for (const auto& [shown, stored] : fields) {
    const RevisionRow* source = nullptr;
    for (const RevisionRow& revision : evidence.revisions) {
      if (revision.revision == 1 || revision.changed.count(stored) > 0) source = &revision;
    }
    if (source == nullptr) continue;
    list.push_back({{"field", shown},
                    {"source", "store"},
                    {"provider", evidence.row.provider},
                    {"sourceUrl", nullable(evidence.row.record.url)},
                    {"importRunId", nullable(source->run_id)},
                    {"importer", nullable(source->importer)},
                    {"observedAt", iso_time(source->observed_at)},
                    {"recordedAt", iso_or_null(source->finished_at)},
                    {"confidence", name_of(evidence.row.record.time_confidence)}});
  }
  return list;
}

// part / whole in percent. The share has six decimal places, so the percentage has up to four.
Json percent_of(const std::optional<std::string>& part, const MaybeText& whole) {
  if (!part || !whole) return nullptr;
  const auto share = share_of(*part, *whole);
  if (!share) return nullptr;
  std::string digits = *share;
  const std::size_t point = std::min(digits.find('.'), digits.size());
  std::string places = point < digits.size() ? digits.substr(point + 1) : std::string();
  places.resize(std::max<std::size_t>(places.size(), 2), '0');
  const std::string moved = digits.substr(0, point) + places.substr(0, 2) + "." + places.substr(2);
  return nullable(canonical_decimal(moved.back() == '.' ? moved.substr(0, moved.size() - 1)
                                                        : moved));
}

Json votes_of(const Evidence& evidence) {
  const ProposalRecord& record = evidence.row.record;
  const VoteTally& tally = evidence.votes;
  if (tally.counted == 0 && !record.votes_count) return nullptr;
  Json by_choice = Json::array();
  for (const Choice& choice : evidence.choices) {
    const auto found = tally.by_choice.find(choice.id);
    const bool any = found != tally.by_choice.end();
    by_choice.push_back({{"id", choice.id},
                         {"label", shown_title(choice.label)},
                         {"voteCount", any ? found->second.first : 0},
                         {"power", any ? found->second.second : "0"}});
  }
  Json top = Json::array();
  for (const VoteTally::Ballot& ballot : tally.top) {
    top.push_back({{"voter", ballot.voter.substr(0, voter_bytes_max)},
                   {"choiceId", nullable(ballot.choice_id)},
                   {"power", nullable(ballot.power)},
                   {"votedAt", iso_or_null(ballot.voted_at)},
                   {"txHash", nullable(ballot.tx_hash)}});
  }
  const auto counted = counted_power(evidence.row, evidence.choices);
  const bool governor = evidence.row.provider == "governor";
  return {{"counted", tally.counted},
          {"reported", nullable(record.votes_count)},
          {"distinctVoters", tally.counted},  // the store keeps one ballot for each voter
          {"knownPower", tally.power},
          {"byChoice", by_choice},
          {"top", top},
          {"quorum",
           {{"required", nullable(record.quorum)},
            {"counted", nullable(counted)},
            {"progressPercent", percent_of(counted, record.quorum)},
            {"reached", nullable(quorum_reached(evidence.row, evidence.choices))},
            {"countingRule", governor ? Json("for_and_abstain") : Json("all_choices")}}}};
}

Json timeline_of(const Evidence& evidence, std::int64_t now_ms) {
  const ProposalTimes& times = evidence.row.record.times;
  const Substance& substance = evidence.substance;
  struct Moment {
    MaybeTime at;
    const char* event;
    MaybeInteger block;
    MaybeText tx_hash;
  };
  std::vector<Moment> moments = {
      {times.created, "created", substance.created_block, substance.tx_hash},
      {times.starts, "voting_started", substance.start_block, {}},
      {times.ends, "voting_ended", substance.end_block, {}},
      {times.canceled, "canceled", {}, {}},
      {times.queued, "queued", {}, {}},
      {times.executed, "executed", {}, {}},
      {times.source_updated, "source_updated", {}, {}}};
  if (times.canceled && times.ends && *times.canceled < *times.ends) moments[2].at.reset();
  std::stable_sort(moments.begin(), moments.end(),
                   [](const Moment& left, const Moment& right) { return left.at < right.at; });
  Json list = Json::array();
  for (const Moment& moment : moments) {
    if (!moment.at || *moment.at > now_ms) continue;
    list.push_back({{"at", iso_time(*moment.at)},
                    {"event", moment.event},
                    {"source", evidence.row.provider},
                    {"txHash", nullable(moment.tx_hash)},
                    {"blockNumber", nullable(moment.block)},
                    {"confidence", name_of(evidence.row.record.time_confidence)}});
  }
  return list;
}

Json discussion_of(RouteContext& context, std::int64_t pk) {
  std::map<std::int64_t, std::string> basis;
  {
    auto row = context.database.prepare(
        "SELECT topic_pk, basis FROM item_link WHERE proposal_pk = ?1");
    row.with(pk);
    while (row.step()) basis[row.integer(0)] = row.text(1);
  }
  Json list = Json::array();
  for (const TopicRow& row :
       read_topics(context.database,
                   "WHERE t.topic_pk IN (SELECT topic_pk FROM item_link WHERE proposal_pk = ?1)"
                   " ORDER BY t.updated_at DESC, t.external_id LIMIT " +
                       std::to_string(discussion_max),
                   [&](Statement& statement) { statement.with(pk); })) {
    Json topic = context.present.summary(row);
    topic["basis"] = basis[row.pk];
    list.push_back(std::move(topic));
  }
  return list;
}

Json revisions_of(const Evidence& evidence, Json& warnings) {
  Json list = Json::array();
  const auto& all = evidence.revisions;
  const std::size_t skipped = all.size() > revisions_max ? all.size() - revisions_max : 0;
  if (skipped > 0) warnings.push_back("revisions_truncated");
  for (std::size_t at = skipped; at < all.size(); ++at) {
    list.push_back({{"revision", all[at].revision},
                    {"observedAt", iso_time(all[at].observed_at)},
                    {"changedFields", all[at].changed}});
  }
  return list;
}

bool matches_reported(const Evidence& evidence) {
  const auto& total = evidence.row.record.scores_total;
  if (!total || evidence.votes.counted == 0) return false;
  const double reported = std::strtod(total->c_str(), nullptr);
  const double summed = std::strtod(evidence.votes.power.c_str(), nullptr);
  return std::fabs(summed - reported) <= 1e-6 * std::max(1.0, reported);
}

bool body_changed(const Evidence& evidence, std::int64_t after_ms) {
  return std::any_of(evidence.revisions.begin(), evidence.revisions.end(),
                     [&](const RevisionRow& revision) {
                       return revision.revision > 1 && revision.observed_at > after_ms &&
                              revision.changed.count("body") > 0;
                     });
}

Json quality_flags(const Evidence& evidence, bool has_actions) {
  const ProposalRecord& record = evidence.row.record;
  const bool has_body = evidence.substance.body.has_value();
  Json flags = Json::array();
  for (const auto& [holds, name] :
       {std::pair{has_body, "registry_body_available"},
        {record.quorum.has_value(), "registry_quorum_available"},
        {evidence.votes.counted > 0, "registry_votes_available"},
        {has_actions, "registry_actions_available"},
        {!evidence.discussion.empty(), "discussion_linked"},
        {record.time_confidence == Confidence::exact, "times_exact"},
        {matches_reported(evidence), "votes_match_reported_total"},
        {has_body && !body_changed(evidence, time_min_ms), "body_unchanged_since_creation"}}) {
    if (holds) flags.push_back(name);
  }
  return flags;
}

void add_warnings(RouteContext& context, const Evidence& evidence, Json& warnings) {
  const ProposalRecord& record = evidence.row.record;
  const auto sources = read_sources(context.database, evidence.row.dao_id);
  const bool stale = std::any_of(sources.begin(), sources.end(), [&](const SourceRow& source) {
    return source.kind == "proposal" && source.provider == evidence.row.provider &&
           source.is_stale(context.now_ms);
  });
  const bool changed_late =
      record.times.starts && body_changed(evidence, *record.times.starts);
  for (const auto& [holds, name] :
       {std::pair{record.votes_count && *record.votes_count > evidence.votes.counted,
                  "votes_partial"},
        {record.time_confidence != Confidence::exact, "times_estimated"},
        {!labels_are_normalised(evidence.choices), "choice_labels_not_normalised"},
        {stale, "source_stale"},
        {changed_late, "body_changed_after_voting_start"}}) {
    if (holds) warnings.push_back(name);
  }
}

Json onchain_of(const Evidence& evidence) {
  const ProposalRow& row = evidence.row;
  if (!row.chain_id && !row.contract) return nullptr;
  return {{"chainId", nullable(row.chain_id)},
          {"contract", nullable(row.contract)},
          {"txHash", nullable(evidence.substance.tx_hash)},
          {"createdBlock", nullable(evidence.substance.created_block)},
          {"startBlock", nullable(evidence.substance.start_block)},
          {"endBlock", nullable(evidence.substance.end_block)}};
}

Json source_refs(const Evidence& evidence) {
  Json refs = Json::array();
  const auto add = [&](const char* type, const Json& url) {
    const Json ref = {{"type", type}, {"url", url}};
    if (url.is_string() && std::find(refs.begin(), refs.end(), ref) == refs.end()) {
      refs.push_back(ref);
    }
  };
  add("proposal", nullable(evidence.row.record.url));
  add("discussion", nullable(evidence.row.record.discussion_url));
  for (const Json& topic : evidence.discussion) add("discussion", topic["source"]["url"]);
  return refs;
}

}  // namespace

Json run_evidence(RouteContext& context) {
  Evidence evidence;
  evidence.row = find_row(context);
  const std::int64_t pk = evidence.row.pk;
  evidence.choices = read_choices(context.database, pk);
  evidence.substance = read_substance(context.database, pk);
  evidence.revisions = read_revisions(context.database, pk);
  evidence.votes = tally_votes(context.database, pk);
  evidence.discussion = discussion_of(context, pk);
  Json warnings = Json::array();
  Json proposal = proposal_detail(context, evidence.row, warnings);
  add_warnings(context, evidence, warnings);
  Json actions = proposal["actions"];
  const bool has_actions = !actions.empty();
  Json revisions = revisions_of(evidence, warnings);
  return {{"proposal", std::move(proposal)},
          {"contentHashes", hashes_of(evidence)},
          {"provenance", provenance_of(evidence)},
          {"votes", votes_of(evidence)},
          {"timeline", timeline_of(evidence, context.now_ms)},
          {"actions", std::move(actions)},
          {"discussion", evidence.discussion},
          {"revisions", std::move(revisions)},
          {"onchain", onchain_of(evidence)},
          {"intelligence",
           {{"status", "unavailable"},
            {"artifactVersion", nullptr},
            {"generatedAt", nullptr},
            {"dossier", nullptr},
            {"sourceRefs", Json::array()},
            {"warnings", Json::array()}}},
          {"qualityFlags", quality_flags(evidence, has_actions)},
          {"warnings", warnings},
          {"sourceRefs", source_refs(evidence)}};
}

}  // namespace turnpike::govdata
