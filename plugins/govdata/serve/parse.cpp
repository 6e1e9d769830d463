// Parameters of each route, checked before the store is asked.
#include "govdata/serve/routes.h"
#include "govdata/store/text.h"

namespace turnpike::govdata {
namespace {

constexpr std::size_t dao_bytes_max = 128;
constexpr std::size_t id_bytes_max = 512;
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

std::string_view path_value(const ServiceCall& call, std::size_t index) {
  if (index >= call.path_values.size()) {
    throw RouteError(500, "internal", "the route has fewer path parameters than its operation");
  }
  return call.path_values[index];
}

}  // namespace

RouteRequest parse_request(const ServiceCall& call) {
  RouteRequest request{
      call.operation, {}, Query(call.query), {}, false, {}, {}, {}, {}, 0, 0, false, true, true};
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
    case Operation::signals:
    case Operation::events:
      throw RouteError(503, "unavailable", "this route is not answered by the embedded store yet");
  }
  return request;
}

}  // namespace turnpike::govdata
