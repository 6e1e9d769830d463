// GET /daos and GET /system/freshness: the contents of the store and their age.
#include <algorithm>
#include <map>

#include "govdata/serve/routes.h"
#include "govdata/store/schema.h"
#include "govdata/store/timestamp.h"

namespace turnpike::govdata {
namespace {

struct Counts {
  std::int64_t total = 0, pending = 0, active = 0, closed = 0;
  MaybeTime created, updated;
};

struct ForumCounts {
  std::int64_t topics = 0, posts = 0;
  MaybeTime last_posted;
};

void raise_to(MaybeTime& latest, const MaybeTime& time, std::int64_t now_ms) {
  if (time && *time <= now_ms && (!latest || *latest < *time)) latest = time;
}

void count(Counts& counts, const StateRow& row, std::int64_t now_ms) {
  ++counts.total;
  const Lifecycle lifecycle = evaluate(row.times, row.standing, now_ms).lifecycle;
  if (lifecycle == Lifecycle::pending) ++counts.pending;
  if (lifecycle == Lifecycle::active) ++counts.active;
  if (lifecycle == Lifecycle::closed) ++counts.closed;
  raise_to(counts.created, row.times.created, now_ms);
  raise_to(counts.updated, last_change(row.times, now_ms), now_ms);
}

std::map<std::string, ForumCounts> forum_counts(Database& database,
                                                const std::optional<std::string>& dao_id) {
  std::map<std::string, ForumCounts> forums;
  auto row = database.prepare(
      dao_id ? "SELECT dao_id, count(*), sum(posts_count), max(last_posted_at) FROM forum_topic"
               " WHERE dao_id = ?1 GROUP BY dao_id"
             : "SELECT dao_id, count(*), sum(posts_count), max(last_posted_at) FROM forum_topic"
               " GROUP BY dao_id");
  if (dao_id) row.with(*dao_id);
  while (row.step()) forums[row.text(0)] = {row.integer(1), row.integer(2), row.maybe_integer(3)};
  return forums;
}

Json source_items(const std::vector<SourceRow>& sources) {
  Json items = Json::array();
  for (const SourceRow& source : sources) {
    items.push_back({{"provider", source.provider},
                     {"scope", source.scope},
                     {"kind", source.kind},
                     {"url", nullable(source.base_url)}});
  }
  return items;
}

Json dao_item(const DaoRow& dao, const Counts& counts, const ForumCounts* forum,
              const std::vector<SourceRow>& sources) {
  MaybeTime as_of;
  bool complete = !sources.empty();
  for (const SourceRow& source : sources) {
    if (source.as_of && (!as_of || *as_of < *source.as_of)) as_of = source.as_of;
    complete = complete && source.last_success_at && !source.last_error;
  }
  Json available = Json::array();
  if (counts.total > 0) available.push_back("proposals");
  if (dao.vote_count.value_or(0) > 0) available.push_back("votes");
  if (forum != nullptr) available.push_back("forumTopics");
  Json participation = nullptr;
  if (dao.vote_count) {
    participation = {{"voterCount", *dao.voter_count}, {"voteCount", *dao.vote_count}};
  }
  Json forum_json = nullptr;
  if (forum != nullptr) forum_json = {{"topics", forum->topics}, {"posts", forum->posts}};
  return {
      {"daoId", dao.dao_id},
      {"name", dao.name},
      {"aliases", dao.aliases},
      {"about", nullable(dao.about)},
      {"website", nullable(dao.website)},
      {"logoUrl", nullable(dao.logo_url)},
      {"sources", source_items(sources)},
      {"availableData", available},
      {"proposalCounts",
       {{"total", counts.total},
        {"pending", counts.pending},
        {"active", counts.active},
        {"closed", counts.closed}}},
      {"participation", participation},
      {"forumCounts", forum_json},
      {"latestActivity",
       {{"proposalCreatedAt", iso_or_null(counts.created)},
        {"proposalUpdatedAt", iso_or_null(counts.updated)},
        {"forumLastPostedAt", iso_or_null(forum != nullptr ? forum->last_posted : std::nullopt)}}},
      {"coverageStatus", complete ? "complete" : "partial"},
      {"dataAsOf", iso_or_null(as_of)},
  };
}

struct SourceCounts {
  std::int64_t records = 0;
  MaybeTime last_record;
};

std::string source_status(const SourceRow& source, std::int64_t now_ms) {
  const bool failed = source.last_error && source.last_attempt_at &&
                      *source.last_attempt_at > source.last_success_at.value_or(0);
  if (failed) return "failed";
  if (!source.last_success_at) return "never";
  return source.is_stale(now_ms) ? "stale" : "ready";
}

Json freshness_source(const SourceRow& source, const SourceCounts& counts, std::int64_t now_ms) {
  const std::string status = source_status(source, now_ms);
  Json error = nullptr;
  if (source.last_error) {
    const char* code = status != "failed" ? "records_rejected"
                       : source.is_polled ? "poll_failed"
                                          : "import_failed";
    error = {{"code", code}, {"message", *source.last_error}};
  }
  return {{"sourceId", std::to_string(source.id)},
          {"daoId", source.dao_id},
          {"provider", source.provider},
          {"scope", source.scope},
          {"kind", source.kind},
          {"status", status},
          {"asOf", iso_or_null(source.as_of)},
          {"lastAttemptAt", iso_or_null(source.last_attempt_at)},
          {"lastSuccessAt", iso_or_null(source.last_success_at)},
          {"lastRecordAt", iso_or_null(counts.last_record)},
          {"records", counts.records},
          {"staleAfterSeconds", source.stale_after_s},
          {"lastError", error}};
}

void count_topics_by_source(RouteContext& context, std::map<std::int64_t, SourceCounts>& counts) {
  auto row = context.database.prepare(
      "SELECT source_id, count(*), max(updated_at) FROM forum_topic GROUP BY source_id");
  while (row.step()) {
    SourceCounts& source = counts[row.integer(0)];
    source.records += row.integer(1);
    raise_to(source.last_record, row.maybe_integer(2), context.now_ms);
  }
}

// The number of events that have happened by now (store/events.h).
std::int64_t count_events(Database& database, std::int64_t now_ms) {
  auto row = database.prepare("SELECT count(*) FROM governance_event WHERE event_time <= ?1");
  row.with(now_ms);
  row.step();
  return row.integer(0);
}

// The number of imports since the events were last derived. All imports if they never were.
Json derivation(Database& database) {
  MaybeTime last;
  {
    auto row =
        database.prepare("SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'last_derived_at'");
    if (row.step()) last = row.integer(0);
  }
  auto row = database.prepare(
      "SELECT count(*) FROM import_run WHERE status IN ('ok','partial') AND finished_at > ?1");
  row.with(last.value_or(0));
  row.step();
  return {{"lastDerivedAt", iso_or_null(last)}, {"pending", row.integer(0)}};
}

}  // namespace

std::string readiness_of(const std::vector<SourceRow>& sources, bool importing,
                         std::int64_t now_ms) {
  bool any = false;
  bool stale = false;
  for (const SourceRow& source : sources) {
    any = any || source.last_success_at;
    stale = stale || (source.last_success_at && source.is_stale(now_ms));
    importing = importing || source.is_backfilling();
  }
  if (!any) return importing ? "backfilling" : "unavailable";
  if (stale) return "stale";
  return importing ? "backfilling" : "ready";
}

std::vector<Json> dao_items(RouteContext& context, const std::optional<std::string>& dao_id) {
  std::map<std::string, Counts> counts;
  scan_states(context.database, dao_id,
              [&](const StateRow& row) { count(counts[row.dao_id], row, context.now_ms); });
  const auto forums = forum_counts(context.database, dao_id);
  std::map<std::string, std::vector<SourceRow>> sources;
  for (SourceRow& source : read_sources(context.database, dao_id)) {
    sources[source.dao_id].push_back(std::move(source));
  }
  std::vector<Json> items;
  for (const DaoRow& dao : read_daos(context.database, dao_id)) {
    const auto forum = forums.find(dao.dao_id);
    items.push_back(dao_item(dao, counts[dao.dao_id],
                             forum == forums.end() ? nullptr : &forum->second,
                             sources[dao.dao_id]));
  }
  return items;
}

Json run_daos(RouteContext& context) {
  ItemList list;
  for (Json& item : dao_items(context, std::nullopt)) {
    if (!list.add(std::move(item))) break;
  }
  Json data = {{"count", list.size()}};
  if (list.full()) data["truncated"] = true;
  data["items"] = list.take();
  return data;
}

Json run_freshness(RouteContext& context) {
  Database& database = context.database;
  std::map<std::int64_t, SourceCounts> counts;
  std::int64_t proposals = 0;
  std::int64_t active = 0;
  scan_states(database, std::nullopt, [&](const StateRow& row) {
    ++proposals;
    if (evaluate(row.times, row.standing, context.now_ms).lifecycle == Lifecycle::active) ++active;
    SourceCounts& source = counts[row.source_id];
    ++source.records;
    raise_to(source.last_record, last_change(row.times, context.now_ms), context.now_ms);
  });
  count_topics_by_source(context, counts);
  const auto sources = read_sources(database, std::nullopt);
  MaybeTime newest;
  MaybeTime oldest;
  ItemList items;
  for (const SourceRow& source : sources) {
    if (source.as_of && (!newest || *newest < *source.as_of)) newest = source.as_of;
    if (source.as_of && (!oldest || *oldest > *source.as_of)) oldest = source.as_of;
    if (!items.add(freshness_source(source, counts[source.id], context.now_ms))) break;
  }
  Json warnings = Json::array();
  if (items.full()) warnings.push_back("sources_truncated");
  return {
      {"status",
       readiness_of(sources, import_is_running(database, context.now_ms), context.now_ms)},
      {"dataAsOf", iso_or_null(newest)},
      {"oldestSourceAsOf", iso_or_null(oldest)},
      {"revision", read_revision(database)},
      {"schemaVersion", schema_version},
      {"counts",
       {{"daos", database.number("SELECT count(*) FROM dao")},
        {"proposals", proposals},
        {"activeProposals", active},
        {"votes", database.number("SELECT sum(vote_count) FROM dao_participation")},
        {"forumTopics", database.number("SELECT count(*) FROM forum_topic")},
        {"forumPosts", database.number("SELECT count(*) FROM forum_post")},
        {"events", count_events(database, context.now_ms)}}},
      {"sources", items.take()},
      {"derivation", derivation(database)},
      {"upstream",
       {{"mode", "embedded"}, {"host", nullptr}, {"reachable", nullptr}, {"checkedAt", nullptr}}},
      {"warnings", warnings},
  };
}

}  // namespace turnpike::govdata
