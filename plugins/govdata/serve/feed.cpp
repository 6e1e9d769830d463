#include "govdata/serve/feed.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "govdata/serve/feed_rows.h"
#include "govdata/store/timestamp.h"

namespace turnpike::govdata {
namespace {

constexpr std::array<std::string_view, surface_count> surface_names = {
    "agent", "atlas_latest", "atlas_priority", "telegram_realtime"};
constexpr std::array<int, surface_count> surface_score_min = {0, 0, 60, 70};
constexpr std::int64_t realtime_delay_max_ms = 6 * ms_per_hour;
constexpr std::int64_t started_at_once_ms = ms_per_hour;

bool is_kept(const FeedRow& row, Surface surface) {
  if (surface == Surface::atlas_latest) {
    return row.type != EventType::proposal_updated || row.notable;
  }
  if (surface != Surface::telegram_realtime) return true;
  if (row.discovered_time - row.event_time > realtime_delay_max_ms) return false;
  switch (row.type) {
    case EventType::proposal_created:
    case EventType::proposal_voting_ending_soon:
    case EventType::proposal_voting_ended:
      return true;
    case EventType::proposal_voting_started:
      return !row.created_at || row.event_time - *row.created_at >= started_at_once_ms;
    default:
      return false;
  }
}

// The types as ",a,b,", which the query searches with instr. So one statement serves every choice.
std::string type_list(const std::vector<EventType>& types) {
  std::string list = ",";
  for (const EventType type : types) list += std::string(name_of(type)) + ",";
  return list;
}

constexpr std::string_view feed_select =
    "SELECT event_id, event_type, item_kind = 'forum_topic', item_pk, event_time, discovered_time,"
    " importance, deadline_at,"
    " CASE WHEN event_type = 'proposal_voting_ending_soon'"
    " THEN instr(payload_json, '\"quorumReached\":false') > 0 ELSE 0 END,"
    " CASE WHEN event_type = 'proposal_updated' THEN instr(payload_json, '\"votingEndsAt\"') > 0"
    " OR instr(reasons_json, '\"terminal_change\"') > 0 ELSE 0 END,"
    " CASE WHEN event_type = 'proposal_voting_started' THEN"
    " (SELECT p.created_at FROM proposal p WHERE p.proposal_pk = item_pk) END";

// The FROM and WHERE clauses for the request's window. Parameters: ?1 start, ?2 end, ?3 now, ?4 the
// list of types, ?5 the DAO.
std::string window_clause(const RouteRequest& request) {
  const std::string column = request.by_discovery ? "discovered_time" : "event_time";
  return " FROM governance_event WHERE " +
         std::string(request.dao_id ? "dao_id = ?5 AND " : "") + column + " >= ?1 AND " + column +
         " < ?2 AND event_time <= ?3 AND instr(?4, ',' || event_type || ',') > 0";
}

std::vector<Signal> read_window(RouteContext& context) {
  const RouteRequest& request = context.request;
  const std::int64_t reference_ms = std::min(context.now_ms, request.end_ms);
  const std::string types = type_list(request.types);
  auto row = context.database.prepare(std::string(feed_select) + window_clause(request));
  row.with(request.start_ms, request.end_ms, context.now_ms, types);
  if (request.dao_id) row.with(*request.dao_id);
  std::vector<Signal> signals;
  while (row.step()) {
    Signal signal{feed_row(row), 0};
    signal.score = priority_of(signal.row, reference_ms).score;
    if (is_shown_on(signal.row, signal.score, request.surface)) signals.push_back(signal);
  }
  return signals;
}

using RepeatKey = std::tuple<bool, std::int64_t, int>;

void drop_repeats(const RouteRequest& request, std::vector<Signal>& signals) {
  std::map<RepeatKey, const Signal*> best;
  for (const Signal& signal : signals) {
    const RepeatKey key{signal.row.is_topic, signal.row.item_pk,
                        is_per_type(request.surface) ? static_cast<int>(signal.row.type) : -1};
    const Signal*& place = best[key];
    if (place == nullptr || stands_for(request, signal, *place)) place = &signal;
  }
  std::vector<Signal> kept;
  kept.reserve(best.size());
  for (const auto& [key, signal] : best) kept.push_back(*signal);
  signals = std::move(kept);
}

// The number of rows in the window, counted up to `count_max`.
std::int64_t count_window(RouteContext& context, std::int64_t count_max) {
  const RouteRequest& request = context.request;
  const std::string column = request.by_discovery ? "discovered_time" : "event_time";
  auto row = context.database.prepare(
      "SELECT count(*) FROM (SELECT 1 FROM governance_event WHERE " +
      std::string(request.dao_id ? "dao_id = ?4 AND " : "") + column + " >= ?1 AND " + column +
      " < ?2 LIMIT ?3)");
  row.with(request.start_ms, std::min(request.end_ms, context.now_ms + 1), count_max);
  if (request.dao_id) row.bind(4, *request.dao_id);
  row.step();
  return row.integer(0);
}

std::string at_or_unknown(const MaybeInteger& time_ms) {
  return time_ms ? iso_time(*time_ms) : "a time that is not known";
}

}  // namespace

std::string_view feed_columns() { return feed_select; }

FeedRow feed_row(const Statement& row) {
  FeedRow event;
  event.id = row.text(0);
  event.type = event_type_of(row.text(1)).value_or(EventType::proposal_created);
  event.is_topic = row.integer(2) != 0;
  event.item_pk = row.integer(3);
  event.event_time = row.integer(4);
  event.discovered_time = row.integer(5);
  event.importance = static_cast<int>(row.integer(6));
  event.deadline_at = row.maybe_integer(7);
  event.quorum_missing = row.integer(8) != 0;
  event.notable = row.integer(9) != 0;
  event.created_at = row.maybe_integer(10);
  return event;
}

int score_min_of(Surface surface) { return surface_score_min[std::size_t(surface)]; }

bool signal_before(const RouteRequest& request, const Signal& left, const Signal& right) {
  if (request.by_recency) {
    const std::int64_t left_ms = left.row.time(request.by_discovery);
    const std::int64_t right_ms = right.row.time(request.by_discovery);
    if (left_ms != right_ms) return left_ms > right_ms;
    if (left.score != right.score) return left.score > right.score;
    return left.row.id < right.row.id;
  }
  if (left.score != right.score) return left.score > right.score;
  if (left.row.event_time != right.row.event_time) {
    return left.row.event_time > right.row.event_time;
  }
  return left.row.id < right.row.id;
}

bool is_per_type(Surface surface) {
  return surface == Surface::agent || surface == Surface::telegram_realtime;
}

bool stands_for(const RouteRequest& request, const Signal& left, const Signal& right) {
  const bool by_score = request.surface == Surface::atlas_priority;
  if (by_score && left.score != right.score) return left.score > right.score;
  const std::int64_t left_ms = left.row.time(request.by_discovery);
  const std::int64_t right_ms = right.row.time(request.by_discovery);
  return left_ms != right_ms ? left_ms > right_ms : left.row.id < right.row.id;
}

std::string_view name_of(Surface surface) { return surface_names[std::size_t(surface)]; }

PriorityPoints priority_of(const FeedRow& row, std::int64_t reference_ms) {
  PriorityPoints points;
  const auto add = [&](std::string_view code, int value) {
    points.extra.emplace_back(code, value);
  };
  const bool has_deadline =
      row.type == EventType::proposal_voting_ending_soon && row.deadline_at.has_value();
  if (has_deadline && reference_ms < *row.deadline_at) {
    const std::int64_t left_ms = *row.deadline_at - reference_ms;
    for (const auto& [hours, value] :
         {std::pair{3, 20}, std::pair{6, 15}, std::pair{12, 10}, std::pair{24, 5}}) {
      if (left_ms > hours * ms_per_hour) continue;
      add("deadline_near", value);
      break;
    }
    if (row.quorum_missing) add("quorum_missing", 5);
  } else if (has_deadline) {
    add("deadline_passed", -30);
  } else {
    const std::int64_t age_ms = reference_ms - row.event_time;
    if (age_ms > 7 * ms_per_day) {
      add("age", -20);
    } else if (age_ms > 3 * ms_per_day) {
      add("age", -10);
    }
  }
  points.score = row.importance;
  for (const auto& [code, value] : points.extra) points.score += value;
  return points;
}

bool is_shown_on(const FeedRow& row, int score, Surface surface) {
  return score >= score_min_of(surface) && is_kept(row, surface);
}

std::vector<Signal> scan_signals(RouteContext& context, std::size_t count_max) {
  const RouteRequest& request = context.request;
  auto signals = read_window(context);
  drop_repeats(request, signals);
  std::erase_if(signals, [&](const Signal& signal) { return signal.score < request.score_min; });
  const std::size_t count = std::min(count_max, signals.size());
  std::partial_sort(signals.begin(), signals.begin() + static_cast<std::ptrdiff_t>(count),
                    signals.end(), [&](const Signal& left, const Signal& right) {
                      return signal_before(request, left, right);
                    });
  signals.resize(count);
  return signals;
}

std::vector<Signal> select_signals(RouteContext& context, std::size_t count_max) {
  // By discovery, a walk has to search all events for those discovered in the window, so a scan is
  // faster up to larger windows.
  const std::int64_t scanned_max = context.request.by_discovery ? 4000 : 1000;
  return count_window(context, scanned_max + 1) <= scanned_max ? scan_signals(context, count_max)
                                                               : walk_signals(context, count_max);
}

std::vector<std::string> select_events(RouteContext& context, std::size_t count_max) {
  const RouteRequest& request = context.request;
  const bool takes_all = request.types.size() == event_type_count && request.score_min == 0;
  return takes_all || request.by_discovery ? scan_events(context, count_max)
                                           : walk_events(context, count_max);
}

std::vector<std::string> scan_events(RouteContext& context, std::size_t count_max) {
  const RouteRequest& request = context.request;
  const std::string types = type_list(request.types);
  const std::string column = request.by_discovery ? "discovered_time" : "event_time";
  auto row = context.database.prepare("SELECT event_id" + window_clause(request) +
                                      " AND importance >= ?6 AND (" + column +
                                      " > ?1 OR event_id > ?8) ORDER BY " + column +
                                      ", event_id LIMIT ?7");
  row.with(request.start_ms, request.end_ms, context.now_ms, types);
  if (request.dao_id) row.bind(5, *request.dao_id);
  row.bind(6, request.score_min).bind(7, static_cast<std::int64_t>(count_max));
  row.bind(8, request.after_id);
  std::vector<std::string> ids;
  while (row.step()) ids.push_back(row.text(0));
  return ids;
}

std::optional<FeedEvent> read_feed_event(Database& database, const std::string& event_id) {
  FeedEvent event;
  {
    auto row = database.prepare(std::string(feed_select) +
                                ", time_confidence, payload_json, reasons_json"
                                " FROM governance_event WHERE event_id = ?1");
    row.with(event_id);
    if (!row.step()) return std::nullopt;
    event.row = feed_row(row);
    event.confidence = row.text(11);
    event.details = row.text(12);
    event.reasons = row.text(13);
  }
  if (!event.row.is_topic) {
    event.proposal = read_proposal(database, event.row.item_pk);
  } else {
    auto rows = read_topics(database, "WHERE t.topic_pk = ?1", [&](Statement& statement) {
      statement.with(event.row.item_pk);
    });
    if (!rows.empty()) event.topic = std::move(rows.front());
  }
  if (!event.proposal && !event.topic) return std::nullopt;
  return event;
}

std::string event_summary(const FeedEvent& event, const std::string& title) {
  const std::string name = "\"" + title + "\" in " + event.dao_name();
  const std::string deadline = at_or_unknown(event.row.deadline_at);
  switch (event.row.type) {
    case EventType::forum_discussion_active:
      return "The discussion of " + name + " is active.";
    case EventType::forum_topic_created:
      return "The topic " + name + " was opened.";
    case EventType::proposal_created:
      return "The proposal " + name + " was created; voting ends at " + deadline + ".";
    case EventType::proposal_updated:
      return "The proposal " + name + " was changed.";
    case EventType::proposal_voting_ended:
      return "Voting on " + name + " has ended.";
    case EventType::proposal_voting_ending_soon:
      return "Voting on " + name + " ends at " + deadline + ".";
    case EventType::proposal_voting_started:
      return "Voting on " + name + " has started; it ends at " + deadline + ".";
  }
  return {};
}

}  // namespace turnpike::govdata
