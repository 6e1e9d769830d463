// GET /governance-signals and GET /governance-events: the events of a span of time. Signals are for
// people and agents, by priority; events are for machines, in the order of time.
#include <algorithm>
#include <string_view>

#include "govdata/serve/feed.h"
#include "govdata/store/timestamp.h"

namespace turnpike::govdata {
namespace {

constexpr int high_score_min = 80;
constexpr int medium_score_min = 50;

void require_derived(RouteContext& context) {
  if (events_are_derived(context.database)) return;
  const bool empty = context.database.number(
                         "SELECT EXISTS (SELECT 1 FROM proposal) + EXISTS (SELECT 1 FROM"
                         " forum_topic)") == 0;
  if (empty) return;
  throw RouteError(503, "unavailable",
                   "the events of this store are not derived yet; any import derives them");
}

Json window_json(const RouteRequest& request) {
  return {{"startMs", request.start_ms},
          {"endMs", request.end_ms},
          {"timeBasis", request.by_discovery ? "discovered_time" : "event_time"}};
}

std::string_view signal_type(EventType type) {
  return type == EventType::proposal_voting_ending_soon ? "proposal_deadline_reminder"
                                                        : name_of(type);
}

std::string_view actionability(EventType type) {
  switch (type) {
    case EventType::proposal_voting_ending_soon:
      return "deadline";
    case EventType::proposal_voting_started:
      return "act";
    case EventType::proposal_created:
    case EventType::proposal_updated:
      return "review";
    case EventType::proposal_voting_ended:
      return "inform";
    case EventType::forum_topic_created:
    case EventType::forum_discussion_active:
      break;
  }
  return "discuss";
}

Json summary_of(RouteContext& context, const FeedEvent& event) {
  return event.proposal ? context.present.summary(*event.proposal)
                        : context.present.summary(*event.topic);
}

std::string signal_id(const std::string& event_id) {
  return "sig_" + event_id.substr(std::string_view("evt_").size());
}

Json signal_item(RouteContext& context, const FeedEvent& event) {
  const FeedRow& row = event.row;
  const auto points = priority_of(row, std::min(context.now_ms, context.request.end_ms));
  const char* band = points.score >= high_score_min     ? "high"
                     : points.score >= medium_score_min ? "medium"
                                                        : "low";
  const char* severity = points.score >= high_score_min     ? "high"
                         : points.score >= medium_score_min ? "warning"
                                                            : "info";
  Json reasons = Json::parse(event.reasons);
  for (const auto& [code, value] : points.extra) {
    reasons.push_back(object_of({{"code", code}, {"points", value}}));
  }
  Json surfaces = Json::array();
  for (std::size_t at = 0; at < surface_count; ++at) {
    const auto surface = static_cast<Surface>(at);
    if (is_shown_on(row, points.score, surface)) surfaces.push_back(name_of(surface));
  }
  Json item = summary_of(context, event);
  const std::string title = item["title"];
  Json ref = event.ref();
  return object_of({
      {"signalId", signal_id(row.id)},
      {"signalType", signal_type(row.type)},
      {"eventId", row.id},
      {"priority", object_of({{"score", points.score}, {"band", band}})},
      {"actionability", actionability(row.type)},
      {"severity", severity},
      {"daoId", event.dao_id()},
      {"daoName", event.dao_name()},
      {"title", title},
      {"summary", event_summary(event, title)},
      {"sourceUrl", nullable(event.url())},
      {"itemRef", ref},
      {"evidenceRef", std::move(ref)},
      {"eventTimeMs", row.event_time},
      {"eventTime", iso_time(row.event_time)},
      {"eventTimeConfidence", event.confidence},
      {"discoveredTimeMs", row.discovered_time},
      {"deadlineAtMs", nullable(row.deadline_at)},
      {"deadlineAt", iso_or_null(row.deadline_at)},
      {"surfaces", std::move(surfaces)},
      {"reasons", std::move(reasons)},
      {"item", std::move(item)},
  });
}

// The details of an event. The outcome of an ended vote is evaluated now, since it may have been
// queued or executed since the event was derived.
Json details_of(RouteContext& context, const FeedEvent& event) {
  Json stored = Json::parse(event.details);
  if (event.row.type != EventType::proposal_voting_ended) return stored;
  const auto state = evaluate(event.proposal->record.times, event.proposal->record.standing,
                              context.now_ms);
  Json details = object_of(
      {{"outcome", name_of(state.outcome)}, {"executionStatus", name_of(state.execution)}});
  details.update(stored);
  return details;
}

Json related_refs(RouteContext& context, const FeedEvent& event) {
  Json refs = Json::array();
  const Bind bind = [&](Statement& statement) { statement.with(event.row.item_pk); };
  if (event.proposal) {
    for (const TopicRow& row :
         read_topics(context.database,
                     "WHERE t.topic_pk IN (SELECT topic_pk FROM item_link WHERE proposal_pk = ?1)"
                     " ORDER BY t.updated_at DESC, t.external_id LIMIT 10",
                     bind)) {
      refs.push_back(item_ref(row));
    }
    return refs;
  }
  for (const ProposalRow& row :
       read_proposals(context.database,
                      "WHERE p.proposal_pk IN (SELECT proposal_pk FROM item_link WHERE"
                      " topic_pk = ?1) ORDER BY p.updated_at DESC, p.external_id LIMIT 10",
                      bind)) {
    refs.push_back(item_ref(row));
  }
  return refs;
}

Json intelligence_of(RouteContext& context, const FeedEvent& event, const std::string& title) {
  Json warnings = Json::array();
  if (event.proposal && event.proposal->record.flagged) warnings.push_back("flagged");
  if (event.confidence != "exact") warnings.push_back("time_" + event.confidence);
  return object_of({
      {"status", "derived"},
      {"summary", event_summary(event, title)},
      {"reasons", Json::parse(event.reasons)},
      {"related", related_refs(context, event)},
      {"proposalType",
       event.proposal ? nullable(event.proposal->record.proposal_type) : Json(nullptr)},
      {"warnings", std::move(warnings)},
  });
}

Json event_item(RouteContext& context, const FeedEvent& event) {
  const FeedRow& row = event.row;
  const std::string title =
      shown_title(event.proposal ? event.proposal->record.title
                                 : event.topic->record.title.value_or(std::string()));
  Json ref = event.ref();
  Json item = object_of({
      {"eventId", row.id},
      {"eventType", name_of(row.type)},
      {"eventTimeMs", row.event_time},
      {"eventTime", iso_time(row.event_time)},
      {"eventTimeConfidence", event.confidence},
      {"discoveredTimeMs", row.discovered_time},
      {"daoId", event.dao_id()},
      {"daoName", event.dao_name()},
      {"itemType", row.is_topic ? "forum_topic" : "proposal"},
      {"title", title},
      {"url", nullable(event.url())},
      {"importanceScore", row.importance},
      {"itemRef", ref},
      {"evidenceRef", std::move(ref)},
      {"deadlineAtMs", nullable(row.deadline_at)},
      {"details", details_of(context, event)},
  });
  if (context.request.include_intelligence) {
    item["intelligence"] = intelligence_of(context, event, title);
  }
  return item;
}

}  // namespace

Json run_signals(RouteContext& context) {
  require_derived(context);
  const RouteRequest& request = context.request;
  const auto limit = static_cast<std::size_t>(request.limit);
  std::vector<Signal> signals;
  if (!request.dao_unknown) signals = select_signals(context, limit + 1);
  ItemList list;
  MaybeTime oldest;
  MaybeTime newest;
  for (const Signal& signal : signals) {
    if (list.size() >= limit) break;
    const auto event = read_feed_event(context.database, signal.row.id);
    if (!event) continue;
    if (!list.add(signal_item(context, *event))) break;  // the next one has a lower priority
    const std::int64_t time_ms = signal.row.time(request.by_discovery);
    oldest = std::min(oldest.value_or(time_ms), time_ms);
    newest = std::max(newest.value_or(time_ms), time_ms);
  }
  Json data = {{"window", window_json(request)},
               {"surface", name_of(request.surface)},
               {"sort", request.by_recency ? "recent" : "priority"},
               {"count", list.size()},
               {"truncated", signals.size() > limit || list.full()},
               {"oldestTimeMs", nullable(oldest)},
               {"newestTimeMs", nullable(newest)}};
  data["items"] = list.take();
  if (request.dao_unknown) data["warnings"] = {"unknown_dao"};
  return data;
}

Json run_events(RouteContext& context) {
  require_derived(context);
  const RouteRequest& request = context.request;
  const auto limit = static_cast<std::size_t>(request.limit);
  std::vector<std::string> ids;
  if (!request.dao_unknown) ids = select_events(context, limit + 1);
  ItemList list;
  Json next_ms = nullptr;
  Json next_id = nullptr;
  for (const std::string& id : ids) {
    if (list.size() >= limit) break;
    const auto event = read_feed_event(context.database, id);
    if (!event) continue;
    if (!list.add(event_item(context, *event))) break;
    next_ms = event->row.time(request.by_discovery);
    next_id = id;
  }
  const bool truncated = ids.size() > limit || list.full();
  Json data = {{"window", window_json(request)},
               {"count", list.size()},
               {"truncated", truncated},
               {"nextStartMs", truncated ? next_ms : Json(nullptr)},
               {"nextAfterId", truncated ? next_id : Json(nullptr)}};
  data["items"] = list.take();
  if (request.dao_unknown) data["warnings"] = {"unknown_dao"};
  return data;
}

}  // namespace turnpike::govdata
