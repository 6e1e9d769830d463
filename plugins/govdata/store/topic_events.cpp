// The events of one forum topic: its creation, and each time the discussion became busy.
#include <algorithm>
#include <optional>
#include <set>

#include "govdata/store/event_rows.h"
#include "govdata/store/text.h"
#include "govdata/store/timestamp.h"

namespace turnpike::govdata {
namespace {

constexpr std::size_t busy_posts_min = 5;
constexpr std::size_t busy_authors_min = 3;
constexpr std::int64_t observations_apart_max_ms = 48 * ms_per_hour;

struct Forum {
  EventItem item;
  MaybeText author, category_id, category_name;
  MaybeTime created, last_posted;
  MaybeInteger posts_count, views;
  std::int64_t score = 0, first_seen_at = 0;
};

struct Post {
  std::int64_t number = 0, at = 0;
  MaybeText author;
};

struct Observation {
  std::int64_t at = 0, posts = 0;
  MaybeTime last_posted;
};

// Whether the title is like "About the Grants category", the topic with which Discourse opens every
// category.
bool is_about_category(std::string_view title_norm) {
  constexpr std::string_view head = "about the ";
  constexpr std::string_view tail = " category";
  return title_norm.substr(0, head.size()) == head && title_norm.size() >= tail.size() &&
         title_norm.substr(title_norm.size() - tail.size()) == tail;
}

// Empty for topics that make no events. Sets `item` for every topic that exists.
std::optional<Forum> read_forum(Database& database, std::int64_t pk, EventItem& item) {
  auto row = database.prepare(
      "SELECT dao_id, provider, external_id, author, category_id, category_name, created_at,"
      " last_posted_at, posts_count, views, governance_score, first_seen_at, visible, title_norm"
      " FROM forum_topic WHERE topic_pk=?1");
  row.with(pk);
  if (!row.step()) return std::nullopt;
  item = {"forum_topic", pk, row.text(0), row.text(1), row.text(2)};
  const bool visible = row.is_null(12) || row.integer(12) != 0;
  if (!visible || is_about_category(row.text(13))) return std::nullopt;
  return Forum{item,
               row.maybe_text(3),
               row.maybe_text(4),
               row.maybe_text(5),
               row.maybe_integer(6),
               row.maybe_integer(7),
               row.maybe_integer(8),
               row.maybe_integer(9),
               row.integer(10),
               row.integer(11)};
}

EventReasons topic_reasons(const Forum& forum, int base) {
  EventReasons reasons;
  reasons.add("base", base);
  if (forum.score >= 50) reasons.add("governance_topic", 10);
  if (forum.views.value_or(0) >= 1000) reasons.add("popular", 5);
  if (forum.score < 20) reasons.add("off_topic", -20);
  return reasons;
}

DerivedEvent topic_created(const Forum& forum) {
  DerivedEvent event;
  event.type = EventType::forum_topic_created;
  event.event_time = *forum.created;
  event.discovered_time = std::max(*forum.created, forum.first_seen_at);
  event.reasons = topic_reasons(forum, 30);
  nlohmann::ordered_json category = nullptr;
  if (forum.category_id) {
    category = {{"id", *forum.category_id}, {"name", nullptr}};
    if (forum.category_name) category["name"] = *forum.category_name;
  }
  event.details = {{"author", nullptr}, {"category", category}};
  if (forum.author) event.details["author"] = *forum.author;
  return event;
}

DerivedEvent busy(const Forum& forum, std::int64_t number, std::int64_t time_ms,
                  std::int64_t observed_at) {
  DerivedEvent event;
  event.type = EventType::forum_discussion_active;
  event.bucket = std::to_string(number);
  event.event_time = time_ms;
  event.discovered_time = std::max(time_ms, observed_at);
  event.reasons = topic_reasons(forum, 45);
  return event;
}

// An event for a post if the 24 hours before it have at least five regular posts by three authors,
// itself included. The next event is at least 24 hours later.
void add_busy_posts(const Forum& forum, const std::vector<Post>& posts,
                    std::vector<DerivedEvent>& events) {
  std::optional<std::int64_t> last_ms;
  std::size_t from = 0;
  for (std::size_t to = 0; to < posts.size(); ++to) {
    const Post& post = posts[to];
    while (posts[from].at <= post.at - ms_per_day) ++from;
    if (to - from + 1 < busy_posts_min || (last_ms && post.at < *last_ms + ms_per_day)) continue;
    std::set<std::string> authors;
    for (std::size_t one = from; one <= to; ++one) {
      if (posts[one].author) authors.insert(*posts[one].author);
    }
    if (authors.size() < busy_authors_min) continue;
    DerivedEvent event = busy(forum, post.number, post.at, forum.first_seen_at);
    event.details = {
        {"posts24h", to - from + 1},
        {"authors24h", authors.size()},
        {"totalPosts", forum.posts_count.value_or(static_cast<std::int64_t>(posts.size()))}};
    events.push_back(std::move(event));
    last_ms = post.at;
  }
}

// The same from lists of topics, which only give the number of posts at the time of reading.
void add_busy_observations(const Forum& forum, const std::vector<Observation>& seen,
                           std::vector<DerivedEvent>& events) {
  std::optional<std::int64_t> last_ms;
  std::size_t from = 0;
  for (std::size_t to = 0; to < seen.size(); ++to) {
    const Observation& now = seen[to];
    while (seen[from].at < now.at - observations_apart_max_ms) ++from;
    bool grew = false;
    for (std::size_t one = from; one < to; ++one) {
      grew = grew || now.posts - seen[one].posts >= static_cast<std::int64_t>(busy_posts_min);
    }
    const bool quick_start = to == 0 && now.posts > static_cast<std::int64_t>(busy_posts_min) &&
                             now.last_posted && forum.created &&
                             *now.last_posted - *forum.created <= ms_per_day;
    if (!now.last_posted || (!grew && !quick_start)) continue;
    if (last_ms && *now.last_posted < *last_ms + ms_per_day) continue;
    DerivedEvent event =
        busy(forum, now.posts, *now.last_posted, std::max(forum.first_seen_at, now.at));
    event.confidence = Confidence::estimated;
    event.details = {{"posts24h", nullptr}, {"authors24h", nullptr}, {"totalPosts", now.posts}};
    events.push_back(std::move(event));
    last_ms = *now.last_posted;
    from = to;  // the same growth counts once
  }
}

std::vector<Post> read_regular_posts(Database& database, std::int64_t pk) {
  std::vector<Post> posts;
  auto row = database.prepare(
      "SELECT post_number, created_at, author FROM forum_post WHERE topic_pk=?1 AND post_type=1"
      " AND post_number > 1 ORDER BY created_at, post_number");
  row.with(pk);
  while (row.step()) posts.push_back({row.integer(0), row.integer(1), row.maybe_text(2)});
  return posts;
}

std::vector<Observation> read_observations(Database& database, std::int64_t pk) {
  std::vector<Observation> seen;
  auto row = database.prepare(
      "SELECT observed_at, posts_count, last_posted_at FROM forum_topic_obs WHERE topic_pk=?1"
      " AND posts_count IS NOT NULL ORDER BY observed_at");
  row.with(pk);
  while (row.step()) seen.push_back({row.integer(0), row.integer(1), row.maybe_integer(2)});
  return seen;
}

}  // namespace

void derive_topic_events(Database& database, std::int64_t topic_pk) {
  EventItem item;
  const auto forum = read_forum(database, topic_pk, item);
  std::vector<DerivedEvent> events;
  if (forum) {
    if (forum->created) events.push_back(topic_created(*forum));
    const auto posts = read_regular_posts(database, topic_pk);
    if (posts.empty()) {
      add_busy_observations(*forum, read_observations(database, topic_pk), events);
    } else {
      add_busy_posts(*forum, posts, events);
    }
  }
  if (!item.kind.empty()) write_events(database, item, std::move(events));
}

}  // namespace turnpike::govdata
