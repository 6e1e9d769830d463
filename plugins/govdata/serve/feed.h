// Shared by /governance-signals and /governance-events: reading rows of governance_event in a span
// of time, the rules for signals (priority, surfaces, repeats), and an event's common fields. Rows
// with an event_time after the clock have not happened yet and are never read. Private to Service;
// one Thread per call.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "govdata/serve/routes.h"

namespace turnpike::govdata {

enum class Surface : std::uint8_t { agent, atlas_latest, atlas_priority, telegram_realtime };
inline constexpr std::size_t surface_count = 4;
std::string_view name_of(Surface surface);

struct FeedRow {
  std::string id;
  EventType type = EventType::proposal_created;
  bool is_topic = false;
  std::int64_t item_pk = 0, event_time = 0, discovered_time = 0;
  int importance = 0;
  MaybeInteger deadline_at;
  bool quorum_missing = false;  // voting ends soon: the quorum is known and was not reached
  bool notable = false;         // an update that moved the deadline or reached a terminal state
  MaybeInteger created_at;      // voting started: when the proposal was created

  [[nodiscard]] std::int64_t time(bool by_discovery) const {
    return by_discovery ? discovered_time : event_time;
  }
};

// The points in addition to the importance, by code, and the total score.
struct PriorityPoints {
  std::vector<std::pair<std::string_view, int>> extra;
  int score = 0;
};
// `reference_ms` is the current time, or the window's end if that is earlier.
PriorityPoints priority_of(const FeedRow& row, std::int64_t reference_ms);
// Whether the surface shows the row, without regard to repeats.
bool is_shown_on(const FeedRow& row, int score, Surface surface);

struct Signal {
  FeedRow row;
  int score = 0;
};

// The signals in the request's window, in the request's order, without repeats, at most
// `count_max`. The scan reads the whole window; the walk reads little more than its result. Both
// give the same.
std::vector<Signal> select_signals(RouteContext& context, std::size_t count_max);
std::vector<Signal> scan_signals(RouteContext& context, std::size_t count_max);
std::vector<Signal> walk_signals(RouteContext& context, std::size_t count_max);
// The ids of the events in the request's window, oldest first, at most `count_max`. The walk is for
// filters by type or importance, and only works by event_time.
std::vector<std::string> select_events(RouteContext& context, std::size_t count_max);
std::vector<std::string> scan_events(RouteContext& context, std::size_t count_max);
std::vector<std::string> walk_events(RouteContext& context, std::size_t count_max);

// One row in full with its proposal or topic.
struct FeedEvent {
  FeedRow row;
  std::string confidence, details, reasons;
  std::optional<ProposalRow> proposal;
  std::optional<TopicRow> topic;

  [[nodiscard]] const std::string& dao_id() const {
    return proposal ? proposal->dao_id : topic->dao_id;
  }
  [[nodiscard]] const std::string& dao_name() const {
    return proposal ? proposal->dao_name : topic->dao_name;
  }
  [[nodiscard]] const MaybeText& url() const {
    return proposal ? proposal->record.url : topic->record.url;
  }
  [[nodiscard]] Json ref() const { return proposal ? item_ref(*proposal) : item_ref(*topic); }
};
// Empty if the event or its item is gone.
std::optional<FeedEvent> read_feed_event(Database& database, const std::string& event_id);

// A sentence for the event's type, made from the event's own facts.
std::string event_summary(const FeedEvent& event, const std::string& title);

}  // namespace turnpike::govdata
