// The ten routes of the service. parse_request() checks the caller's parameters without the store;
// the run_ function of a route computes `data` inside one read transaction. Private to Service and
// the proxy for version 2; one Thread per call.
#pragma once

#include "govdata/serve/present.h"
#include "govdata/serve/service.h"
#include "govdata/store/events.h"

namespace turnpike::govdata {

enum class Surface : std::uint8_t;

struct RouteRequest {
  explicit RouteRequest(Query asked) : query(std::move(asked)) {}

  Operation operation = Operation::pricing;
  std::string endpoint;
  Query query;
  std::optional<std::string> dao_id;  // as requested; canonical after resolve()
  bool dao_unknown = false;
  std::optional<std::string> external_id, title, url;
  std::string kind;
  std::int64_t limit = 0;
  std::int64_t hours = 0;
  bool governance_only = false;
  bool wants_proposals = true, wants_topics = true;
  std::string source;  // for evidence: the provider's name
  // For the feeds:
  std::int64_t start_ms = 0, end_ms = 0;
  std::string after_id;  // of events: those at start_ms up to this id are left out
  std::int64_t score_min = 0;
  bool by_discovery = false;  // false: by event_time
  bool by_recency = false;    // false: by priority
  bool include_intelligence = false;
  Surface surface{};
  std::vector<EventType> types;
};

struct RouteContext {
  Database& database;
  std::int64_t now_ms;
  const ServiceOptions& options;
  RouteRequest& request;
  Presenter present;
};

RouteRequest parse_request(const ServiceCall& call, std::int64_t now_ms);

Json run_daos(RouteContext& context);
Json run_freshness(RouteContext& context);
Json run_lookup(RouteContext& context);
Json run_item(RouteContext& context);
Json run_brief(RouteContext& context);
Json run_activity(RouteContext& context);
Json run_evidence(RouteContext& context);
Json run_signals(RouteContext& context);
Json run_events(RouteContext& context);
Json pricing_of(const ServiceOptions& options);

// A proposal in full, for /items/proposal/... and for evidence. `warnings` must be a list.
Json proposal_detail(RouteContext& context, const ProposalRow& row, Json& warnings);
// The forms in which an id may be stored, given the form that the caller used.
std::vector<std::string> id_forms(const std::string& external_id);

// The items of /daos, one for each DAO or only that of `dao_id`. A brief contains one, too.
std::vector<Json> dao_items(RouteContext& context, const std::optional<std::string>& dao_id);

// The items of /activity for one DAO or all, newest first, at most limit + 1.
struct ActivityWindow {
  std::int64_t start_ms, end_ms;
};
std::vector<Json> activity_items(RouteContext& context, const ActivityWindow& window,
                                 std::int64_t limit);

std::string readiness_of(const std::vector<SourceRow>& sources, bool importing,
                         std::int64_t now_ms);

}  // namespace turnpike::govdata
