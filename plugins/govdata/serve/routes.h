// The ten routes that answer from the store. Each has two halves: parse() checks the caller's
// parameters without the store, run() computes `data` inside one read transaction. Private to
// Service; one Thread per call.
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
  std::optional<std::string> dao_id;  // as asked; canonical once resolved
  bool dao_unknown = false;
  std::optional<std::string> external_id, title, url;
  std::string kind;
  std::int64_t limit = 0;
  std::int64_t hours = 0;
  bool governance_only = false;
  bool wants_proposals = true, wants_topics = true;
  std::string source;  // of evidence: the provider's name
  // Of the feeds.
  std::int64_t start_ms = 0, end_ms = 0;
  std::int64_t score_min = 0;
  bool by_discovery = false;  // else by the time of the event
  bool by_recency = false;    // else by priority
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

// The item of /items/proposal/..., also what evidence is given of. REQUIRES: `warnings` is a list.
Json proposal_detail(RouteContext& context, const ProposalRow& row, Json& warnings);
// The forms in which callers write an id, the stored one among them.
std::vector<std::string> id_forms(const std::string& external_id);

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
