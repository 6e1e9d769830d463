// GET /activity: recent activity, with proposals and forum topics in one list.
#include <algorithm>
#include <limits>
#include <tuple>

#include "govdata/serve/routes.h"
#include "govdata/store/text.h"
#include "govdata/store/timestamp.h"

namespace turnpike::govdata {
namespace {

constexpr std::size_t summary_code_points = 280;
constexpr std::int64_t governance_score_min = 50;

struct Happening {
  std::int64_t updated_at;
  bool is_topic;
  std::string dao_id, provider, external_id;
  const ProposalRow* proposal;
  const TopicRow* topic;
};

bool comes_before(const Happening& left, const Happening& right) {
  if (left.updated_at != right.updated_at) return left.updated_at > right.updated_at;
  return std::tie(left.is_topic, left.external_id, left.dao_id, left.provider) <
         std::tie(right.is_topic, right.external_id, right.dao_id, right.provider);
}

// The stored updated_at is as of the time when the source was read. Only votes that were not closed
// then can have started or ended since, so these are read in addition.
std::vector<ProposalRow> changed_proposals(RouteContext& context, const ActivityWindow& window,
                                           std::int64_t limit) {
  const auto& dao = context.request.dao_id;
  const Bind bind = [&](Statement& statement) {
    statement.with(window.start_ms, window.end_ms, limit + 1);
    if (dao) statement.with(*dao);
  };
  auto rows = read_proposals(context.database,
                             dao ? "WHERE p.dao_id = ?4 AND p.updated_at BETWEEN ?1 AND ?2"
                                   " ORDER BY p.updated_at DESC, p.proposal_pk LIMIT ?3"
                                 : "WHERE p.updated_at BETWEEN ?1 AND ?2"
                                   " ORDER BY p.updated_at DESC, p.proposal_pk LIMIT ?3",
                             bind);
  auto open = read_proposals(
      context.database,
      std::string("WHERE p.lifecycle <> 'closed' AND p.voting_ends_at >= ?1"
                  " AND (p.voting_ends_at <= ?2 OR p.voting_starts_at BETWEEN ?1 AND ?2)") +
          (dao ? " AND p.dao_id = ?3" : ""),
      [&](Statement& statement) {
        statement.with(window.start_ms, window.end_ms);
        if (dao) statement.with(*dao);
      });
  for (ProposalRow& row : open) {
    const bool known = std::any_of(rows.begin(), rows.end(),
                                   [&](const ProposalRow& other) { return other.pk == row.pk; });
    if (!known) rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<TopicRow> changed_topics(RouteContext& context, const ActivityWindow& window,
                                     std::int64_t limit) {
  const auto& dao = context.request.dao_id;
  std::string tail = "WHERE t.updated_at BETWEEN ?1 AND ?2";
  if (dao) tail = "WHERE t.dao_id = ?4 AND t.updated_at BETWEEN ?1 AND ?2";
  if (context.request.governance_only) {
    tail += " AND t.governance_score >= " + std::to_string(governance_score_min);
  }
  tail += " ORDER BY t.updated_at DESC, t.topic_pk LIMIT ?3";
  return read_topics(context.database, tail, [&](Statement& statement) {
    statement.with(window.start_ms, window.end_ms, limit + 1);
    if (dao) statement.with(*dao);
  });
}

std::string change_of(const ProposalTimes& times, std::int64_t updated_at) {
  if (times.created == updated_at) return "created";
  if (times.ends == updated_at) return "voting_ended";
  const bool cut_short =
      times.canceled == updated_at && times.ends && *times.canceled < *times.ends;
  if (cut_short) return "voting_ended";
  return times.starts == updated_at ? "voting_started" : "updated";
}

Json proposal_item(RouteContext& context, const ProposalRow& row, std::int64_t updated_at) {
  MaybeText summary;
  {
    auto query = context.database.prepare(
        "SELECT substr(body, 1, 2000) FROM proposal WHERE proposal_pk = ?1");
    query.with(row.pk);
    if (query.step() && !query.is_null(0)) summary = one_line(query.text(0), summary_code_points);
  }
  const Json ref = item_ref(row);
  Json proposal = context.present.summary(row);
  return {{"kind", "proposal"},
          {"type", "proposal"},
          {"daoId", row.dao_id},
          {"daoName", row.dao_name},
          {"title", proposal["title"]},
          {"summary", nullable(summary)},
          {"url", nullable(row.record.url)},
          {"updatedAt", iso_time(updated_at)},
          {"createdAt", iso_or_null(row.record.times.created)},
          {"changeType", change_of(row.record.times, updated_at)},
          {"governanceRelated", true},
          {"itemRef", ref},
          {"evidenceRef", ref},
          {"proposal", std::move(proposal)},
          {"topic", nullptr}};
}

Json topic_item(RouteContext& context, const TopicRow& row) {
  const TopicRecord& record = row.record;
  MaybeText summary;
  if (record.excerpt) summary = one_line(*record.excerpt, summary_code_points);
  const bool fresh = record.posts_count == 1 || record.created_at == row.updated_at;
  const Json ref = item_ref(row);
  Json topic = context.present.summary(row);
  return {{"kind", "forum_topic"},
          {"type", "forum_topic"},
          {"daoId", row.dao_id},
          {"daoName", row.dao_name},
          {"title", topic["title"]},
          {"summary", nullable(summary)},
          {"url", nullable(record.url)},
          {"updatedAt", iso_time(row.updated_at)},
          {"createdAt", iso_or_null(record.created_at)},
          {"changeType", fresh ? "created" : "replied"},
          {"governanceRelated", row.governance_score >= governance_score_min},
          {"itemRef", ref},
          {"evidenceRef", ref},
          {"proposal", nullptr},
          {"topic", std::move(topic)}};
}

// The end of the window: the current time, or the time up to which the data is complete, as the
// operator has configured.
std::int64_t anchor_of(RouteContext& context) {
  if (context.options.activity_anchor == ActivityAnchor::wall_clock) return context.now_ms;
  MaybeTime as_of;
  for (const SourceRow& source : read_sources(context.database, context.request.dao_id)) {
    if (source.as_of && (!as_of || *as_of < *source.as_of)) as_of = source.as_of;
  }
  return std::min(as_of.value_or(context.now_ms), context.now_ms);
}

}  // namespace

std::vector<Json> activity_items(RouteContext& context, const ActivityWindow& window,
                                 std::int64_t limit) {
  std::vector<ProposalRow> proposals;
  std::vector<TopicRow> topics;
  if (context.request.wants_proposals) proposals = changed_proposals(context, window, limit);
  if (context.request.wants_topics) topics = changed_topics(context, window, limit);
  std::vector<Happening> entries;
  for (const ProposalRow& row : proposals) {
    const std::int64_t updated_at = row.updated(window.end_ms);
    if (updated_at < window.start_ms || updated_at > window.end_ms) continue;
    entries.push_back(
        {updated_at, false, row.dao_id, row.provider, row.record.external_id, &row, nullptr});
  }
  for (const TopicRow& row : topics) {
    entries.push_back(
        {row.updated_at, true, row.dao_id, "discourse", row.record.external_id, nullptr, &row});
  }
  std::sort(entries.begin(), entries.end(), comes_before);
  std::vector<Json> items;
  for (const Happening& entry : entries) {
    if (static_cast<std::int64_t>(items.size()) > limit) break;
    items.push_back(entry.is_topic ? topic_item(context, *entry.topic)
                                   : proposal_item(context, *entry.proposal, entry.updated_at));
  }
  return items;
}

Json run_activity(RouteContext& context) {
  const RouteRequest& request = context.request;
  const std::int64_t end_ms = anchor_of(context);
  const ActivityWindow window{end_ms - request.hours * ms_per_hour, end_ms};
  const bool by_clock = context.options.activity_anchor == ActivityAnchor::wall_clock;
  ItemList list;
  bool truncated = false;
  if (!request.dao_unknown) {
    for (Json& item : activity_items(context, window, request.limit)) {
      truncated = list.size() >= static_cast<std::size_t>(request.limit);
      if (truncated || !list.add(std::move(item))) break;
    }
  }
  Json data = {{"window",
                {{"startMs", window.start_ms},
                 {"endMs", window.end_ms},
                 {"hours", request.hours},
                 {"anchor", by_clock ? "wall_clock" : "data_as_of"}}},
               {"count", list.size()},
               {"truncated", truncated || list.full()}};
  data["items"] = list.take();
  if (request.dao_unknown) data["warnings"] = {"unknown_dao"};
  return data;
}

}  // namespace turnpike::govdata
