#include "govdata/store/schema.h"

namespace turnpike::govdata {
namespace {

// Bodies and raw records are the last columns of their rows, so the columns that lists read are in
// a row's first page. The index proposal_state covers the one query that reads every proposal (the
// counts by state).
constexpr const char* people_and_runs = R"(
CREATE TABLE dao (
  dao_id TEXT PRIMARY KEY CHECK (length(dao_id) BETWEEN 1 AND 128),
  name TEXT NOT NULL, about TEXT, website TEXT, logo_url TEXT,
  flagged INTEGER NOT NULL DEFAULT 0,
  first_seen_at INTEGER NOT NULL, updated_at INTEGER NOT NULL) STRICT;
CREATE INDEX dao_name ON dao(name COLLATE NOCASE);
CREATE TABLE dao_alias (
  alias TEXT PRIMARY KEY COLLATE NOCASE,
  dao_id TEXT NOT NULL REFERENCES dao(dao_id) ON DELETE CASCADE) STRICT;
CREATE INDEX dao_alias_dao ON dao_alias(dao_id);
CREATE TABLE dao_participation (
  dao_id TEXT PRIMARY KEY REFERENCES dao(dao_id) ON DELETE CASCADE,
  voter_count INTEGER NOT NULL, vote_count INTEGER NOT NULL) STRICT;
CREATE TABLE source (
  source_id INTEGER PRIMARY KEY, dao_id TEXT NOT NULL REFERENCES dao(dao_id) ON DELETE CASCADE,
  provider TEXT NOT NULL, scope TEXT NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('proposal','forum')),
  base_url TEXT, chain_id INTEGER, contract TEXT,
  clock_mode TEXT CHECK (clock_mode IN ('blocknumber','timestamp')),
  decimals INTEGER, as_of INTEGER, stale_after_s INTEGER NOT NULL DEFAULT 3600,
  last_attempt_at INTEGER, last_success_at INTEGER, last_error TEXT, cursor TEXT,
  UNIQUE (provider, scope, kind)) STRICT;
CREATE INDEX source_dao ON source(dao_id, provider, scope);
CREATE TABLE import_run (
  run_id INTEGER PRIMARY KEY, source_id INTEGER REFERENCES source(source_id),
  importer TEXT NOT NULL, input_name TEXT, input_sha256 TEXT,
  started_at INTEGER NOT NULL, finished_at INTEGER,
  status TEXT NOT NULL CHECK (status IN ('running','ok','partial','failed')),
  rows_in INTEGER NOT NULL DEFAULT 0, rows_new INTEGER NOT NULL DEFAULT 0,
  rows_changed INTEGER NOT NULL DEFAULT 0, rows_same INTEGER NOT NULL DEFAULT 0,
  rows_rejected INTEGER NOT NULL DEFAULT 0, error TEXT) STRICT;
CREATE INDEX import_run_running ON import_run(started_at) WHERE status = 'running';
CREATE TABLE block_time (
  chain_id INTEGER NOT NULL, block_number INTEGER NOT NULL, ts INTEGER NOT NULL,
  PRIMARY KEY (chain_id, block_number)) STRICT, WITHOUT ROWID;
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
)";

constexpr const char* proposals = R"(
CREATE TABLE proposal (
  proposal_pk INTEGER PRIMARY KEY, dao_id TEXT NOT NULL REFERENCES dao(dao_id),
  source_id INTEGER NOT NULL REFERENCES source(source_id),
  provider TEXT NOT NULL, external_id TEXT NOT NULL, title TEXT NOT NULL, title_norm TEXT NOT NULL,
  body_sha256 TEXT, proposer TEXT, voting_system TEXT, url TEXT, url_norm TEXT,
  discussion_url TEXT, discussion_norm TEXT,
  lifecycle TEXT NOT NULL CHECK (lifecycle IN ('pending','active','closed','unknown')),
  outcome TEXT NOT NULL
    CHECK (outcome IN ('passed','failed','canceled','no_quorum','unknown')),
  execution TEXT NOT NULL CHECK (execution IN
    ('not_started','queued','executed','expired','not_applicable','unknown')),
  source_status TEXT, quorum TEXT, scores_total TEXT, votes_count INTEGER, voters_count INTEGER,
  created_at INTEGER, voting_starts_at INTEGER, voting_ends_at INTEGER, canceled_at INTEGER,
  queued_at INTEGER, executed_at INTEGER, source_updated_at INTEGER,
  time_confidence TEXT NOT NULL DEFAULT 'exact'
    CHECK (time_confidence IN ('exact','estimated','observed')),
  start_block INTEGER, end_block INTEGER, created_block INTEGER, tx_hash TEXT, proposal_type TEXT,
  flagged INTEGER NOT NULL DEFAULT 0, revision INTEGER NOT NULL DEFAULT 1,
  first_seen_at INTEGER NOT NULL, last_seen_at INTEGER NOT NULL, updated_at INTEGER NOT NULL,
  body TEXT, raw_json TEXT,
  UNIQUE (provider, source_id, external_id)) STRICT;
CREATE INDEX proposal_dao_updated ON proposal(dao_id, updated_at DESC, proposal_pk);
CREATE INDEX proposal_updated ON proposal(updated_at DESC, proposal_pk);
CREATE INDEX proposal_ext ON proposal(external_id);
CREATE INDEX proposal_url ON proposal(url_norm) WHERE url_norm IS NOT NULL;
CREATE INDEX proposal_discussion ON proposal(discussion_norm) WHERE discussion_norm IS NOT NULL;
CREATE INDEX proposal_title ON proposal(title_norm);
CREATE INDEX proposal_end ON proposal(voting_ends_at) WHERE lifecycle <> 'closed';
CREATE INDEX proposal_state ON proposal(dao_id, source_id, outcome, execution, created_at,
  voting_starts_at, voting_ends_at, canceled_at, queued_at, executed_at, source_updated_at,
  first_seen_at, voters_count);
CREATE TABLE proposal_revision (
  proposal_pk INTEGER NOT NULL REFERENCES proposal(proposal_pk) ON DELETE CASCADE,
  revision INTEGER NOT NULL, observed_at INTEGER NOT NULL,
  run_id INTEGER REFERENCES import_run(run_id),
  changed_fields TEXT NOT NULL, snapshot_json TEXT NOT NULL,
  PRIMARY KEY (proposal_pk, revision)) STRICT;
CREATE TABLE proposal_choice (
  proposal_pk INTEGER NOT NULL REFERENCES proposal(proposal_pk) ON DELETE CASCADE,
  choice_id TEXT NOT NULL, label TEXT NOT NULL, score TEXT, votes_count INTEGER,
  PRIMARY KEY (proposal_pk, choice_id)) STRICT;
CREATE TABLE proposal_action (
  proposal_pk INTEGER NOT NULL REFERENCES proposal(proposal_pk) ON DELETE CASCADE,
  action_index INTEGER NOT NULL, target TEXT, value TEXT, signature TEXT, calldata TEXT,
  chain_id INTEGER, PRIMARY KEY (proposal_pk, action_index)) STRICT;
CREATE TABLE vote (
  proposal_pk INTEGER NOT NULL REFERENCES proposal(proposal_pk) ON DELETE CASCADE,
  voter TEXT NOT NULL, choice_json TEXT NOT NULL, choice_id TEXT, power TEXT, reason TEXT,
  voted_at INTEGER, tx_hash TEXT, external_id TEXT,
  PRIMARY KEY (proposal_pk, voter)) STRICT, WITHOUT ROWID;
CREATE VIRTUAL TABLE proposal_title_fts USING fts5(
  title_norm, content='proposal', content_rowid='proposal_pk', tokenize='trigram');
CREATE TRIGGER proposal_title_insert AFTER INSERT ON proposal BEGIN
  INSERT INTO proposal_title_fts(rowid, title_norm) VALUES (new.proposal_pk, new.title_norm);
END;
CREATE TRIGGER proposal_title_delete AFTER DELETE ON proposal BEGIN
  INSERT INTO proposal_title_fts(proposal_title_fts, rowid, title_norm)
    VALUES ('delete', old.proposal_pk, old.title_norm);
END;
CREATE TRIGGER proposal_title_update AFTER UPDATE OF title_norm ON proposal
    WHEN old.title_norm <> new.title_norm BEGIN
  INSERT INTO proposal_title_fts(proposal_title_fts, rowid, title_norm)
    VALUES ('delete', old.proposal_pk, old.title_norm);
  INSERT INTO proposal_title_fts(rowid, title_norm) VALUES (new.proposal_pk, new.title_norm);
END;
)";

constexpr const char* forums_and_events = R"(
CREATE TABLE forum_topic (
  topic_pk INTEGER PRIMARY KEY, dao_id TEXT NOT NULL REFERENCES dao(dao_id),
  source_id INTEGER NOT NULL REFERENCES source(source_id),
  provider TEXT NOT NULL, external_id TEXT NOT NULL, title TEXT NOT NULL, title_norm TEXT NOT NULL,
  slug TEXT, url TEXT, url_norm TEXT, excerpt TEXT, author TEXT,
  category_id TEXT, category_name TEXT, tags_json TEXT NOT NULL DEFAULT '[]',
  posts_count INTEGER, reply_count INTEGER, like_count INTEGER, views INTEGER,
  participants INTEGER, closed INTEGER, archived INTEGER, visible INTEGER,
  governance_score INTEGER NOT NULL DEFAULT 0,
  created_at INTEGER, last_posted_at INTEGER, bumped_at INTEGER,
  first_seen_at INTEGER NOT NULL, last_seen_at INTEGER NOT NULL, updated_at INTEGER NOT NULL,
  raw_json TEXT,
  UNIQUE (provider, source_id, external_id)) STRICT;
CREATE INDEX topic_dao_updated ON forum_topic(dao_id, updated_at DESC, topic_pk);
CREATE INDEX topic_updated ON forum_topic(updated_at DESC, topic_pk);
CREATE INDEX topic_ext ON forum_topic(external_id);
CREATE INDEX topic_url ON forum_topic(url_norm) WHERE url_norm IS NOT NULL;
CREATE INDEX topic_title ON forum_topic(dao_id, title_norm);
CREATE TABLE forum_category (
  source_id INTEGER NOT NULL REFERENCES source(source_id) ON DELETE CASCADE,
  category_id TEXT NOT NULL, name TEXT NOT NULL,
  PRIMARY KEY (source_id, category_id)) STRICT, WITHOUT ROWID;
CREATE TABLE forum_topic_obs (
  topic_pk INTEGER NOT NULL REFERENCES forum_topic(topic_pk) ON DELETE CASCADE,
  observed_at INTEGER NOT NULL, posts_count INTEGER, like_count INTEGER, views INTEGER,
  last_posted_at INTEGER, PRIMARY KEY (topic_pk, observed_at)) STRICT, WITHOUT ROWID;
CREATE TABLE forum_post (
  topic_pk INTEGER NOT NULL REFERENCES forum_topic(topic_pk) ON DELETE CASCADE,
  post_number INTEGER NOT NULL, external_id TEXT, author TEXT,
  post_type INTEGER NOT NULL DEFAULT 1, created_at INTEGER NOT NULL, updated_at INTEGER,
  like_count INTEGER, excerpt TEXT, PRIMARY KEY (topic_pk, post_number)) STRICT, WITHOUT ROWID;
CREATE INDEX post_created ON forum_post(created_at);
CREATE TABLE item_link (
  proposal_pk INTEGER NOT NULL REFERENCES proposal(proposal_pk) ON DELETE CASCADE,
  topic_pk INTEGER NOT NULL REFERENCES forum_topic(topic_pk) ON DELETE CASCADE,
  basis TEXT NOT NULL CHECK (basis IN ('discussion_url','body_url','topic_url','title')),
  PRIMARY KEY (proposal_pk, topic_pk)) STRICT, WITHOUT ROWID;
CREATE INDEX item_link_topic ON item_link(topic_pk);
CREATE TABLE item_reference (
  item_kind TEXT NOT NULL CHECK (item_kind IN ('proposal','forum_topic')),
  item_pk INTEGER NOT NULL, url_norm TEXT NOT NULL,
  PRIMARY KEY (item_kind, item_pk, url_norm)) STRICT, WITHOUT ROWID;
CREATE INDEX item_reference_url ON item_reference(url_norm, item_kind);
CREATE TABLE governance_event (
  event_id TEXT PRIMARY KEY, dao_id TEXT NOT NULL, event_type TEXT NOT NULL,
  item_kind TEXT NOT NULL CHECK (item_kind IN ('proposal','forum_topic')),
  item_pk INTEGER NOT NULL, revision INTEGER NOT NULL DEFAULT 1, event_time INTEGER NOT NULL,
  discovered_time INTEGER NOT NULL, time_confidence TEXT NOT NULL,
  importance INTEGER NOT NULL CHECK (importance BETWEEN 0 AND 100), deadline_at INTEGER,
  reasons_json TEXT NOT NULL, payload_json TEXT NOT NULL) STRICT;
CREATE INDEX ev_time ON governance_event(event_time, event_id);
CREATE INDEX ev_disc ON governance_event(discovered_time, event_id);
CREATE INDEX ev_dao_time ON governance_event(dao_id, event_time, event_id);
CREATE INDEX ev_item ON governance_event(item_kind, item_pk, event_type);
INSERT INTO meta(key, value) VALUES ('revision', '0');
)";

// Tables and indexes that were added later. Older stores get them with their next import.
// uncounted_dao: the DAOs whose ballots have changed since dao_participation was counted.
// ev_rank: the events of a type and an importance, latest first, for feeds by priority.
constexpr const char* later_additions = R"(
CREATE TABLE IF NOT EXISTS uncounted_dao (dao_id TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS ev_dao_disc ON governance_event(dao_id, discovered_time, event_id);
CREATE INDEX IF NOT EXISTS ev_rank
  ON governance_event(event_type, importance, event_time DESC, event_id);
CREATE INDEX IF NOT EXISTS ev_dao_rank
  ON governance_event(dao_id, event_type, importance, event_time DESC, event_id);
)";

// "tpGD". A file of another program is refused.
constexpr std::int64_t application_id = 0x74704744;

void create_tables(Database& database) {
  Transaction transaction(database, Transaction::Kind::write);
  if (database.number("PRAGMA user_version") != 0) return;  // another importer has made the tables
  database.execute(people_and_runs);
  database.execute(proposals);
  database.execute(forums_and_events);
  database.execute(("PRAGMA application_id=" + std::to_string(application_id) +
                    "; PRAGMA user_version=" + std::to_string(schema_version))
                       .c_str());
  transaction.commit();
}

void check_version(Database& database) {
  const std::int64_t version = database.number("PRAGMA user_version");
  if (version > schema_version) {
    throw SchemaError("the store has schema version " + std::to_string(version) +
                      "; this build reads up to " + std::to_string(schema_version) +
                      ": use a newer build");
  }
  const bool is_ours = database.number("PRAGMA application_id") == application_id;
  if (version != schema_version || !is_ours) {
    throw SchemaError("the file is no govdata store");
  }
}

}  // namespace

std::unique_ptr<Database> open_for_import(const std::string& path) {
  auto database = std::make_unique<Database>(path, OpenMode::create);
  if (database->number("SELECT count(*) FROM sqlite_schema") == 0) create_tables(*database);
  check_version(*database);
  database->execute(later_additions);
  return database;
}

std::unique_ptr<Database> open_for_reading(const std::string& path) {
  auto database = std::make_unique<Database>(path, OpenMode::read);
  check_version(*database);
  return database;
}

}  // namespace turnpike::govdata
