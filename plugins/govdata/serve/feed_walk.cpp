// Feeds over long spans. Signals of the same type, importance and age band have the same score. So
// the best signals are found by merging a few index ranges, always taking the best head, without
// reading the whole span. A query for its item decides whether a signal repeats another.
#include <algorithm>
#include <functional>
#include <limits>
#include <memory>
#include <queue>
#include <set>

#include "govdata/serve/feed.h"
#include "govdata/serve/feed_rows.h"
#include "govdata/store/timestamp.h"

namespace turnpike::govdata {
namespace {

constexpr std::int64_t chunk_rows_first = 8;
constexpr std::int64_t chunk_rows_next = 64;
constexpr std::int64_t recent_age_ms = 3 * ms_per_day;
constexpr std::int64_t middle_age_ms = 7 * ms_per_day;
constexpr int bonus_max = 25;

// One index range, latest first. It is read in chunks, so that no statement stays open.
class Range {
 public:
  // All rows whose `column` is at least `start_ms` and less than `end_ms`.
  Range(RouteContext& context, std::string column, std::int64_t start_ms, std::int64_t end_ms)
      : context_(context), column_(std::move(column)), start_ms_(start_ms), next_ms_(end_ms) {}

  // Limits the range to rows of this type and importance.
  void narrow(EventType type, int importance) {
    type_ = type;
    importance_ = importance;
  }

  // The first row that is left; null at the end.
  const FeedRow* head() {
    while (at_ >= rows_.size() && !done_) refill();
    return at_ < rows_.size() ? &rows_[at_] : nullptr;
  }
  void pop() { ++at_; }

 private:
  void refill() {
    const bool by_discovery = column_ == "discovered_time";
    const bool dao = context_.request.dao_id.has_value();
    std::string sql = std::string(feed_columns()) + " FROM governance_event WHERE ";
    if (dao) sql += "dao_id = ?5 AND ";
    if (type_) sql += "event_type = ?6 AND importance = ?7 AND ";
    // Rows at ?2 itself belong to the rest only if their ids come after the last id that was read.
    sql += column_ + " >= ?1 AND " + column_ + " <= ?2 AND (" + column_ +
           " < ?2 OR event_id > ?3) AND event_time <= ?4 ORDER BY " + column_ +
           " DESC, event_id LIMIT ?8";
    auto row = context_.database.prepare(sql);
    row.with(start_ms_, next_ms_, next_id_, context_.now_ms);
    if (dao) row.bind(5, *context_.request.dao_id);
    if (type_) row.bind(6, name_of(*type_)).bind(7, std::int64_t{importance_});
    row.bind(8, chunk_rows_);
    rows_.clear();
    at_ = 0;
    while (row.step()) rows_.push_back(feed_row(row));
    done_ = static_cast<std::int64_t>(rows_.size()) < chunk_rows_;
    chunk_rows_ = chunk_rows_next;
    if (rows_.empty()) return;
    next_ms_ = rows_.back().time(by_discovery);
    next_id_ = rows_.back().id;
  }

  RouteContext& context_;
  std::string column_;
  std::int64_t start_ms_, next_ms_;
  std::string next_id_ = "~";  // after every id, because the range excludes its end
  std::optional<EventType> type_;
  int importance_ = 0;
  std::vector<FeedRow> rows_;
  std::size_t at_ = 0;
  std::int64_t chunk_rows_ = chunk_rows_first;
  bool done_ = false;
};

struct Walker {
  std::unique_ptr<Range> range;
  int score_max = 0;        // upper bound of the scores in the range
  std::size_t waiting = 0;  // number of its rows among the heads
};

constexpr std::size_t no_walker = std::numeric_limits<std::size_t>::max();

struct Kind {
  EventType type;
  int importance;
};

// Each requested type with each importance that occurs, by one index seek each.
std::vector<Kind> kinds_of(RouteContext& context) {
  const RouteRequest& request = context.request;
  const std::string sql =
      std::string("SELECT max(importance) FROM governance_event WHERE ") +
      (request.dao_id ? "dao_id = ?3 AND " : "") + "event_type = ?1 AND importance < ?2";
  std::vector<Kind> kinds;
  for (const EventType type : request.types) {
    std::int64_t below = 101;
    for (;;) {
      auto row = context.database.prepare(sql);
      row.with(name_of(type), below);
      if (request.dao_id) row.bind(3, *request.dao_id);
      if (!row.step() || row.is_null(0)) break;
      below = row.integer(0);
      kinds.push_back({type, static_cast<int>(below)});
    }
  }
  return kinds;
}

class Walk {
 public:
  Walk(RouteContext& context, int score_min)
      : context_(context),
        request_(context.request),
        score_min_(score_min),
        reference_ms_(std::min(context.now_ms, request_.end_ms)),
        order_{[this](const Signal& left, const Signal& right) {
          return signal_before(request_, right, left);
        }},
        heads_(order_) {
    open_ranges();
    std::sort(walkers_.begin(), walkers_.end(), [](const Walker& left, const Walker& right) {
      return left.score_max > right.score_max;
    });
  }

  // The next signal in order, including repeats.
  std::optional<Signal> next() {
    while (started_ < walkers_.size() && needs(walkers_[started_])) push_heads(started_++);
    if (heads_.empty()) return std::nullopt;
    const auto [signal, walker] = heads_.top();
    heads_.pop();
    if (walker != no_walker && --walkers_[walker].waiting == 0) push_heads(walker);
    return signal;
  }

 private:
  using Head = std::pair<Signal, std::size_t>;
  struct Order {
    std::function<bool(const Signal&, const Signal&)> after;
    bool operator()(const Head& left, const Head& right) const {
      return after(left.first, right.first);
    }
  };

  // Whether the range must be started, because it may have a signal that comes before the best
  // head.
  [[nodiscard]] bool needs(const Walker& walker) const {
    return request_.by_recency || heads_.empty() ||
           heads_.top().first.score <= walker.score_max;
  }

  [[nodiscard]] std::optional<Signal> shown(const FeedRow& row) const {
    Signal signal{row, priority_of(row, reference_ms_).score};
    const bool is_shown = in_window(row) && signal.score >= score_min_ &&
                          is_shown_on(row, signal.score, request_.surface);
    return is_shown ? std::optional(std::move(signal)) : std::nullopt;
  }

  // Pushes the range's next row that the surface shows. By recency, pushes all such rows with the
  // same time, since the range does not order them by score.
  void push_heads(std::size_t walker) {
    Range& range = *walkers_[walker].range;
    std::optional<std::int64_t> time_ms;
    for (const FeedRow* row = range.head(); row != nullptr; row = range.head()) {
      if (time_ms && row->time(request_.by_discovery) != *time_ms) return;
      auto signal = shown(*row);
      if (signal) time_ms = row->time(request_.by_discovery);
      range.pop();
      if (!signal) continue;
      heads_.emplace(*std::move(signal), walker);
      ++walkers_[walker].waiting;
      if (!request_.by_recency) return;
    }
  }

  [[nodiscard]] bool in_window(const FeedRow& row) const {
    const std::int64_t time_ms = row.time(request_.by_discovery);
    return time_ms >= request_.start_ms && time_ms < request_.end_ms &&
           std::find(request_.types.begin(), request_.types.end(), row.type) !=
               request_.types.end();
  }

  void add(std::unique_ptr<Range> range, int score_max) {
    if (score_max >= score_min_) walkers_.push_back({std::move(range), score_max, 0});
  }

  void add_kind(const Kind& kind, std::int64_t start_ms, std::int64_t end_ms, int score_max) {
    start_ms = std::max(start_ms, window_start_ms());
    end_ms = std::min(end_ms, window_end_ms());
    if (start_ms >= end_ms) return;
    auto range = std::make_unique<Range>(context_, "event_time", start_ms, end_ms);
    range->narrow(kind.type, kind.importance);
    add(std::move(range), score_max);
  }

  // An event is never discovered before it happens. So by discovery, only the window's end limits
  // the event_time.
  [[nodiscard]] std::int64_t window_start_ms() const {
    return request_.by_discovery ? std::numeric_limits<std::int64_t>::min() / 2
                                 : request_.start_ms;
  }
  [[nodiscard]] std::int64_t window_end_ms() const {
    return std::min(request_.end_ms, context_.now_ms + 1);
  }

  void open_ranges() {
    const bool takes_all = request_.types.size() == event_type_count && score_min_ <= 0;
    if (request_.by_recency && (request_.by_discovery || takes_all)) {
      const char* column = request_.by_discovery ? "discovered_time" : "event_time";
      add(std::make_unique<Range>(context_, column, request_.start_ms, request_.end_ms),
          100 + bonus_max);
      return;
    }
    constexpr std::int64_t always = std::numeric_limits<std::int64_t>::max() / 2;
    for (const Kind& kind : kinds_of(context_)) {
      const bool is_reminder = kind.type == EventType::proposal_voting_ending_soon;
      const std::int64_t day_ago_ms = reference_ms_ - ms_per_day;
      const std::int64_t recent_ms = reference_ms_ - recent_age_ms;
      const std::int64_t middle_ms = reference_ms_ - middle_age_ms;
      if (request_.by_recency) {
        add_kind(kind, -always, always, kind.importance + (is_reminder ? bonus_max : 0));
      } else if (is_reminder) {
        // The scores of reminders differ until their deadline, which is at most a day later. So the
        // reminders of the last day are read one by one.
        add_reminders(kind, day_ago_ms);
        add_kind(kind, -always, day_ago_ms, kind.importance - 30);
      } else {
        add_kind(kind, recent_ms, always, kind.importance);
        add_kind(kind, middle_ms, recent_ms, kind.importance - 10);
        add_kind(kind, -always, middle_ms, kind.importance - 20);
      }
    }
  }

  void add_reminders(const Kind& kind, std::int64_t from_ms) {
    Range range(context_, "event_time", std::max(from_ms, window_start_ms()), window_end_ms());
    range.narrow(kind.type, kind.importance);
    for (const FeedRow* row = range.head(); row != nullptr; range.pop(), row = range.head()) {
      if (auto signal = shown(*row)) heads_.emplace(*std::move(signal), no_walker);
    }
  }

  RouteContext& context_;
  const RouteRequest& request_;
  const int score_min_;
  const std::int64_t reference_ms_;
  std::vector<Walker> walkers_;
  std::size_t started_ = 0;
  Order order_;
  std::priority_queue<Head, std::vector<Head>, Order> heads_;
};

// Whether no other signal of the same item is shown instead of this one.
bool is_first_of_its_item(RouteContext& context, const Signal& signal) {
  const RouteRequest& request = context.request;
  const std::int64_t reference_ms = std::min(context.now_ms, request.end_ms);
  const bool per_type = is_per_type(request.surface);
  auto row = context.database.prepare(
      std::string(feed_columns()) +
      " FROM governance_event WHERE item_kind = ?1 AND item_pk = ?2 AND event_time <= ?3" +
      (per_type ? " AND event_type = ?4" : ""));
  row.with(signal.row.is_topic ? "forum_topic" : "proposal", signal.row.item_pk, context.now_ms);
  if (per_type) row.bind(4, name_of(signal.row.type));
  while (row.step()) {
    Signal other{feed_row(row), 0};
    const std::int64_t time_ms = other.row.time(request.by_discovery);
    const bool asked = time_ms >= request.start_ms && time_ms < request.end_ms &&
                       std::find(request.types.begin(), request.types.end(), other.row.type) !=
                           request.types.end();
    if (!asked || other.row.id == signal.row.id) continue;
    other.score = priority_of(other.row, reference_ms).score;
    if (is_shown_on(other.row, other.score, request.surface) &&
        stands_for(request, other, signal)) {
      return false;
    }
  }
  return true;
}

}  // namespace

std::vector<Signal> walk_signals(RouteContext& context, std::size_t count_max) {
  const RouteRequest& request = context.request;
  const int score_min =
      std::max(static_cast<int>(request.score_min), score_min_of(request.surface));
  // In this case the walk has the same order as stands_for(), so the first signal of an item is the
  // one to show, and no query is needed.
  const bool is_best_first = request.surface == Surface::atlas_priority && !request.by_recency &&
                             !request.by_discovery;
  std::set<std::pair<bool, std::int64_t>> met;  // items
  Walk walk(context, score_min);
  std::vector<Signal> signals;
  while (signals.size() < count_max) {
    auto signal = walk.next();
    if (!signal) break;
    const bool is_first =
        is_best_first ? met.emplace(signal->row.is_topic, signal->row.item_pk).second
                      : is_first_of_its_item(context, *signal);
    if (is_first) signals.push_back(*std::move(signal));
  }
  return signals;
}

std::vector<std::string> walk_events(RouteContext& context, std::size_t count_max) {
  const RouteRequest& request = context.request;
  const std::string sql =
      std::string("SELECT event_time, event_id FROM governance_event WHERE ") +
      (request.dao_id ? "dao_id = ?6 AND " : "") +
      "event_type = ?1 AND importance = ?2 AND event_time >= ?3 AND event_time < ?4"
      " AND (event_time > ?3 OR event_id > ?7) ORDER BY event_time, event_id LIMIT ?5";
  std::vector<std::pair<std::int64_t, std::string>> found;
  for (const Kind& kind : kinds_of(context)) {
    if (kind.importance < request.score_min) continue;
    auto row = context.database.prepare(sql);
    row.with(name_of(kind.type), std::int64_t{kind.importance}, request.start_ms,
             std::min(request.end_ms, context.now_ms + 1), static_cast<std::int64_t>(count_max));
    if (request.dao_id) row.bind(6, *request.dao_id);
    row.bind(7, request.after_id);
    while (row.step()) found.emplace_back(row.integer(0), row.text(1));
  }
  std::sort(found.begin(), found.end());
  std::vector<std::string> ids;
  for (auto& [time_ms, id] : found) {
    if (ids.size() < count_max) ids.push_back(std::move(id));
  }
  return ids;
}

}  // namespace turnpike::govdata
