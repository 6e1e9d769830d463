// The seven routes that answer from the store. Each has two halves: parse() checks the caller's
// parameters without the store, run() computes `data` inside one read transaction. Private to
// Service; one Thread per call.
#pragma once

#include "govdata/serve/present.h"
#include "govdata/serve/service.h"

namespace turnpike::govdata {

struct RouteRequest {
  Operation operation = Operation::pricing;
  std::string endpoint;
  Query query;
  std::optional<std::string> dao_id;  // as asked; canonical once resolved
  bool dao_unknown = false;
  std::optional<std::string> external_id, title, url;
  std::string kind;
  std::int64_t limit = 0;
  std::int64_t hours = 0;
  bool governance_only = false;
  bool wants_proposals = true, wants_topics = true;
};

struct RouteContext {
  Database& database;
  std::int64_t now_ms;
  const ServiceOptions& options;
  RouteRequest& request;
  Presenter present;
};

RouteRequest parse_request(const ServiceCall& call);

Json run_daos(RouteContext& context);
Json run_freshness(RouteContext& context);
Json run_lookup(RouteContext& context);
Json run_item(RouteContext& context);
Json run_brief(RouteContext& context);
Json run_activity(RouteContext& context);
Json pricing_of(const ServiceOptions& options);

// Item of /daos, also the head of a brief. Gives one per DAO, or that of `dao_id`.
std::vector<Json> dao_items(RouteContext& context, const std::optional<std::string>& dao_id);

// Items of /activity of one DAO or all, newest first, at most limit + 1.
struct ActivityWindow {
  std::int64_t start_ms, end_ms;
};
std::vector<Json> activity_items(RouteContext& context, const ActivityWindow& window,
                                 std::int64_t limit);

std::string readiness_of(const std::vector<SourceRow>& sources, bool importing,
                         std::int64_t now_ms);

}  // namespace turnpike::govdata
