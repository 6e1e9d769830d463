// Writer: the one way records get into the store. Upserts by (provider, source, external id),
// counts what was new, changed or the same, keeps a revision of every change, and at the end of a
// run links proposals with topics and scores the topics. Owned by the importer, used by one Thread
// inside one write Transaction; throws SqliteError.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "govdata/store/records.h"
#include "govdata/store/sqlite.h"

namespace turnpike::govdata {

enum class Written { fresh, changed, same };

struct WriteTimes {
  std::int64_t now_ms = 0;    // when this run writes
  std::int64_t as_of_ms = 0;  // up to when the source's data is complete
  std::optional<std::int64_t> run_id;
};

class Writer {
 public:
  Writer(Database& database, const WriteTimes& times);

  Written put_dao(const DaoRecord& dao);
  // The id of the source, made or brought up to date. REQUIRES: its DAO was put.
  std::int64_t put_source(const SourceKey& source);

  Written put_proposal(std::int64_t source_id, const ProposalRecord& record);
  std::optional<ProposalRecord> find_proposal(std::int64_t source_id,
                                              const std::string& external_id);
  // nullopt: the proposal is not in the store. `keep_latest`: an older ballot of the same voter
  // (by external_id) does not replace a later one.
  std::optional<Written> put_vote(std::int64_t source_id, const std::string& proposal_id,
                                  const VoteRecord& vote, bool keep_latest);

  // The source of this provider, and scope when it is not empty, that holds the proposal.
  std::optional<std::int64_t> source_of_proposal(const std::string& provider,
                                                 const std::string& scope,
                                                 const std::string& external_id);
  // Source and external id of the proposals of this provider and DAO with this content_hash.
  std::vector<std::pair<std::int64_t, std::string>> proposals_of_content(
      const std::string& provider, const std::string& dao_id, const std::string& content_hash);
  // False when this key was met before by this Writer. What was met lies in a temporary table, so
  // that memory does not grow with the input.
  bool first_time(std::string_view key);

  // Fields that `record` leaves empty keep what the store has.
  Written put_topic(std::int64_t source_id, const TopicRecord& record);
  [[nodiscard]] bool has_topic(std::int64_t source_id, const std::string& external_id);
  // REQUIRES: has_topic. `html` of a first post is searched for addresses of proposals.
  Written put_post(std::int64_t source_id, const std::string& topic_id, const PostRecord& post,
                   std::string_view html);
  Written put_category(std::int64_t source_id, const std::string& category_id,
                       const std::string& name);

  void put_block_time(std::int64_t chain_id, std::int64_t block, std::int64_t time_ms);
  struct BlockTime {
    std::int64_t time_ms;
    bool exact;
  };
  // Exact where known, else interpolated between the neighbours, else nullopt.
  std::optional<BlockTime> block_time(std::int64_t chain_id, std::int64_t block);

  // Takes back what the runs after `run_id` wrote of a Governor's proposals because the blocks
  // after `block` are no longer of its chain: ballots and revisions of later blocks, and proposals
  // that were made there. What was derived of them is dropped, too.
  void rewind(std::int64_t source_id, std::int64_t block, std::int64_t run_id);

  // Tallies a Governor's proposal whose source says that voting is over. REQUIRES: all its ballots
  // were put. `same` when there is no such proposal.
  Written end_voting(std::int64_t source_id, const std::string& external_id);

  // Links, scores, tallies and events of all that this Writer touched; the store's revision.
  void finish();
  // Counts the voters of the DAOs whose ballots changed since the last count, by this Writer or by
  // earlier ones. It reads all ballots of these DAOs, so it is no part of finish().
  void count_participation();

 private:
  std::optional<std::int64_t> proposal_pk(std::int64_t source_id, const std::string& external_id);
  std::optional<std::int64_t> topic_pk(std::int64_t source_id, const std::string& external_id);
  std::string dao_of(std::int64_t source_id);
  std::string provider_of(std::int64_t source_id);
  std::int64_t insert_proposal(std::int64_t source_id, const ProposalRecord& record);
  void update_proposal(std::int64_t pk, const ProposalRecord& record);
  void write_revision(std::int64_t pk, std::int64_t revision, const std::string& changed_fields,
                      const std::string& snapshot);
  void write_parts(std::int64_t pk, const ProposalRecord& record);
  void write_references(std::string_view kind, std::int64_t pk, std::string_view text);
  TopicRecord read_topic(std::int64_t pk);
  void write_topic(std::int64_t pk, const TopicRecord& topic);
  void drop_votes_after(std::int64_t source_id, std::int64_t block);
  void restore_revision(std::int64_t pk, std::int64_t revision);
  void drop_proposal(std::int64_t pk);
  void drop_events(std::int64_t pk);
  void observe_topic(std::int64_t pk, const TopicRecord& record);
  void tally_governor_votes();
  Written tally_governor(std::int64_t pk, bool is_over);
  void link_items();
  void score_topics();
  void note_uncounted_daos();

  Database& database_;
  WriteTimes times_;
  std::map<std::int64_t, std::pair<std::string, std::string>> sources_;  // dao, provider
  std::set<std::int64_t> voted_;          // proposals whose ballots changed
  std::set<std::string> recounted_daos_;  // whose ballots may have gone with their proposals
};

// Sorts as it stood on its chain: a ballot's external id.
std::string place_on_chain(std::int64_t block, std::int64_t log_index);

// 0 to 100: how much a forum topic is about governance.
int governance_score(std::string_view title, std::string_view category,
                     const std::vector<std::string>& tags, bool linked);

}  // namespace turnpike::govdata
