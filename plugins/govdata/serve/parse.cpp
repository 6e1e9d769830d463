// Reads and checks the parameters of each route, without the store.
#include <algorithm>

#include "govdata/serve/feed.h"
#include "govdata/store/timestamp.h"
#include "govdata/store/text.h"

namespace turnpike::govdata {
namespace {

constexpr std::size_t dao_bytes_max = 128;
constexpr std::size_t id_bytes_max = 512;
constexpr std::size_t event_id_bytes_max = 64;
constexpr std::size_t qualified_id_bytes_max = 1024;
constexpr std::size_t url_bytes_max = 2048;

void parse_lookup(RouteRequest& request) {
  Query& query = request.query;
  request.dao_id = query.text("dao_id", dao_bytes_max);
  request.external_id = query.text("external_id", id_bytes_max);
  request.title = query.text("title", id_bytes_max);
  request.url = query.text("url", url_bytes_max);
  request.limit = query.integer("limit", 10, 1, 200);
  if (!request.external_id && !request.title && !request.url) {
    throw RouteError(400, "invalid_argument", "give at least one of external_id, title and url",
                     {{"rule", "at_least_one"}, {"parameters", {"external_id", "title", "url"}}});
  }
}

void parse_activity(RouteRequest& request) {
  Query& query = request.query;
  request.dao_id = query.text("dao_id", dao_bytes_max);
  request.governance_only = query.boolean("governance_only", false);
  request.hours = query.integer("hours", 24, 1, 168);
  request.limit = query.integer("limit", 50, 1, 200);
  request.wants_proposals = request.wants_topics = false;
  for (const std::string& type : query.choices("types", {"forum_topic", "proposal"})) {
    (type == "proposal" ? request.wants_proposals : request.wants_topics) = true;
  }
}

constexpr std::int64_t feed_time_max_ms = 9'007'199'254'740'991;
// The longest span of signals. The beginning of a longer one is cut off.
constexpr std::int64_t signals_span_max_ms = 366 * ms_per_day;

void parse_span(RouteRequest& request) {
  Query& query = request.query;
  for (const char* name : {"start_ms", "end_ms"}) {
    if (!query.has(name)) throw invalid_argument(name, std::string(name) + " is required");
  }
  request.start_ms = query.integer("start_ms", 0, 0, feed_time_max_ms);
  request.end_ms = query.integer("end_ms", 0, 0, feed_time_max_ms);
  if (request.start_ms >= request.end_ms) {
    throw RouteError(400, "invalid_argument", "start_ms must be less than end_ms",
                     {{"rule", "less_than"}, {"parameters", {"start_ms", "end_ms"}}});
  }
  request.dao_id = query.text("dao_id", dao_bytes_max);
  request.by_discovery = query.choice("time_basis", {"discovered_time", "event_time"},
                                      "event_time") == "discovered_time";
}

void parse_signals(RouteRequest& request, std::int64_t now_ms) {
  Query& query = request.query;
  parse_span(request);
  // In whole minutes, so that repeats of a request within a minute have the same key in the cache.
  const std::int64_t latest_ms = std::min(request.end_ms, now_ms);
  const std::int64_t earliest_ms = latest_ms - latest_ms % 60'000 - signals_span_max_ms;
  if (request.start_ms < earliest_ms) {
    request.start_ms = earliest_ms;
    query.clamp("start_ms", earliest_ms);
  }
  request.limit = query.integer("limit", 50, 1, 200);
  request.score_min = query.integer("priority_min", 0, 0, 100);
  constexpr std::string_view reminder = "proposal_deadline_reminder";
  for (const std::string& type : query.choices(
           "signal_types", {"forum_discussion_active", "forum_topic_created", "proposal_created",
                            reminder, "proposal_updated", "proposal_voting_ended",
                            "proposal_voting_started"})) {
    request.types.push_back(event_type_of(type).value_or(EventType::proposal_voting_ending_soon));
  }
  const std::vector<std::string_view> surfaces = {
      name_of(Surface::agent), name_of(Surface::atlas_latest), name_of(Surface::atlas_priority),
      name_of(Surface::telegram_realtime)};
  const std::string surface = query.choice("surface", surfaces, "agent");
  request.surface = static_cast<Surface>(
      std::find(surfaces.begin(), surfaces.end(), surface) - surfaces.begin());
  const bool latest = request.surface == Surface::atlas_latest;
  request.by_recency =
      query.choice("sort", {"priority", "recent"}, latest ? "recent" : "priority") == "recent";
}

void parse_events(RouteRequest& request) {
  Query& query = request.query;
  parse_span(request);
  request.after_id = query.text("after_id", event_id_bytes_max).value_or(std::string());
  request.limit = query.integer("limit", 100, 1, 200);
  request.score_min = query.integer("importance_min", 0, 0, 100);
  request.include_intelligence = query.boolean("include_intelligence", false);
  for (const std::string& type : query.choices(
           "event_types", {"forum_discussion_active", "forum_topic_created", "proposal_created",
                           "proposal_updated", "proposal_voting_ended",
                           "proposal_voting_ending_soon", "proposal_voting_started"})) {
    request.types.push_back(*event_type_of(type));
  }
}

std::string_view path_value(const ServiceCall& call, std::size_t index) {
  if (index >= call.path_values.size()) {
    throw RouteError(500, "internal", "the route has fewer path parameters than its operation");
  }
  return call.path_values[index];
}

}  // namespace

RouteRequest parse_request(const ServiceCall& call, std::int64_t now_ms) {
  RouteRequest request(Query{call.query});
  request.operation = call.operation;
  Query& query = request.query;
  switch (call.operation) {
    case Operation::pricing:
      request.endpoint = "/meta/pricing";
      break;
    case Operation::daos:
      request.endpoint = "/daos";
      break;
    case Operation::freshness:
      request.endpoint = "/system/freshness";
      break;
    case Operation::lookup:
      request.endpoint = "/proposals/lookup";
      parse_lookup(request);
      break;
    case Operation::item:
      request.endpoint = "/items/{kind}/{external_id}";
      request.kind = query.path_value("kind", path_value(call, 0), 64);
      if (request.kind != "proposal" && request.kind != "forum_topic") {
        throw invalid_argument("kind", "kind must be proposal or forum_topic");
      }
      request.external_id =
          query.path_value("external_id", path_value(call, 1), qualified_id_bytes_max);
      break;
    case Operation::brief:
      request.endpoint = "/daos/{dao_id}/brief";
      request.dao_id = query.path_value("dao_id", path_value(call, 0), dao_bytes_max);
      request.limit = query.integer("activity_limit", 6, 1, 20);
      break;
    case Operation::activity:
      request.endpoint = "/activity";
      parse_activity(request);
      break;
    case Operation::evidence:
      request.endpoint = "/daos/{dao_id}/proposals/{source}/{external_id}/evidence";
      request.dao_id = query.path_value("dao_id", path_value(call, 0), dao_bytes_max);
      request.source = query.path_value("source", path_value(call, 1), 64);
      request.external_id =
          query.path_value("external_id", path_value(call, 2), qualified_id_bytes_max);
      break;
    case Operation::signals:
      request.endpoint = "/governance-signals";
      parse_signals(request, now_ms);
      break;
    case Operation::events:
      request.endpoint = "/governance-events";
      parse_events(request);
      break;
  }
  return request;
}

}  // namespace turnpike::govdata
