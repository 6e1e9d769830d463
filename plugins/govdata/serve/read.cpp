#include "govdata/serve/read.h"

#include <nlohmann/json.hpp>

#include "govdata/store/text.h"
#include "govdata/store/timestamp.h"

namespace turnpike::govdata {
namespace {

constexpr std::string_view proposal_select =
    "SELECT p.proposal_pk, p.dao_id, d.name, p.provider, p.external_id, p.title, p.proposer,"
    " p.voting_system, p.url, p.discussion_url, p.outcome, p.execution, p.source_status, p.quorum,"
    " p.scores_total, p.votes_count, p.voters_count, p.created_at, p.voting_starts_at,"
    " p.voting_ends_at, p.canceled_at, p.queued_at, p.executed_at, p.source_updated_at,"
    " p.time_confidence, p.proposal_type, p.flagged, p.revision, p.updated_at, p.body_sha256,"
    " s.chain_id, s.contract, s.as_of, (SELECT count(*) FROM (SELECT 1 FROM proposal q"
    " WHERE q.external_id = p.external_id LIMIT 2))"
    " FROM proposal p JOIN dao d ON d.dao_id = p.dao_id JOIN source s"
    " ON s.source_id = p.source_id ";

constexpr std::string_view topic_select =
    "SELECT t.topic_pk, t.dao_id, d.name, t.external_id, t.title, t.slug, t.url, t.excerpt,"
    " t.author, t.category_id, t.category_name, t.tags_json, t.posts_count, t.reply_count,"
    " t.like_count, t.views, t.participants, t.closed, t.archived, t.visible, t.created_at,"
    " t.last_posted_at, t.bumped_at, t.governance_score, t.updated_at, s.as_of,"
    " (SELECT count(*) FROM (SELECT 1 FROM forum_topic q WHERE q.external_id = t.external_id"
    " LIMIT 2))"
    " FROM forum_topic t JOIN dao d ON d.dao_id = t.dao_id JOIN source s"
    " ON s.source_id = t.source_id ";

ProposalRow proposal_of(const Statement& row) {
  ProposalRow proposal;
  proposal.pk = row.integer(0);
  proposal.dao_id = row.text(1);
  proposal.dao_name = row.text(2);
  proposal.provider = row.text(3);
  ProposalRecord& record = proposal.record;
  record.external_id = row.text(4);
  record.title = row.text(5);
  record.proposer = row.maybe_text(6);
  record.voting_system = row.maybe_text(7);
  record.url = row.maybe_text(8);
  record.discussion_url = row.maybe_text(9);
  record.standing = {outcome_of(row.text(10)), execution_of(row.text(11))};
  record.source_status = row.maybe_text(12);
  record.quorum = row.maybe_text(13);
  record.scores_total = row.maybe_text(14);
  record.votes_count = row.maybe_integer(15);
  record.voters_count = row.maybe_integer(16);
  record.times = {row.maybe_integer(17), row.maybe_integer(18), row.maybe_integer(19),
                  row.maybe_integer(20), row.maybe_integer(21), row.maybe_integer(22),
                  row.maybe_integer(23)};
  record.time_confidence = confidence_of(row.text(24));
  record.proposal_type = row.maybe_text(25);
  record.flagged = row.integer(26) != 0;
  proposal.revision = row.integer(27);
  proposal.updated_at = row.integer(28);
  proposal.body_sha256 = row.maybe_text(29);
  proposal.chain_id = row.maybe_integer(30);
  proposal.contract = row.maybe_text(31);
  proposal.as_of = row.maybe_integer(32);
  proposal.unique_id = row.integer(33) < 2;
  return proposal;
}

TopicRow topic_of(const Statement& row) {
  TopicRow topic;
  topic.pk = row.integer(0);
  topic.dao_id = row.text(1);
  topic.dao_name = row.text(2);
  TopicRecord& record = topic.record;
  record.external_id = row.text(3);
  record.title = row.text(4);
  record.slug = row.maybe_text(5);
  record.url = row.maybe_text(6);
  record.excerpt = row.maybe_text(7);
  record.author = row.maybe_text(8);
  record.category_id = row.maybe_text(9);
  record.category_name = row.maybe_text(10);
  record.tags.emplace();
  for (const auto& tag : nlohmann::json::parse(row.text(11), nullptr, false)) {
    if (tag.is_string()) record.tags->push_back(tag.get<std::string>());
  }
  record.posts_count = row.maybe_integer(12);
  record.reply_count = row.maybe_integer(13);
  record.like_count = row.maybe_integer(14);
  record.views = row.maybe_integer(15);
  record.participants = row.maybe_integer(16);
  record.closed = row.maybe_integer(17);
  record.archived = row.maybe_integer(18);
  record.visible = row.maybe_integer(19);
  record.created_at = row.maybe_integer(20);
  record.last_posted_at = row.maybe_integer(21);
  record.bumped_at = row.maybe_integer(22);
  topic.governance_score = row.integer(23);
  topic.updated_at = row.integer(24);
  topic.as_of = row.maybe_integer(25);
  topic.unique_id = row.integer(26) < 2;
  return topic;
}

}  // namespace

std::vector<ProposalRow> read_proposals(Database& database, const std::string& tail,
                                        const Bind& bind) {
  std::vector<ProposalRow> rows;
  auto statement = database.prepare(std::string(proposal_select) + tail);
  bind(statement);
  while (statement.step()) rows.push_back(proposal_of(statement));
  return rows;
}

std::optional<ProposalRow> read_proposal(Database& database, std::int64_t pk) {
  auto rows = read_proposals(database, "WHERE p.proposal_pk = ?1",
                             [&](Statement& statement) { statement.with(pk); });
  if (rows.empty()) return std::nullopt;
  return std::move(rows.front());
}

std::vector<TopicRow> read_topics(Database& database, const std::string& tail, const Bind& bind) {
  std::vector<TopicRow> rows;
  auto statement = database.prepare(std::string(topic_select) + tail);
  bind(statement);
  while (statement.step()) rows.push_back(topic_of(statement));
  return rows;
}

std::vector<Choice> read_choices(Database& database, std::int64_t proposal_pk) {
  std::vector<Choice> choices;
  auto row = database.prepare(
      "SELECT choice_id, label, score, votes_count FROM proposal_choice WHERE proposal_pk = ?1"
      " ORDER BY rowid");
  row.with(proposal_pk);
  while (row.step()) {
    choices.push_back({row.text(0), row.text(1), row.maybe_text(2), row.maybe_integer(3)});
  }
  return choices;
}

std::vector<SourceRow> read_sources(Database& database, const std::optional<std::string>& dao_id) {
  std::vector<SourceRow> sources;
  auto row = database.prepare(
      dao_id ? "SELECT source_id, dao_id, provider, scope, kind, base_url, last_error, as_of,"
               " last_attempt_at, last_success_at, stale_after_s, cursor IS NOT NULL FROM source"
               " WHERE dao_id = ?1"
               " ORDER BY dao_id, provider, scope"
             : "SELECT source_id, dao_id, provider, scope, kind, base_url, last_error, as_of,"
               " last_attempt_at, last_success_at, stale_after_s, cursor IS NOT NULL FROM source"
               " ORDER BY dao_id, provider, scope");
  if (dao_id) row.with(*dao_id);
  while (row.step()) {
    sources.push_back({row.integer(0), row.text(1), row.text(2), row.text(3), row.text(4),
                       row.maybe_text(5), row.maybe_text(6), row.maybe_integer(7),
                       row.maybe_integer(8), row.maybe_integer(9), row.integer(10),
                       row.integer(11) != 0});
  }
  return sources;
}

std::vector<DaoRow> read_daos(Database& database, const std::optional<std::string>& dao_id) {
  std::vector<DaoRow> daos;
  {
    auto row = database.prepare(
        dao_id ? "SELECT d.dao_id, d.name, d.about, d.website, d.logo_url, n.voter_count,"
                 " n.vote_count FROM dao d LEFT JOIN dao_participation n USING (dao_id)"
                 " WHERE d.dao_id = ?1"
               : "SELECT d.dao_id, d.name, d.about, d.website, d.logo_url, n.voter_count,"
                 " n.vote_count FROM dao d LEFT JOIN dao_participation n USING (dao_id)"
                 " ORDER BY d.dao_id");
    if (dao_id) row.with(*dao_id);
    while (row.step()) {
      daos.push_back({row.text(0),
                      row.text(1),
                      row.maybe_text(2),
                      row.maybe_text(3),
                      row.maybe_text(4),
                      {},
                      row.maybe_integer(5),
                      row.maybe_integer(6)});
    }
  }
  for (DaoRow& dao : daos) {
    auto alias = database.prepare("SELECT alias FROM dao_alias WHERE dao_id = ?1 ORDER BY alias");
    alias.with(dao.dao_id);
    while (alias.step()) dao.aliases.push_back(alias.text(0));
  }
  return daos;
}

void scan_states(Database& database, const std::optional<std::string>& dao_id,
                 const std::function<void(const StateRow&)>& visit) {
  const std::string select =
      "SELECT proposal_pk, dao_id, source_id, outcome, execution, created_at, voting_starts_at,"
      " voting_ends_at, canceled_at, queued_at, executed_at, source_updated_at, first_seen_at,"
      " voters_count FROM proposal INDEXED BY proposal_state";
  auto row = database.prepare(dao_id ? select + " WHERE dao_id = ?1" : select);
  if (dao_id) row.with(*dao_id);
  StateRow state;
  while (row.step()) {
    state.pk = row.integer(0);
    state.dao_id = row.text(1);
    state.source_id = row.integer(2);
    state.standing = {outcome_of(row.text(3)), execution_of(row.text(4))};
    state.times = {row.maybe_integer(5), row.maybe_integer(6), row.maybe_integer(7),
                   row.maybe_integer(8), row.maybe_integer(9), row.maybe_integer(10),
                   row.maybe_integer(11)};
    state.first_seen_at = row.integer(12);
    state.voters = row.maybe_integer(13);
    visit(state);
  }
}

std::optional<std::string> resolve_dao(Database& database, const std::string& name) {
  const std::string lower = lower_ascii(name);
  for (const char* sql :
       {"SELECT dao_id FROM dao WHERE dao_id = ?1", "SELECT dao_id FROM dao_alias WHERE alias = ?1",
        "SELECT dao_id FROM dao WHERE name = ?1 COLLATE NOCASE LIMIT 2"}) {
    auto row = database.prepare(sql);
    row.with(lower);
    if (!row.step()) continue;
    std::string found = row.text(0);
    if (!row.step()) return found;  // a name that two DAOs share matches neither
  }
  return std::nullopt;
}

std::int64_t read_revision(Database& database) {
  return database.number("SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'revision'");
}

bool import_is_running(Database& database, std::int64_t now_ms) {
  // The row of an importer that crashed stays `running`, so it is ignored after an hour.
  auto row = database.prepare(
      "SELECT 1 FROM import_run WHERE status = 'running' AND started_at > ?1 LIMIT 1");
  row.with(now_ms - ms_per_hour);
  return row.step();
}

}  // namespace turnpike::govdata
