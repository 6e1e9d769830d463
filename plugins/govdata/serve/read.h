// Rows of the store for the routes, and the queries that read them. A Database is used by one
// Thread at a time. All functions throw SqliteError.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "govdata/store/records.h"
#include "govdata/store/sqlite.h"

namespace turnpike::govdata {

struct ProposalRow {
  std::int64_t pk = 0;
  std::string dao_id, dao_name, provider;
  ProposalRecord record;  // without body, choices and actions
  std::int64_t revision = 0;
  std::int64_t updated_at = 0;  // as stored; see updated()
  MaybeText body_sha256, contract;
  MaybeInteger chain_id, as_of;
  bool unique_id = true;  // no other proposal in the store has its external id

  // The time of the latest change at or before `now_ms`; the stored time if none is known.
  [[nodiscard]] std::int64_t updated(std::int64_t now_ms) const {
    return last_change(record.times, now_ms).value_or(updated_at);
  }
};

struct TopicRow {
  std::int64_t pk = 0;
  std::string dao_id, dao_name;
  TopicRecord record;
  std::int64_t governance_score = 0;
  std::int64_t updated_at = 0;
  MaybeInteger as_of;
  bool unique_id = true;
};

struct SourceRow {
  std::int64_t id = 0;
  std::string dao_id, provider, scope, kind;
  MaybeText base_url, last_error;
  MaybeInteger as_of, last_attempt_at, last_success_at;
  std::int64_t stale_after_s = 0;
  bool is_polled = false;

  // Whether its first round of polling is not over yet.
  [[nodiscard]] bool is_backfilling() const { return is_polled && !last_success_at; }
  [[nodiscard]] bool is_stale(std::int64_t now_ms) const {
    return as_of && now_ms - *as_of > stale_after_s * 1000;
  }
};

struct DaoRow {
  std::string dao_id, name;
  MaybeText about, website, logo_url;
  std::vector<std::string> aliases;
  MaybeInteger voter_count, vote_count;
};

// The columns from which a proposal's state is computed. A covering index has all of them.
struct StateRow {
  std::int64_t pk = 0;
  std::string dao_id;
  std::int64_t source_id = 0;
  Standing standing;
  ProposalTimes times;
  std::int64_t first_seen_at = 0;
  MaybeInteger voters;
};

// `tail` is the SQL after the FROM clause, which has the aliases p (proposal), d (dao) and s
// (source). `bind` binds its parameters.
using Bind = std::function<void(Statement&)>;
std::vector<ProposalRow> read_proposals(Database& database, const std::string& tail,
                                        const Bind& bind);
std::optional<ProposalRow> read_proposal(Database& database, std::int64_t pk);
// The same with the aliases t (forum_topic), d and s.
std::vector<TopicRow> read_topics(Database& database, const std::string& tail, const Bind& bind);

std::vector<Choice> read_choices(Database& database, std::int64_t proposal_pk);

// All sources, or those of one DAO, ordered by DAO, provider and scope.
std::vector<SourceRow> read_sources(Database& database, const std::optional<std::string>& dao_id);
std::vector<DaoRow> read_daos(Database& database, const std::optional<std::string>& dao_id);

void scan_states(Database& database, const std::optional<std::string>& dao_id,
                 const std::function<void(const StateRow&)>& visit);

// The canonical id of a DAO, given its id, an alias or its display name. Empty if there is no such
// DAO or the display name is ambiguous.
std::optional<std::string> resolve_dao(Database& database, const std::string& name);

std::int64_t read_revision(Database& database);
bool import_is_running(Database& database, std::int64_t now_ms);

}  // namespace turnpike::govdata
