// The records that importers pass to the store: a proposal, vote, topic or post from its source, in
// the store's units (milliseconds, decimal text). Plain values; one Thread at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "govdata/store/lifecycle.h"

namespace turnpike::govdata {

using MaybeText = std::optional<std::string>;
using MaybeInteger = std::optional<std::int64_t>;

struct SourceKey {
  std::string dao_id;
  std::string provider;  // snapshot, governor, discourse
  std::string scope;     // Snapshot space, contract, forum host
  std::string kind;      // proposal or forum
  MaybeText base_url;
  MaybeInteger chain_id;
  MaybeText contract;
  MaybeText clock_mode;
  std::int64_t stale_after_s = 3600;
};

struct DaoRecord {
  std::string dao_id;
  MaybeText name, about, website, logo_url;
  std::vector<std::string> aliases;
};

struct Action {
  MaybeText target, value, signature, calldata;
  MaybeInteger chain_id;
};

struct ProposalRecord {
  std::string external_id;
  std::string title;
  MaybeText body, proposer, voting_system, url, discussion_url, source_status;
  Standing standing;
  MaybeText quorum, scores_total;
  MaybeInteger votes_count, voters_count;
  ProposalTimes times;
  Confidence time_confidence = Confidence::exact;
  MaybeInteger start_block, end_block, created_block;
  MaybeText tx_hash, proposal_type;
  bool flagged = false;
  std::vector<Choice> choices;
  std::vector<Action> actions;
  MaybeText raw_json;
  MaybeText content_hash;  // identifies its text, if that comes in a separate file
};

struct VoteRecord {
  std::string voter;
  std::string choice_json;
  MaybeText choice_id, power, reason;
  MaybeInteger voted_at;
  MaybeText tx_hash, external_id;
  bool operator==(const VoteRecord&) const = default;
};

struct TopicRecord {
  std::string external_id;
  MaybeText title, slug, url, excerpt, author, category_id, category_name;
  std::optional<std::vector<std::string>> tags;
  MaybeInteger posts_count, reply_count, like_count, views, participants;
  MaybeInteger closed, archived, visible;
  MaybeInteger created_at, last_posted_at, bumped_at;
  bool operator==(const TopicRecord&) const = default;
};

struct PostRecord {
  std::int64_t post_number = 0;
  MaybeText external_id, author;
  std::int64_t post_type = 1;
  std::int64_t created_at = 0;
  MaybeInteger updated_at, like_count;
  MaybeText excerpt;
  bool operator==(const PostRecord&) const = default;
};

}  // namespace turnpike::govdata
