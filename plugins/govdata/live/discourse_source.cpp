// Polls a Discourse forum's JSON. Each step makes one request. A round reads the categories (once a
// day), the topics by activity back to the last round, and the threads of the topics that changed.
// The cursor contains the threads still to be read, committed with the page that named them.
#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "govdata/live/cursor.h"
#include "govdata/live/source.h"
#include "govdata/store/text.h"
#include "govdata/store/timestamp.h"

namespace turnpike::govdata {
namespace {

using Json = nlohmann::json;

// Rounds overlap by an hour, since clocks differ and a topic may appear late.
constexpr std::int64_t activity_overlap_ms = ms_per_hour;
constexpr std::int64_t categories_again_ms = ms_per_day;
constexpr std::int64_t pages_max = 20'000;
constexpr std::size_t queue_max = 20'000;
// A thread's first reply contains its first posts. Of the others, this many of the newest are read.
constexpr std::size_t newest_posts = 40;

struct ForumCursor {
  std::string phase = "idle";  // idle, categories, list, threads
  std::int64_t page = 0;
  std::int64_t since_ms = 0;  // older activity was read in the last round
  std::int64_t began_ms = 0, last_ms = 0, categories_ms = 0;
  Json queue = Json::array();  // [topic] or [topic, post, post...]

  [[nodiscard]] std::string text() const {
    return Json{{"v", cursor_version},         {"phase", phase},    {"page", page},
                {"since", since_ms},           {"began", began_ms}, {"last", last_ms},
                {"categories", categories_ms}, {"queue", queue}}
        .dump();
  }
  static ForumCursor of(const std::string& text) {
    return read_cursor_text(text, ForumCursor(), [](const Json& json, ForumCursor& cursor) {
      cursor.phase = json.at("phase");
      cursor.page = json.at("page");
      cursor.since_ms = json.at("since");
      cursor.began_ms = json.at("began");
      cursor.last_ms = json.at("last");
      cursor.categories_ms = json.at("categories");
      cursor.queue = json.at("queue");
    });
  }
};

std::optional<std::int64_t> natural_of(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_natural =
      !text.empty() && problem == std::errc{} && end == text.data() + text.size() && value >= 0;
  return is_natural ? std::optional(value) : std::nullopt;
}

bool is_true(const JsonValue& record, std::string_view name) {
  const JsonValue* value = record.get(name);
  return value != nullptr && value->is(JsonValue::Kind::boolean) && value->truth;
}

// The time of a topic's latest activity, by which the list is ordered.
MaybeTime activity_of(const JsonValue& topic) {
  for (const char* name : {"bumped_at", "last_posted_at", "created_at"}) {
    if (const auto time = parse_iso_time(topic.scalar(name))) return time;
  }
  return std::nullopt;
}

const JsonValue* array_in(const JsonValue* object, std::string_view name) {
  const JsonValue* list = object != nullptr ? object->get(name) : nullptr;
  return list != nullptr && list->is(JsonValue::Kind::array) ? list : nullptr;
}

class DiscourseSource final : public Source {
 public:
  explicit DiscourseSource(const SourceSettings& settings) : settings_(settings) {}

  Step step(StepContext& context) override {
    before_ = read_cursor(context.database, context.source_id);
    cursor_ = ForumCursor::of(before_);
    if (cursor_.phase == "idle") begin_round(context.now_ms);
    if (cursor_.phase == "threads" && cursor_.queue.empty()) return end_round(context);
    RemoteRequest request;
    request.url = settings_.url + path();
    const auto reply = ask_remote(context.host, settings_, request, context.call);
    if (!reply.ok()) return failed_step(problem_of(reply.error()));
    // A thread that was deleted or is not public is left out.
    const bool is_gone = reply->status == 403 || reply->status == 404 || reply->status == 410;
    if (cursor_.phase == "threads" && is_gone) {
      cursor_.queue.erase(cursor_.queue.begin());
      return commit(context, {}, {});
    }
    if (auto bad = judge_status(*reply, context.now_ms)) return *bad;
    auto document = object_of(reply->body);
    if (!document) return failed_step("the forum's answer is no JSON object");
    if (cursor_.phase == "categories") return take_categories(context, *document);
    if (cursor_.phase == "list") return take_list(context, *document);
    return take_thread(context, *document);
  }

 private:
  void begin_round(std::int64_t now_ms) {
    cursor_.began_ms = now_ms;
    cursor_.page = 0;
    cursor_.queue = Json::array();
    cursor_.since_ms = std::max<std::int64_t>(0, cursor_.last_ms - activity_overlap_ms);
    cursor_.phase = now_ms - cursor_.categories_ms >= categories_again_ms ? "categories" : "list";
  }

  [[nodiscard]] std::string path() const {
    if (cursor_.phase == "categories") return "/categories.json?include_subcategories=true";
    if (cursor_.phase == "list") {
      return "/latest.json?order=activity&page=" + std::to_string(cursor_.page);
    }
    const Json& thread = cursor_.queue.front();
    const std::string topic = "/t/" + std::to_string(thread[0].get<std::int64_t>());
    if (thread.size() == 1) return topic + ".json";
    std::string posts;
    for (std::size_t at = 1; at < thread.size(); ++at) {
      posts += std::string(at == 1 ? "?" : "&") +
               "post_ids[]=" + std::to_string(thread[at].get<std::int64_t>());
    }
    return topic + "/posts.json" + posts;
  }

  Step take_categories(StepContext& context, const JsonValue& document) {
    if (array_in(document.get("category_list"), "categories") == nullptr) {
      return failed_step("the forum's answer holds no list of categories");
    }
    cursor_.phase = "list";
    cursor_.categories_ms = context.now_ms;
    return commit(context, "categories", reading(document));
  }

  Step take_list(StepContext& context, JsonValue& document) {
    const JsonValue* list = document.get("topic_list");
    const JsonValue* topics = array_in(list, "topics");
    if (topics == nullptr) return failed_step("the forum's answer holds no list of topics");
    bool is_last = list->get("more_topics_url") == nullptr || topics->items.empty();
    std::vector<JsonValue> kept;
    for (const JsonValue& topic : topics->items) {
      const MaybeTime active = activity_of(topic);
      const bool is_pinned = is_true(topic, "pinned") || is_true(topic, "pinned_globally");
      if (active && *active < cursor_.since_ms) {
        is_last = is_last || !is_pinned;  // pinned topics come first, whatever their age
        continue;
      }
      note_thread(context, topic, active);
      kept.push_back(topic);
    }
    const std::string label = "topics, page " + std::to_string(cursor_.page);
    if (!is_last && ++cursor_.page > pages_max) {
      return failed_step("the forum's list of topics has no end");
    }
    if (is_last) cursor_.phase = "threads";
    if (kept.empty()) return commit(context, label, {});
    keep_topics(document, std::move(kept));
    return commit(context, label, reading(document));
  }

  // Drops the topics that have not changed since the last round, so they are not observed again.
  static void keep_topics(JsonValue& document, std::vector<JsonValue> kept) {
    for (JsonValue::Field& field : document.fields) {
      if (field.name != "topic_list") continue;
      for (JsonValue::Field& part : field.value.fields) {
        if (part.name == "topics") part.value.items = std::move(kept);
      }
      return;
    }
  }

  // Queues the topic's thread, unless its posts were read already, or its last activity is more
  // than posts_days ago.
  void note_thread(StepContext& context, const JsonValue& topic, const MaybeTime& active) {
    const auto id = natural_of(topic.scalar("id"));
    const std::int64_t oldest_ms = cursor_.began_ms - settings_.posts_days * ms_per_day;
    if (!id || !active || *active < oldest_ms || cursor_.queue.size() >= queue_max) return;
    const std::string external_id = std::to_string(*id);
    auto row = context.database.prepare(
        "SELECT t.posts_count, t.last_posted_at, EXISTS (SELECT 1 FROM forum_post p"
        " WHERE p.topic_pk = t.topic_pk) FROM forum_topic t"
        " WHERE t.provider='discourse' AND t.source_id=?1 AND t.external_id=?2");
    row.with(context.source_id, external_id);
    if (row.step() && row.integer(2) != 0 &&
        row.maybe_integer(0) == natural_of(topic.scalar("posts_count")) &&
        row.maybe_integer(1) == parse_iso_time(topic.scalar("last_posted_at"))) {
      return;
    }
    const Json thread = Json::array({*id});
    if (std::find(cursor_.queue.begin(), cursor_.queue.end(), thread) == cursor_.queue.end()) {
      cursor_.queue.push_back(thread);
    }
  }

  Step take_thread(StepContext& context, const JsonValue& document) {
    const Json thread = cursor_.queue.front();
    const JsonValue* stream = document.get("post_stream");
    const JsonValue* posts = array_in(stream, "posts");
    if (natural_of(document.scalar("id")) != thread[0].get<std::int64_t>()) {
      return failed_step("the forum's answer is of another topic than was asked for");
    }
    if (posts == nullptr) return failed_step("the forum's answer holds no posts");
    cursor_.queue.erase(cursor_.queue.begin());
    const JsonValue* ids = array_in(stream, "stream");
    if (thread.size() == 1 && ids != nullptr) note_newest(thread, *posts, *ids);
    return commit(context, "topic " + thread[0].dump(), reading(document));
  }

  // Queues the newest posts that were not in the reply: busy discussions are found by the posts of
  // a day.
  void note_newest(const Json& thread, const JsonValue& posts, const JsonValue& ids) {
    std::vector<std::int64_t> shown;
    for (const JsonValue& post : posts.items) {
      if (const auto id = natural_of(post.scalar("id"))) shown.push_back(*id);
    }
    Json more = thread;
    const std::size_t count = ids.items.size();
    for (std::size_t at = count - std::min(count, newest_posts); at < count; ++at) {
      const auto id = natural_of(ids.items[at].text);
      if (id && std::find(shown.begin(), shown.end(), *id) == shown.end()) more.push_back(*id);
    }
    if (more.size() > 1) cursor_.queue.insert(cursor_.queue.begin(), more);
  }

  static std::function<void(Run&)> reading(const JsonValue& document) {
    return [text = document.dump()](Run& run) {
      Input input(open_memory(text));
      import_discourse(run, input);
    };
  }

  Step end_round(StepContext& context) {
    cursor_.phase = "idle";
    cursor_.last_ms = cursor_.began_ms;
    return commit(context, {}, {});
  }

  Step commit(StepContext& context, const std::string& label,
              const std::function<void(Run&)>& read) {
    Page page;
    page.label = label;
    page.before = before_;
    page.after = cursor_.text();
    page.read = read;
    const bool is_over = cursor_.phase == "idle";
    if (is_over) page.complete_to_ms = cursor_.began_ms;
    return commit_page(context, settings_, page, is_over ? StepKind::done : StepKind::more);
  }

  const SourceSettings settings_;
  // State of the current step.
  std::string before_;
  ForumCursor cursor_;
};

}  // namespace

std::unique_ptr<Source> make_discourse_source(const SourceSettings& settings) {
  return std::make_unique<DiscourseSource>(settings);
}

}  // namespace turnpike::govdata
