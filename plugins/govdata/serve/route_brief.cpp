// GET /daos/{dao_id}/brief: an overview of one DAO. It only counts and quotes; its sentences are
// templates.
#include <algorithm>
#include <limits>
#include <map>

#include "govdata/serve/routes.h"
#include "govdata/store/decimal.h"
#include "govdata/store/timestamp.h"

namespace turnpike::govdata {
namespace {

constexpr std::size_t active_max = 10;
constexpr std::size_t upcoming_max = 5;
constexpr std::size_t recent_max = 5;
constexpr std::size_t highlights_max = 8;
constexpr std::int64_t window_30d_ms = 30 * ms_per_day;
constexpr std::int64_t window_90d_ms = 90 * ms_per_day;

struct Timed {
  std::int64_t at;
  std::int64_t pk;
  bool operator<(const Timed& other) const {
    return std::tie(at, pk) < std::tie(other.at, other.pk);
  }
};

struct Overview {
  std::map<Outcome, std::int64_t> outcomes;
  std::map<Execution, std::int64_t> executions;
  std::vector<Timed> active, upcoming;  // soonest first
  std::vector<Timed> ended;             // latest first
  std::vector<std::pair<Timed, std::int64_t>> ended_voters;
  std::vector<std::int64_t> periods_ms;
  std::int64_t created_30d = 0, created_90d = 0;
};

void count(Overview& overview, const StateRow& row, std::int64_t now_ms) {
  const Evaluated state = evaluate(row.times, row.standing, now_ms);
  ++overview.executions[state.execution];
  if (row.times.created && *row.times.created <= now_ms) {
    const std::int64_t age_ms = now_ms - *row.times.created;
    overview.created_30d += age_ms <= window_30d_ms ? 1 : 0;
    overview.created_90d += age_ms <= window_90d_ms ? 1 : 0;
  }
  if (state.lifecycle == Lifecycle::active && row.times.ends) {
    overview.active.push_back({*row.times.ends, row.pk});
  }
  if (state.lifecycle == Lifecycle::pending) {
    overview.upcoming.push_back({*row.times.starts, row.pk});
  }
  if (state.lifecycle != Lifecycle::closed) return;
  ++overview.outcomes[state.outcome];
  if (!state.ended || *state.ended > now_ms) return;
  const Timed ended{*state.ended, row.pk};
  overview.ended.push_back(ended);
  if (row.voters) overview.ended_voters.emplace_back(ended, *row.voters);
  if (row.times.starts && row.times.ends && *row.times.ends > *row.times.starts) {
    overview.periods_ms.push_back(*row.times.ends - *row.times.starts);
  }
}

Overview overview_of(RouteContext& context) {
  Overview overview;
  scan_states(context.database, context.request.dao_id,
              [&](const StateRow& row) { count(overview, row, context.now_ms); });
  std::sort(overview.active.begin(), overview.active.end());
  std::sort(overview.upcoming.begin(), overview.upcoming.end());
  const auto latest_first = [](const Timed& left, const Timed& right) {
    return left.at != right.at ? left.at > right.at : left.pk < right.pk;
  };
  std::sort(overview.ended.begin(), overview.ended.end(), latest_first);
  std::sort(
      overview.ended_voters.begin(), overview.ended_voters.end(),
      [&](const auto& left, const auto& right) { return latest_first(left.first, right.first); });
  return overview;
}

// The median; of two middle values the lower one, so that the result is a value that occurs.
std::optional<std::int64_t> median(std::vector<std::int64_t> values) {
  if (values.empty()) return std::nullopt;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

std::vector<ProposalRow> rows_of(RouteContext& context, const std::vector<Timed>& list,
                                 std::size_t count_max) {
  std::vector<ProposalRow> rows;
  for (std::size_t at = 0; at < std::min(list.size(), count_max); ++at) {
    if (auto row = read_proposal(context.database, list[at].pk)) rows.push_back(*std::move(row));
  }
  return rows;
}

std::string deadline_band(std::int64_t left_ms) {
  if (left_ms < 6 * ms_per_hour) return "<6h";
  if (left_ms < 24 * ms_per_hour) return "<24h";
  return left_ms < 72 * ms_per_hour ? "<72h" : "later";
}

Json cadence(const Overview& overview) {
  std::vector<std::int64_t> voters;
  for (const auto& [ended, count] : overview.ended_voters) {
    if (voters.size() < 10) voters.push_back(count);
  }
  Json hours = nullptr;
  if (const auto period_ms = median(overview.periods_ms)) {
    // Tenths of an hour, by integer arithmetic.
    hours = scaled_down(std::to_string(*period_ms / (ms_per_hour / 10)), 1);
  }
  return {{"proposals30d", overview.created_30d},
          {"proposals90d", overview.created_90d},
          {"medianVotingPeriodHours", hours},
          {"medianVotersLast10", nullable(median(voters))}};
}

Json outcome_counts(const Overview& overview) {
  Json counts = Json::object();
  for (const Outcome outcome : {Outcome::passed, Outcome::failed, Outcome::canceled,
                                Outcome::no_quorum, Outcome::unknown}) {
    const auto found = overview.outcomes.find(outcome);
    counts[std::string(name_of(outcome))] = found == overview.outcomes.end() ? 0 : found->second;
  }
  return counts;
}

Json execution_counts(const Overview& overview) {
  Json counts = Json::object();
  for (const Execution execution :
       {Execution::executed, Execution::queued, Execution::expired, Execution::not_started,
        Execution::not_applicable, Execution::unknown}) {
    const auto found = overview.executions.find(execution);
    counts[std::string(name_of(execution))] =
        found == overview.executions.end() ? 0 : found->second;
  }
  return counts;
}

struct ForumOverview {
  Json json = nullptr;
  std::optional<TopicRow> busiest;
  std::int64_t busiest_posts = 0;
};

ForumOverview forum_of(RouteContext& context) {
  ForumOverview forum;
  Database& database = context.database;
  const std::string& dao = *context.request.dao_id;
  const std::int64_t from_ms = context.now_ms - window_30d_ms;
  std::int64_t topics = 0;
  {
    auto row = database.prepare(
        "SELECT count(*), sum(created_at BETWEEN ?2 AND ?3) FROM forum_topic WHERE dao_id = ?1");
    row.with(dao, from_ms, context.now_ms);
    row.step();
    if (row.integer(0) == 0) return forum;
    topics = row.integer(1);
  }
  std::int64_t posts = 0;
  std::vector<Timed> busy;  // posts, topic
  {
    auto row = database.prepare(
        "SELECT o.topic_pk, count(*) FROM forum_post o JOIN forum_topic t ON t.topic_pk ="
        " o.topic_pk WHERE o.created_at BETWEEN ?2 AND ?3 AND o.post_type = 1 AND t.dao_id = ?1"
        " GROUP BY o.topic_pk ORDER BY count(*) DESC, t.updated_at DESC, o.topic_pk");
    row.with(dao, from_ms, context.now_ms);
    while (row.step()) {
      posts += row.integer(1);
      if (busy.size() < 3) busy.push_back({row.integer(1), row.integer(0)});
    }
  }
  Json top = Json::array();
  for (const Timed& topic : busy) {
    auto rows = read_topics(database, "WHERE t.topic_pk = ?1",
                            [&](Statement& statement) { statement.with(topic.pk); });
    if (rows.empty()) continue;
    top.push_back(context.present.summary(rows.front()));
    if (!forum.busiest) {
      forum.busiest = std::move(rows.front());
      forum.busiest_posts = topic.at;
    }
  }
  forum.json = {{"topics30d", topics}, {"posts30d", posts}, {"topTopics", top}};
  return forum;
}

std::string quorum_phrase(const ProposalRow& row, const std::vector<Choice>& choices) {
  const auto counted = counted_power(row, choices);
  if (!row.record.quorum || !counted || is_zero(*row.record.quorum)) return {};
  const auto share = share_of(*counted, *row.record.quorum);
  if (!share) return {};
  // Whole percent: the digits up to two places after the point.
  const std::size_t point = std::min(share->find('.'), share->size());
  std::string digits = share->substr(0, point);
  for (std::size_t at = point + 1; at < point + 3; ++at) {
    digits += at < share->size() ? (*share)[at] : '0';
  }
  digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size() - 1));
  return "; quorum " + digits + "% reached";
}

std::string time_left(std::int64_t left_ms) {
  if (left_ms < ms_per_hour) return std::to_string(left_ms / 60'000) + " min";
  if (left_ms < 3 * ms_per_day) return std::to_string(left_ms / ms_per_hour) + " h";
  return std::to_string(left_ms / ms_per_day) + " days";
}

class Highlights {
 public:
  void add(const char* type, const std::string& text, Json ref) {
    if (list_.size() >= highlights_max) return;
    list_.push_back({{"type", type}, {"text", text}, {"itemRef", std::move(ref)}});
  }
  Json take() { return std::move(list_); }

 private:
  Json list_ = Json::array();
};

void add_active(RouteContext& context, const std::vector<ProposalRow>& rows, Json& items,
                Highlights& highlights) {
  for (const ProposalRow& row : rows) {
    const auto choices = read_choices(context.database, row.pk);
    const std::int64_t left_ms = *row.record.times.ends - context.now_ms;
    Json item = context.present.summary(row, choices);
    item["endsInSeconds"] = left_ms / 1000;
    item["deadlineBand"] = deadline_band(left_ms);
    if (left_ms < 72 * ms_per_hour) {
      highlights.add("deadline",
                     "Voting on " + item["title"].get<std::string>() + " ends in " +
                         time_left(left_ms) + quorum_phrase(row, choices),
                     item_ref(row));
    }
    items.push_back(std::move(item));
  }
}

void add_recent(RouteContext& context, const std::vector<ProposalRow>& rows, Json& items,
                Highlights& highlights) {
  for (const ProposalRow& row : rows) {
    Json item = context.present.summary(row);
    const std::string title = item["title"];
    const std::string outcome = item["outcome"];
    if (item["executionStatus"] == "queued") {
      highlights.add("queued", title + " passed and is queued for execution", item_ref(row));
    } else if (outcome == "passed") {
      highlights.add("outcome", title + " passed", item_ref(row));
    } else if (outcome == "no_quorum") {
      highlights.add("outcome", title + " missed its quorum", item_ref(row));
    } else if (outcome == "failed" || outcome == "canceled") {
      highlights.add("outcome", title + (outcome == "failed" ? " failed" : " was canceled"),
                     item_ref(row));
    }
    items.push_back(std::move(item));
  }
}

}  // namespace

Json run_brief(RouteContext& context) {
  const RouteRequest& request = context.request;
  if (request.dao_unknown) {
    throw RouteError(404, "not_found", "no DAO has this id or name", {{"daoId", *request.dao_id}});
  }
  const Overview overview = overview_of(context);
  const ForumOverview forum = forum_of(context);
  Highlights highlights;
  Json active = Json::array();
  Json upcoming = Json::array();
  Json recent = Json::array();
  add_active(context, rows_of(context, overview.active, active_max), active, highlights);
  for (const ProposalRow& row : rows_of(context, overview.upcoming, upcoming_max)) {
    upcoming.push_back(context.present.summary(row));
  }
  add_recent(context, rows_of(context, overview.ended, recent_max), recent, highlights);
  if (forum.busiest) {
    highlights.add("discussion",
                   std::to_string(forum.busiest_posts) + " posts in 30 days on " +
                       forum.busiest->record.title.value_or(""),
                   item_ref(*forum.busiest));
  }
  Json activity = Json::array();
  const ActivityWindow always{std::numeric_limits<std::int64_t>::min(), context.now_ms};
  for (Json& item : activity_items(context, always, request.limit)) {
    if (activity.size() < static_cast<std::size_t>(request.limit)) {
      activity.push_back(std::move(item));
    }
  }
  auto dao = dao_items(context, request.dao_id);
  Json warnings = Json::array();
  for (const SourceRow& source : read_sources(context.database, request.dao_id)) {
    if (!source.is_stale(context.now_ms)) continue;
    warnings.push_back("source_stale");
    break;
  }
  return {{"dao", dao.empty() ? Json(nullptr) : std::move(dao.front())},
          {"outcomes", outcome_counts(overview)},
          {"execution", execution_counts(overview)},
          {"activeProposals", active},
          {"upcomingProposals", upcoming},
          {"recentOutcomes", recent},
          {"recentActivity", activity},
          {"forum", forum.json},
          {"cadence", cadence(overview)},
          {"highlights", highlights.take()},
          {"warnings", warnings}};
}

}  // namespace turnpike::govdata
