#include "govdata/store/writer.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "govdata/store/decimal.h"
#include "govdata/store/digest.h"
#include "govdata/store/text.h"
#include "govdata/store/timestamp.h"
#include "govdata/store/url.h"

namespace turnpike::govdata {
namespace {

using Json = nlohmann::json;

// Marks an item_reference that is the hash of a proposal's text instead of an address.
constexpr std::string_view content_prefix = "content:";

template <class T>
Json maybe(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json actions_hash(const ProposalRecord& record) {
  if (record.actions.empty()) return nullptr;
  Json actions = Json::array();
  for (const Action& action : record.actions) {
    actions.push_back({maybe(action.target), maybe(action.value), maybe(action.signature),
                       maybe(action.calldata), maybe(action.chain_id)});
  }
  return sha256_hex(actions.dump());
}

// The canonical content: two records are the same if and only if their canonical contents are. It
// contains bodies and actions as hashes, so a revision stays small.
Json canonical(const ProposalRecord& record) {
  Json choices = Json::array();
  Json scores = Json::array();
  for (const Choice& choice : record.choices) {
    choices.push_back({choice.id, choice.label});
    scores.push_back({maybe(choice.score), maybe(choice.votes_count)});
  }
  return {
      {"title", record.title},
      {"body", record.body ? Json(sha256_hex(*record.body)) : Json(nullptr)},
      {"proposer", maybe(record.proposer)},
      {"voting_system", maybe(record.voting_system)},
      {"url", maybe(record.url)},
      {"discussion_url", maybe(record.discussion_url)},
      {"source_status", maybe(record.source_status)},
      {"outcome", name_of(record.standing.outcome)},
      {"execution", name_of(record.standing.execution)},
      {"quorum", maybe(record.quorum)},
      {"scores_total", maybe(record.scores_total)},
      {"votes", maybe(record.votes_count)},
      {"voters", maybe(record.voters_count)},
      {"created", maybe(record.times.created)},
      {"start", maybe(record.times.starts)},
      {"end", maybe(record.times.ends)},
      {"canceled", maybe(record.times.canceled)},
      {"queued", maybe(record.times.queued)},
      {"executed", maybe(record.times.executed)},
      {"source_updated", maybe(record.times.source_updated)},
      {"time_confidence", name_of(record.time_confidence)},
      {"blocks", {maybe(record.created_block), maybe(record.start_block), maybe(record.end_block)}},
      {"tx_hash", maybe(record.tx_hash)},
      {"proposal_type", maybe(record.proposal_type)},
      {"flagged", record.flagged},
      {"choices", choices},
      {"scores", scores},
      {"actions", actions_hash(record)},
  };
}

std::string changed_names(const Json& before, const Json& after) {
  Json names = Json::array();
  for (const auto& [name, value] : after.items()) {
    const auto old = before.find(name);
    if (old == before.end() || *old != value) names.push_back(name);
  }
  return names.dump();
}

// The cached evaluation as of the source's time. Readers evaluate again with their clock.
struct Cached {
  std::string_view lifecycle;
  std::int64_t updated_at;
};

Cached cached_state(const ProposalRecord& record, const WriteTimes& times) {
  std::int64_t at = times.as_of_ms;
  for (const auto& told : {record.times.created, record.times.source_updated, record.times.canceled,
                           record.times.queued, record.times.executed}) {
    if (told) at = std::max(at, std::min(*told, times.now_ms));
  }
  const Evaluated state = evaluate(record.times, record.standing, at);
  return {name_of(state.lifecycle), last_change(record.times, at).value_or(at)};
}

}  // namespace

Writer::Writer(Database& database, const WriteTimes& times) : database_(database), times_(times) {
  database.execute(
      "CREATE TEMP TABLE IF NOT EXISTS touched_proposal(pk INTEGER PRIMARY KEY);"
      "CREATE TEMP TABLE IF NOT EXISTS touched_topic(pk INTEGER PRIMARY KEY);"
      "CREATE TEMP TABLE IF NOT EXISTS observed_topic(pk INTEGER PRIMARY KEY);"
      "CREATE TEMP TABLE IF NOT EXISTS met(key INTEGER PRIMARY KEY);"
      "DELETE FROM touched_proposal; DELETE FROM touched_topic; DELETE FROM observed_topic;"
      "DELETE FROM met");
}

Written Writer::put_dao(const DaoRecord& dao) {
  bool known = false;
  {
    auto query = database_.prepare("SELECT 1 FROM dao WHERE dao_id=?1");
    query.with(dao.dao_id);
    known = query.step();
  }
  auto insert = database_.prepare(
      "INSERT INTO dao(dao_id, name, about, website, logo_url, first_seen_at, updated_at) "
      "VALUES (?1, coalesce(?2, ?1), ?3, ?4, ?5, ?6, ?6) ON CONFLICT(dao_id) DO UPDATE SET "
      "name = coalesce(?2, name), about = coalesce(?3, about), "
      "website = coalesce(?4, website), logo_url = coalesce(?5, logo_url), updated_at = ?6 "
      "WHERE (?2 IS NOT NULL AND ?2 <> name) OR (?3 IS NOT NULL AND ?3 IS NOT about) OR "
      "(?4 IS NOT NULL AND ?4 IS NOT website) OR (?5 IS NOT NULL AND ?5 IS NOT logo_url)");
  insert.with(dao.dao_id, dao.name, dao.about, dao.website, dao.logo_url, times_.now_ms).run();
  const bool written = database_.changes() > 0;
  for (const std::string& alias : dao.aliases) {
    if (alias.empty() || alias == dao.dao_id) continue;
    database_.prepare("INSERT OR IGNORE INTO dao_alias(alias, dao_id) VALUES (?1, ?2)")
        .with(alias, dao.dao_id)
        .run();
  }
  return !written ? Written::same : known ? Written::changed : Written::fresh;
}

std::int64_t Writer::put_source(const SourceKey& source) {
  auto upsert = database_.prepare(
      "INSERT INTO source(dao_id, provider, scope, kind, base_url, chain_id, contract, clock_mode,"
      " stale_after_s, as_of, last_attempt_at) VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11) "
      "ON CONFLICT(provider, scope, kind) DO UPDATE SET "
      "base_url = coalesce(?5, base_url), chain_id = coalesce(?6, chain_id), "
      "contract = coalesce(?7, contract), clock_mode = coalesce(?8, clock_mode), "
      "stale_after_s = ?9, as_of = max(coalesce(as_of, ?10), ?10), last_attempt_at = ?11 "
      "RETURNING source_id, dao_id");
  upsert.with(source.dao_id, source.provider, source.scope, source.kind, source.base_url,
              source.chain_id, source.contract, source.clock_mode, source.stale_after_s,
              times_.as_of_ms, times_.now_ms);
  upsert.step();
  const std::int64_t id = upsert.integer(0);
  if (upsert.text(1) != source.dao_id) {
    throw SqliteError(SQLITE_CONSTRAINT, "source " + source.provider + " " + source.scope +
                                             " belongs to DAO " + upsert.text(1));
  }
  while (upsert.step()) {
  }
  sources_[id] = {source.dao_id, source.provider};
  return id;
}

std::string Writer::dao_of(std::int64_t source_id) { return sources_.at(source_id).first; }

std::string Writer::provider_of(std::int64_t source_id) { return sources_.at(source_id).second; }

std::optional<std::int64_t> Writer::proposal_pk(std::int64_t source_id,
                                                const std::string& external_id) {
  const std::string provider = provider_of(source_id);
  auto query = database_.prepare(
      "SELECT proposal_pk FROM proposal WHERE provider=?1 AND source_id=?2 AND external_id=?3");
  query.with(provider, source_id, external_id);
  return query.step() ? std::optional(query.integer(0)) : std::nullopt;
}

Written Writer::put_proposal(std::int64_t source_id, const ProposalRecord& record) {
  const std::string after = canonical(record).dump();
  const auto pk = proposal_pk(source_id, record.external_id);
  if (!pk) {
    const std::int64_t fresh = insert_proposal(source_id, record);
    write_revision(fresh, 1, "[]", after);
    write_parts(fresh, record);
    return Written::fresh;
  }
  std::int64_t revision = 0;
  std::string before;
  {
    auto query = database_.prepare(
        "SELECT revision, snapshot_json FROM proposal_revision WHERE proposal_pk = ?1 "
        "ORDER BY revision DESC LIMIT 1");
    query.with(*pk);
    if (query.step()) {
      revision = query.integer(0);
      before = query.text(1);
    }
  }
  const Cached cached = cached_state(record, times_);
  if (before == after) {
    database_
        .prepare(
            "UPDATE proposal SET last_seen_at=?2, lifecycle=?3, updated_at=?4 "
            "WHERE proposal_pk=?1")
        .with(*pk, times_.now_ms, cached.lifecycle, cached.updated_at)
        .run();
    return Written::same;
  }
  update_proposal(*pk, record);
  write_revision(*pk, revision + 1,
                 changed_names(Json::parse(before, nullptr, false), Json::parse(after)), after);
  write_parts(*pk, record);
  return Written::changed;
}

namespace {

// Insert and update share their first columns, in the order of bind_columns().
constexpr const char* insert_sql =
    "INSERT INTO proposal(title, title_norm, body, body_sha256, proposer, voting_system, url,"
    " url_norm, discussion_url, discussion_norm, lifecycle, outcome, execution, source_status,"
    " quorum, scores_total, votes_count, voters_count, created_at, voting_starts_at,"
    " voting_ends_at, canceled_at, queued_at, executed_at, source_updated_at, time_confidence,"
    " start_block, end_block, created_block, tx_hash, proposal_type, flagged, updated_at,"
    " last_seen_at, raw_json, dao_id, source_id, provider, external_id, first_seen_at)"
    " VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15,?16,?17,?18,?19,?20,?21,?22,?23,"
    "?24,?25,?26,?27,?28,?29,?30,?31,?32,?33,?34,?35,?36,?37,?38,?39,?34)";

constexpr const char* update_sql =
    "UPDATE proposal SET title=?1, title_norm=?2, body=?3, body_sha256=?4, proposer=?5,"
    " voting_system=?6, url=?7, url_norm=?8, discussion_url=?9, discussion_norm=?10,"
    " lifecycle=?11, outcome=?12, execution=?13, source_status=?14, quorum=?15, scores_total=?16,"
    " votes_count=?17, voters_count=?18, created_at=?19, voting_starts_at=?20, voting_ends_at=?21,"
    " canceled_at=?22, queued_at=?23, executed_at=?24, source_updated_at=?25, time_confidence=?26,"
    " start_block=?27, end_block=?28, created_block=?29, tx_hash=?30, proposal_type=?31,"
    " flagged=?32, updated_at=?33, last_seen_at=?34, raw_json=?35, revision=revision+1"
    " WHERE proposal_pk=?36";

std::optional<std::string> normal_address(const MaybeText& url) {
  if (!url) return std::nullopt;
  Address address = read_address(*url);
  if (address.form == AddressForm::none) return std::nullopt;
  return std::move(address.normal);
}

// Computed texts, which must live until the statement that they are bound to has run.
struct Derived {
  explicit Derived(const ProposalRecord& record)
      : title_norm(normal_title(record.title)),
        url_norm(normal_address(record.url)),
        discussion_norm(normal_address(record.discussion_url)) {
    if (record.body) body_sha256 = sha256_hex(*record.body);
  }
  std::string title_norm;
  MaybeText url_norm, discussion_norm, body_sha256;
};

void bind_columns(Statement& statement, const ProposalRecord& record, const Derived& derived,
                  const Cached& cached, std::int64_t now_ms) {
  statement
      .with(record.title, derived.title_norm, record.body, derived.body_sha256, record.proposer,
            record.voting_system, record.url, derived.url_norm, record.discussion_url,
            derived.discussion_norm, cached.lifecycle, name_of(record.standing.outcome),
            name_of(record.standing.execution), record.source_status, record.quorum,
            record.scores_total, record.votes_count, record.voters_count)
      .with(record.times.created, record.times.starts, record.times.ends, record.times.canceled,
            record.times.queued, record.times.executed, record.times.source_updated,
            name_of(record.time_confidence), record.start_block, record.end_block,
            record.created_block, record.tx_hash, record.proposal_type,
            std::int64_t{record.flagged}, cached.updated_at, now_ms, record.raw_json);
}

}  // namespace

std::int64_t Writer::insert_proposal(std::int64_t source_id, const ProposalRecord& record) {
  const Derived derived(record);
  const std::string dao = dao_of(source_id);
  const std::string provider = provider_of(source_id);
  auto insert = database_.prepare(insert_sql);
  bind_columns(insert, record, derived, cached_state(record, times_), times_.now_ms);
  insert.with(dao, source_id, provider, record.external_id).run();
  return database_.last_row_id();
}

void Writer::update_proposal(std::int64_t pk, const ProposalRecord& record) {
  const Derived derived(record);
  auto update = database_.prepare(update_sql);
  bind_columns(update, record, derived, cached_state(record, times_), times_.now_ms);
  update.with(pk).run();
}

void Writer::write_revision(std::int64_t pk, std::int64_t revision,
                            const std::string& changed_fields, const std::string& snapshot) {
  database_
      .prepare(
          "INSERT INTO proposal_revision(proposal_pk, revision, observed_at, run_id,"
          " changed_fields, snapshot_json) VALUES (?1,?2,?3,?4,?5,?6)")
      .with(pk, revision, times_.now_ms, times_.run_id, changed_fields, snapshot)
      .run();
}

void Writer::write_parts(std::int64_t pk, const ProposalRecord& record) {
  database_.prepare("INSERT OR IGNORE INTO touched_proposal(pk) VALUES (?1)").with(pk).run();
  database_.prepare("DELETE FROM proposal_choice WHERE proposal_pk=?1").with(pk).run();
  for (const Choice& choice : record.choices) {
    database_
        .prepare(
            "INSERT INTO proposal_choice(proposal_pk, choice_id, label, score, votes_count)"
            " VALUES (?1,?2,?3,?4,?5)")
        .with(pk, choice.id, choice.label, choice.score, choice.votes_count)
        .run();
  }
  database_.prepare("DELETE FROM proposal_action WHERE proposal_pk=?1").with(pk).run();
  std::int64_t index = 0;
  for (const Action& action : record.actions) {
    database_
        .prepare(
            "INSERT INTO proposal_action(proposal_pk, action_index, target, value, signature,"
            " calldata, chain_id) VALUES (?1,?2,?3,?4,?5,?6,?7)")
        .with(pk, index++, action.target, action.value, action.signature, action.calldata,
              action.chain_id)
        .run();
  }
  write_references("proposal", pk, record.body ? std::string_view(*record.body) : "");
  if (record.content_hash) {
    const std::string reference = std::string(content_prefix) + *record.content_hash;
    database_
        .prepare(
            "INSERT OR IGNORE INTO item_reference(item_kind, item_pk, url_norm)"
            " VALUES ('proposal',?1,?2)")
        .with(pk, reference)
        .run();
  }
}

void Writer::write_references(std::string_view kind, std::int64_t pk, std::string_view text) {
  constexpr std::size_t references_max = 64;
  database_.prepare("DELETE FROM item_reference WHERE item_kind=?1 AND item_pk=?2")
      .with(kind, pk)
      .run();
  for (const std::string& url : urls_in(text, references_max)) {
    const Address address = read_address(url);
    if (address.form == AddressForm::none || address.form == AddressForm::plain) continue;
    database_
        .prepare(
            "INSERT OR IGNORE INTO item_reference(item_kind, item_pk, url_norm)"
            " VALUES (?1,?2,?3)")
        .with(kind, pk, address.normal)
        .run();
  }
}

namespace {

ProposalRecord read_proposal_row(const Statement& row) {
  ProposalRecord record;
  record.external_id = row.text(0);
  record.title = row.text(1);
  record.body = row.maybe_text(2);
  record.proposer = row.maybe_text(3);
  record.voting_system = row.maybe_text(4);
  record.url = row.maybe_text(5);
  record.discussion_url = row.maybe_text(6);
  record.source_status = row.maybe_text(7);
  record.standing = {outcome_of(row.text(8)), execution_of(row.text(9))};
  record.quorum = row.maybe_text(10);
  record.scores_total = row.maybe_text(11);
  record.votes_count = row.maybe_integer(12);
  record.voters_count = row.maybe_integer(13);
  record.times = {row.maybe_integer(14), row.maybe_integer(15), row.maybe_integer(16),
                  row.maybe_integer(17), row.maybe_integer(18), row.maybe_integer(19),
                  row.maybe_integer(20)};
  record.time_confidence = confidence_of(row.text(21));
  record.start_block = row.maybe_integer(22);
  record.end_block = row.maybe_integer(23);
  record.created_block = row.maybe_integer(24);
  record.tx_hash = row.maybe_text(25);
  record.proposal_type = row.maybe_text(26);
  record.flagged = row.integer(27) != 0;
  record.raw_json = row.maybe_text(28);
  return record;
}

}  // namespace

std::optional<ProposalRecord> Writer::find_proposal(std::int64_t source_id,
                                                    const std::string& external_id) {
  const auto pk = proposal_pk(source_id, external_id);
  if (!pk) return std::nullopt;
  ProposalRecord record;
  {
    auto row = database_.prepare(
        "SELECT external_id, title, body, proposer, voting_system, url, discussion_url,"
        " source_status, outcome, execution, quorum, scores_total, votes_count, voters_count,"
        " created_at, voting_starts_at, voting_ends_at, canceled_at, queued_at, executed_at,"
        " source_updated_at, time_confidence, start_block, end_block, created_block, tx_hash,"
        " proposal_type, flagged, raw_json FROM proposal WHERE proposal_pk=?1");
    row.with(*pk);
    row.step();
    record = read_proposal_row(row);
  }
  {
    auto content = database_.prepare(
        "SELECT substr(url_norm, 9) FROM item_reference WHERE item_kind='proposal' AND item_pk=?1"
        " AND url_norm >= 'content:' AND url_norm < 'content;'");
    content.with(*pk);
    if (content.step()) record.content_hash = content.text(0);
  }
  auto choices = database_.prepare(
      "SELECT choice_id, label, score, votes_count FROM proposal_choice WHERE proposal_pk=?1"
      " ORDER BY rowid");
  choices.with(*pk);
  while (choices.step()) {
    record.choices.push_back(
        {choices.text(0), choices.text(1), choices.maybe_text(2), choices.maybe_integer(3)});
  }
  auto actions = database_.prepare(
      "SELECT target, value, signature, calldata, chain_id FROM proposal_action"
      " WHERE proposal_pk=?1 ORDER BY action_index");
  actions.with(*pk);
  while (actions.step()) {
    record.actions.push_back({actions.maybe_text(0), actions.maybe_text(1), actions.maybe_text(2),
                              actions.maybe_text(3), actions.maybe_integer(4)});
  }
  return record;
}

std::optional<Written> Writer::put_vote(std::int64_t source_id, const std::string& proposal_id,
                                        const VoteRecord& vote, bool keep_latest) {
  const auto pk = proposal_pk(source_id, proposal_id);
  if (!pk) return std::nullopt;
  std::optional<VoteRecord> old;
  {
    auto query = database_.prepare(
        "SELECT choice_json, choice_id, power, reason, voted_at, tx_hash, external_id FROM vote"
        " WHERE proposal_pk=?1 AND voter=?2");
    query.with(*pk, vote.voter);
    if (query.step()) {
      old = VoteRecord{vote.voter,          query.text(0),       query.maybe_text(1),
                       query.maybe_text(2), query.maybe_text(3), query.maybe_integer(4),
                       query.maybe_text(5), query.maybe_text(6)};
    }
  }
  if (old && (*old == vote || (keep_latest && old->external_id > vote.external_id))) {
    return Written::same;
  }
  database_
      .prepare(
          "INSERT OR REPLACE INTO vote(proposal_pk, voter, choice_json, choice_id, power,"
          " reason, voted_at, tx_hash, external_id) VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9)")
      .with(*pk, vote.voter, vote.choice_json, vote.choice_id, vote.power, vote.reason,
            vote.voted_at, vote.tx_hash, vote.external_id)
      .run();
  voted_.insert(*pk);
  return old ? Written::changed : Written::fresh;
}

std::optional<std::int64_t> Writer::source_of_proposal(const std::string& provider,
                                                       const std::string& scope,
                                                       const std::string& external_id) {
  auto row = database_.prepare(
      "SELECT s.source_id, s.dao_id, s.provider FROM proposal p JOIN source s USING (source_id)"
      " WHERE p.external_id=?1 AND p.provider=?2 AND (?3 = '' OR s.scope = ?3)"
      " ORDER BY s.source_id LIMIT 1");
  row.with(external_id, provider, scope);
  if (!row.step()) return std::nullopt;
  sources_[row.integer(0)] = {row.text(1), row.text(2)};
  return row.integer(0);
}

std::vector<std::pair<std::int64_t, std::string>> Writer::proposals_of_content(
    const std::string& provider, const std::string& dao_id, const std::string& content_hash) {
  std::vector<std::pair<std::int64_t, std::string>> found;
  const std::string reference = std::string(content_prefix) + content_hash;
  auto row = database_.prepare(
      "SELECT p.source_id, p.external_id FROM item_reference r"
      " JOIN proposal p ON p.proposal_pk = r.item_pk"
      " WHERE r.url_norm=?1 AND r.item_kind='proposal' AND p.provider=?2 AND p.dao_id=?3"
      " ORDER BY p.proposal_pk");
  row.with(reference, provider, dao_id);
  while (row.step()) {
    found.emplace_back(row.integer(0), row.text(1));
    sources_[found.back().first] = {dao_id, provider};
  }
  return found;
}

bool Writer::first_time(std::string_view key) {
  const std::string hex = sha256_hex(key).substr(0, 16);
  const auto hash = static_cast<std::int64_t>(std::stoull(hex, nullptr, 16));
  database_.prepare("INSERT OR IGNORE INTO met(key) VALUES (?1)").with(hash).run();
  return database_.changes() > 0;
}

void Writer::put_block_time(std::int64_t chain_id, std::int64_t block, std::int64_t time_ms) {
  database_
      .prepare("INSERT OR REPLACE INTO block_time(chain_id, block_number, ts) VALUES (?1,?2,?3)")
      .with(chain_id, block, time_ms)
      .run();
}

std::optional<Writer::BlockTime> Writer::block_time(std::int64_t chain_id, std::int64_t block) {
  auto below = database_.prepare(
      "SELECT block_number, ts FROM block_time WHERE chain_id=?1 AND block_number<=?2"
      " ORDER BY block_number DESC LIMIT 1");
  below.with(chain_id, block);
  if (!below.step()) return std::nullopt;
  const std::int64_t low = below.integer(0);
  const std::int64_t low_ms = below.integer(1);
  if (low == block) return BlockTime{low_ms, true};
  auto above = database_.prepare(
      "SELECT block_number, ts FROM block_time WHERE chain_id=?1 AND block_number>?2"
      " ORDER BY block_number LIMIT 1");
  above.with(chain_id, block);
  if (!above.step()) return std::nullopt;
  const double span = static_cast<double>(above.integer(0) - low);
  const double part = static_cast<double>(block - low) / span;
  const auto step_ms =
      static_cast<std::int64_t>(part * static_cast<double>(above.integer(1) - low_ms));
  return BlockTime{low_ms + step_ms, false};
}

}  // namespace turnpike::govdata
