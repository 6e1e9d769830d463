#include "govdata/serve/present.h"

#include <algorithm>
#include <utility>

#include "govdata/store/decimal.h"
#include "govdata/store/text.h"
#include "govdata/store/timestamp.h"
#include "govdata/store/url.h"

namespace turnpike::govdata {
namespace {

constexpr std::size_t title_bytes_max = 1024;
constexpr std::size_t list_bytes_max = reply_bytes_max - (128 << 10);

Json reference(std::string_view kind, const std::string& dao_id, const std::string& source,
               const std::string& external_id, bool unique_id) {
  const std::string id = unique_id ? external_id : dao_id + "~" + source + "~" + external_id;
  return object_of({{"kind", kind}, {"externalId", id}, {"daoId", dao_id}, {"source", source}});
}

}  // namespace

Json object_of(std::initializer_list<Member> members) {
  Json object = Json::object();
  // The vector below the map: its own emplace() searches for the key, and growing copies all keys.
  Json::object_t::Container& list = object.get_ref<Json::object_t&>();
  list.reserve(members.size());
  for (const Member& member : members) {
    list.emplace_back(std::string(member.key), std::move(member.value));
  }
  return object;
}

std::string shown_title(const std::string& title) {
  return std::string(cut_utf8(title, title_bytes_max));
}

Json iso_or_null(const MaybeTime& time_ms) {
  return time_ms ? Json(iso_time(*time_ms)) : Json(nullptr);
}

Json item_ref(const ProposalRow& row) {
  return reference("proposal", row.dao_id, row.provider, row.record.external_id, row.unique_id);
}

Json item_ref(const TopicRow& row) {
  return reference("forum_topic", row.dao_id, "discourse", row.record.external_id, row.unique_id);
}

std::string provider_name(const std::string& source) {
  return source == "degov-square" || source == "tally" ? "governor" : source;
}

ItemName read_item_name(const std::string& text) {
  const std::size_t first = text.find('~');
  const std::size_t second = first == std::string::npos ? first : text.find('~', first + 1);
  if (second == std::string::npos) return {std::nullopt, std::nullopt, text};
  return {text.substr(0, first), provider_name(text.substr(first + 1, second - first - 1)),
          text.substr(second + 1)};
}

std::optional<std::string> counted_power(const ProposalRow& row,
                                         const std::vector<Choice>& choices) {
  return counted_power(row.provider, row.record.scores_total, choices);
}

std::optional<bool> quorum_reached(const ProposalRow& row, const std::vector<Choice>& choices) {
  return quorum_reached(row.provider, row.record.quorum, row.record.scores_total, choices);
}

Json share_json(const std::optional<std::string>& part, const std::vector<Choice>& choices) {
  std::string whole = "0";
  for (const Choice& choice : choices) {
    if (!choice.score) return nullptr;
    whole = add_decimals(whole, *choice.score);
  }
  return part ? nullable(share_of(*part, whole)) : Json(nullptr);
}

Json Presenter::summary(const ProposalRow& row, const std::vector<Choice>& choices) const {
  const ProposalRecord& record = row.record;
  const Evaluated state = evaluate(record.times, record.standing, now_ms);
  Json leader = nullptr;
  if (const auto at = leading_choice(choices)) {
    const Choice& choice = choices[*at];
    leader = object_of({{"id", choice.id},
                        {"label", shown_title(choice.label)},
                        {"power", nullable(choice.score)},
                        {"share", share_json(choice.score, choices)}});
  }
  return object_of({
      {"daoId", row.dao_id},
      {"daoName", row.dao_name},
      {"source", object_of({{"provider", row.provider},
                            {"externalId", record.external_id},
                            {"url", nullable(record.url)},
                            {"discussionUrl", nullable(record.discussion_url)},
                            {"chainId", nullable(row.chain_id)},
                            {"contract", nullable(row.contract)}})},
      {"title", shown_title(record.title)},
      {"proposerId", nullable(record.proposer)},
      {"proposalType", nullable(record.proposal_type)},
      {"votingSystem", nullable(record.voting_system)},
      {"status", name_of(state.lifecycle)},
      {"outcome", name_of(state.outcome)},
      {"executionStatus", name_of(state.execution)},
      {"sourceStatus", nullable(record.source_status)},
      {"createdAt", iso_or_null(record.times.created)},
      {"votingStartsAt", iso_or_null(record.times.starts)},
      {"votingEndsAt", iso_or_null(record.times.ends)},
      {"updatedAt", iso_time(row.updated(now_ms))},
      {"timeConfidence", name_of(record.time_confidence)},
      {"votes", object_of({{"count", nullable(record.votes_count)},
                           {"totalPower", nullable(record.scores_total)},
                           {"quorum", nullable(record.quorum)},
                           {"quorumReached", nullable(quorum_reached(row, choices))},
                           {"leadingChoice", std::move(leader)}})},
      {"dataAsOf", iso_or_null(row.as_of)},
  });
}

Json Presenter::summary(const TopicRow& row) const {
  const TopicRecord& record = row.record;
  Json category = nullptr;
  if (record.category_id) {
    category = object_of({{"id", *record.category_id}, {"name", nullable(record.category_name)}});
  }
  // The opening post does not count as a comment.
  MaybeInteger comments = record.posts_count;
  if (comments && *comments > 0) --*comments;
  return object_of({
      {"daoId", row.dao_id},
      {"daoName", row.dao_name},
      {"source", object_of({{"provider", "discourse"},
                            {"externalId", record.external_id},
                            {"url", nullable(record.url)}})},
      {"title", shown_title(record.title.value_or(""))},
      {"author", nullable(record.author)},
      {"category", std::move(category)},
      {"tags", record.tags.value_or(std::vector<std::string>{})},
      {"commentCount", nullable(comments)},
      {"likeCount", nullable(record.like_count)},
      {"viewCount", nullable(record.views)},
      {"participantCount", nullable(record.participants)},
      {"governanceScore", row.governance_score},
      {"createdAt", iso_or_null(record.created_at)},
      {"lastPostedAt", iso_or_null(record.last_posted_at)},
      {"updatedAt", iso_time(row.updated_at)},
      {"dataAsOf", iso_or_null(row.as_of)},
  });
}

std::string Presenter::evidence_of(const ProposalRow& row) const {
  const std::string values[] = {percent_encoded(row.dao_id), percent_encoded(row.provider),
                                percent_encoded(row.record.external_id)};
  const std::string pattern =
      evidence_path.empty() ? "/daos/{}/proposals/{}/{}/evidence" : evidence_path;
  std::string path;
  std::size_t next = 0;
  for (std::size_t at = 0; at < pattern.size(); ++at) {
    if (pattern[at] != '{' || next >= 3) {
      path += pattern[at];
      continue;
    }
    path += values[next++];
    at = pattern.find('}', at);
    if (at == std::string::npos) break;
  }
  return path;
}

namespace {

// An upper bound of the value's length as JSON: every byte of a text may become an escape of six
// bytes.
std::size_t json_bytes_max(const Json& value) {
  constexpr std::size_t number_bytes_max = 32;
  if (value.is_string()) return 2 + 6 * value.get_ref<const std::string&>().size();
  if (!value.is_structured()) return number_bytes_max;
  std::size_t bytes = 2;
  if (value.is_array()) {
    for (const Json& item : value) bytes += 1 + json_bytes_max(item);
    return bytes;
  }
  for (const auto& [key, member] : value.get_ref<const Json::object_t&>()) {
    bytes += 4 + 6 * key.size() + json_bytes_max(member);
  }
  return bytes;
}

bool is_plain(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
  });
}

// Writes the same as Json::dump(), but faster for texts without characters to escape.
void append_json(std::string& out, const Json& value) {
  const auto append_text = [&](const std::string& text) {
    if (!is_plain(text)) {
      out += Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
      return;
    }
    out.append(1, '"').append(text).append(1, '"');
  };
  if (value.is_string()) return append_text(value.get_ref<const std::string&>());
  if (!value.is_structured()) {
    out += value.dump();
    return;
  }
  const bool is_list = value.is_array();
  char separator = is_list ? '[' : '{';
  if (value.empty()) out += separator;
  if (is_list) {
    for (const Json& item : value) {
      out += std::exchange(separator, ',');
      append_json(out, item);
    }
  } else {
    for (const auto& [key, member] : value.get_ref<const Json::object_t&>()) {
      out += std::exchange(separator, ',');
      append_text(key);
      out += ':';
      append_json(out, member);
    }
  }
  out += is_list ? ']' : '}';
}

}  // namespace

bool ItemList::add(Json item) {
  // Use an upper bound first, since writing an item only to measure it would double the cost.
  if (!is_exact_) {
    const std::size_t bytes = json_bytes_max(item) + 1;
    if (bytes_ + bytes <= list_bytes_max) {
      bytes_ += bytes;
      items_.push_back(std::move(item));
      return true;
    }
    is_exact_ = true;
    bytes_ = dump(items_).size();
  }
  bytes_ += dump(item).size() + 1;
  if (bytes_ > list_bytes_max) full_ = true;
  if (full_) return false;
  items_.push_back(std::move(item));
  return true;
}

std::string dump(const Json& value) {
  std::string text;
  append_json(text, value);
  return text;
}

}  // namespace turnpike::govdata
