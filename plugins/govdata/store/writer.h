// Writer: the only way to write records to the store. It upserts by (provider, source, external
// id), reports whether a record was new, changed or the same, keeps a revision of every change to a
// proposal, and at the end of a run links proposals with topics and scores the topics. Owned by the
// importer or the poller; used by one Thread inside one write Transaction. Throws SqliteError.
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
  std::int64_t now_ms = 0;    // the time of the run
  std::int64_t as_of_ms = 0;  // the source's data is complete up to this time
  std::optional<std::int64_t> run_id;
};

class Writer {
 public:
  Writer(Database& database, const WriteTimes& times);

  // What is put from here on is complete up to this time instead.
  void set_as_of(std::int64_t as_of_ms) { times_.as_of_ms = as_of_ms; }

  Written put_dao(const DaoRecord& dao);
  // Creates or updates the source and returns its id. Its DAO must have been put before.
  std::int64_t put_source(const SourceKey& source);

  Written put_proposal(std::int64_t source_id, const ProposalRecord& record);
  std::optional<ProposalRecord> find_proposal(std::int64_t source_id,
                                              const std::string& external_id);
  // Empty if the proposal is not in the store. With `keep_latest`, an older ballot of the same
  // voter (by external_id) does not replace a later one.
  std::optional<Written> put_vote(std::int64_t source_id, const std::string& proposal_id,
                                  const VoteRecord& vote, bool keep_latest);

  // The source of this provider that has the proposal. An empty `scope` means any scope.
  std::optional<std::int64_t> source_of_proposal(const std::string& provider,
                                                 const std::string& scope,
                                                 const std::string& external_id);
  // The source and the external id of each proposal of this provider and DAO with this
  // content_hash.
  std::vector<std::pair<std::int64_t, std::string>> proposals_of_content(
      const std::string& provider, const std::string& dao_id, const std::string& content_hash);
  // False if this Writer was given the key before. The keys are in a temporary table, so memory
  // does not grow with the input.
  bool first_time(std::string_view key);

  // Fields that are empty in `record` keep their values in the store.
  Written put_topic(std::int64_t source_id, const TopicRecord& record);
  [[nodiscard]] bool has_topic(std::int64_t source_id, const std::string& external_id);
  // The topic must exist (has_topic). In a first post, `html` is searched for addresses of
  // proposals.
  Written put_post(std::int64_t source_id, const std::string& topic_id, const PostRecord& post,
                   std::string_view html);
  Written put_category(std::int64_t source_id, const std::string& category_id,
                       const std::string& name);

  void put_block_time(std::int64_t chain_id, std::int64_t block, std::int64_t time_ms);
  struct BlockTime {
    std::int64_t time_ms;
    bool exact;
  };
  // The exact time if it is known, otherwise a time interpolated between the nearest known blocks.
  // Empty if there are none.
  std::optional<BlockTime> block_time(std::int64_t chain_id, std::int64_t block);

  // Undoes what the runs after `run_id` wrote about a Governor's proposals, because the blocks
  // after `block` are no longer on its chain: ballots and revisions from later blocks, proposals
  // that were created there, and everything derived from them.
  void rewind(std::int64_t source_id, std::int64_t block, std::int64_t run_id);

  // Tallies a Governor's proposal whose source says that voting is over. All of its ballots must
  // have been put. Returns `same` if there is no such proposal.
  Written end_voting(std::int64_t source_id, const std::string& external_id);

  // Updates tallies, links, scores and events of all items that this Writer touched, and the
  // store's revision.
  void finish();
  // Counts the voters of the DAOs whose ballots have changed since the last count, by this Writer
  // or earlier ones. It reads all ballots of these DAOs, so it is not part of finish().
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
  std::set<std::string> recounted_daos_;  // DAOs that may have lost ballots to a rewind
};

// A ballot's external id, which sorts in the order of the chain.
std::string place_on_chain(std::int64_t block, std::int64_t log_index);

// How likely a forum topic is about governance, from 0 to 100.
int governance_score(std::string_view title, std::string_view category,
                     const std::vector<std::string>& tags, bool linked);

}  // namespace turnpike::govdata
