// Replies of a Discourse forum: topic lists, topics with their posts, post lists, categories.
#include <algorithm>

#include "govdata/import/run.h"
#include "govdata/store/text.h"
#include "govdata/store/url.h"

namespace turnpike::govdata {
namespace {

using Kind = JsonValue::Kind;

constexpr std::size_t excerpt_code_points = 500;
constexpr std::size_t tags_max = 64;

std::string number_text(const JsonValue& record, std::string_view name) {
  const MaybeInteger number = integer_field(record, name);
  if (!number) throw BadRecord(std::string(name) + " is missing");
  return std::to_string(*number);
}

MaybeInteger flag_number(const JsonValue& record, std::string_view name) {
  const auto flag = flag_field(record, name);
  return flag ? MaybeInteger(*flag ? 1 : 0) : std::nullopt;
}

std::optional<std::vector<std::string>> tags_of(const JsonValue& record) {
  const JsonValue* list = record.get("tags");
  if (list == nullptr || !list->is(Kind::array)) return std::nullopt;
  std::vector<std::string> tags;
  for (const JsonValue& tag : list->items) {
    // Older forums send strings, newer ones objects.
    const std::string_view name = tag.is(Kind::object) ? tag.scalar("name") : tag.text;
    if (!name.empty() && tags.size() < tags_max) tags.emplace_back(cut_utf8(name, 128));
  }
  return tags;
}

std::string excerpt_of(std::string_view html) {
  return std::string(cut_code_points(text_of_html(html), excerpt_code_points));
}

// Likes are the action with id 2. A post whose list of actions lacks it has no likes.
MaybeInteger likes_of(const JsonValue& post) {
  const JsonValue* actions = post.get("actions_summary");
  if (actions == nullptr || !actions->is(Kind::array)) return std::nullopt;
  for (const JsonValue& action : actions->items) {
    if (action.scalar("id") == "2") return integer_field(action, "count").value_or(0);
  }
  return 0;
}

class Forum {
 public:
  explicit Forum(Run& run) : run_(run), base_(run.options().base_url) {
    while (!base_.empty() && base_.back() == '/') base_.pop_back();
    const Address address = read_address(base_);
    if (address.form != AddressForm::plain) {
      throw ImportError("this format needs the forum's address (--base-url https://...)");
    }
    SourceKey key;
    key.dao_id = run.options().dao.dao_id;
    key.provider = "discourse";
    key.scope = run.options().scope.empty() ? address.normal : run.options().scope;
    key.kind = "forum";
    key.base_url = base_;
    key.stale_after_s = run.options().stale_after_s;
    source_ = run.source(key);
  }

  void take(const JsonValue& document, const std::string& position) {
    const JsonValue* topics = document.get("topic_list");
    const JsonValue* categories = document.get("category_list");
    if (topics != nullptr) {
      each(topics->get("topics"), position + ".topic_list.topics",
           [&](const JsonValue& topic) { take_topic(topic, author_of(document, topic)); });
    } else if (document.get("post_stream") != nullptr) {
      take_thread(document, position);
    } else if (document.get("latest_posts") != nullptr) {
      each(document.get("latest_posts"), position + ".latest_posts",
           [&](const JsonValue& post) { take_loose_post(post); });
    } else if (categories != nullptr) {
      each(categories->get("categories"), position + ".category_list.categories",
           [&](const JsonValue& category) {
             const std::string id = number_text(category, "id");
             const std::string name = required_text(category, "name");
             if (!run_.first_time("category\n" + id)) return run_.ignore();
             run_.count(run_.writer().put_category(source_, id, name));
           });
    } else {
      run_.record(position, [] {
        throw BadRecord("neither a topic list nor a topic nor posts nor categories");
      });
    }
  }

 private:
  template <class Take>
  void each(const JsonValue* list, const std::string& position, Take take) {
    if (list == nullptr || !list->is(Kind::array)) {
      run_.record(position, [] { throw BadRecord("the list is missing"); });
      return;
    }
    for (std::size_t at = 0; at < list->items.size(); ++at) {
      run_.record(position + "[" + std::to_string(at) + "]", [&] { take(list->items[at]); });
    }
  }

  static MaybeText author_of(const JsonValue& document, const JsonValue& topic) {
    const JsonValue* posters = topic.get("posters");
    const JsonValue* users = document.get("users");
    if (posters == nullptr || users == nullptr) return std::nullopt;
    for (const JsonValue& poster : posters->items) {
      if (poster.scalar("description").find("Original Poster") == std::string_view::npos) continue;
      for (const JsonValue& user : users->items) {
        if (user.scalar("id") == poster.scalar("user_id")) {
          return text_field(user, "username", 256);
        }
      }
    }
    return std::nullopt;
  }

  TopicRecord topic_of(const JsonValue& record) {
    TopicRecord topic;
    topic.external_id = number_text(record, "id");
    topic.title = required_text(record, "title", 8192);
    topic.slug = text_field(record, "slug", 512);
    topic.url = base_ + "/t/" + (topic.slug ? *topic.slug + "/" : "") + topic.external_id;
    if (const MaybeText excerpt = text_field(record, "excerpt", body_bytes_max)) {
      topic.excerpt = excerpt_of(*excerpt);
    }
    if (const MaybeInteger category = integer_field(record, "category_id")) {
      topic.category_id = std::to_string(*category);
    }
    topic.tags = tags_of(record);
    topic.posts_count = integer_field(record, "posts_count");
    topic.reply_count = integer_field(record, "reply_count");
    topic.like_count = integer_field(record, "like_count");
    topic.views = integer_field(record, "views");
    topic.participants = integer_field(record, "participant_count");
    topic.closed = flag_number(record, "closed");
    topic.archived = flag_number(record, "archived");
    topic.visible = flag_number(record, "visible");
    topic.created_at = iso_field(run_, record, "created_at");
    topic.last_posted_at = iso_field(run_, record, "last_posted_at");
    topic.bumped_at = iso_field(run_, record, "bumped_at");
    return topic;
  }

  void take_topic(const JsonValue& record, const MaybeText& author) {
    TopicRecord topic = topic_of(record);
    topic.author = author;
    if (!run_.first_time("topic\n" + topic.external_id)) return run_.ignore();
    run_.count(run_.writer().put_topic(source_, topic));
  }

  // A topic with its posts. Without a title, it is a page of posts of a topic that must be in the
  // store.
  void take_thread(const JsonValue& document, const std::string& position) {
    const JsonValue* posts = document.get("post_stream")->get("posts");
    const std::string id = std::string(document.scalar("id"));
    if (document.get("title") != nullptr) {
      run_.record(position, [&] {
        TopicRecord topic = topic_of(document);
        const JsonValue* details = document.get("details");
        const JsonValue* author = details != nullptr ? details->get("created_by") : nullptr;
        if (author != nullptr) topic.author = text_field(*author, "username", 256);
        if (posts != nullptr && !posts->items.empty()) {
          const JsonValue& first = posts->items.front();
          if (first.scalar("post_number") == "1") {
            topic.excerpt = excerpt_of(first.scalar("cooked"));
            if (!topic.author) topic.author = text_field(first, "username", 256);
          }
        }
        if (!run_.first_time("topic\n" + topic.external_id)) return run_.ignore();
        run_.count(run_.writer().put_topic(source_, topic));
      });
    }
    each(posts, position + ".post_stream.posts",
         [&](const JsonValue& post) { take_post(post, id); });
  }

  void take_post(const JsonValue& record, const std::string& topic_id) {
    PostRecord post;
    const MaybeInteger number = integer_field(record, "post_number");
    const MaybeTime created = iso_field(run_, record, "created_at");
    if (!number || *number < 1) throw BadRecord("post_number is missing");
    if (!created) throw BadRecord("created_at is missing");
    if (!run_.writer().has_topic(source_, topic_id)) {
      throw BadRecord("the topic " + topic_id + " is not in the store");
    }
    post.post_number = *number;
    post.created_at = *created;
    post.updated_at = iso_field(run_, record, "updated_at");
    post.external_id = number_text(record, "id");
    post.author = text_field(record, "username", 256);
    post.post_type = integer_field(record, "post_type").value_or(1);
    post.like_count = likes_of(record);
    const std::string html = text_field(record, "cooked", body_bytes_max).value_or("");
    if (!html.empty()) post.excerpt = excerpt_of(html);
    const std::string key = "post\n" + topic_id + "\n" + std::to_string(post.post_number);
    if (!run_.first_time(key)) return run_.ignore();
    run_.count(run_.writer().put_post(source_, topic_id, post, html));
  }

  // A post from a list of posts, which names its topic. If the topic is not in the store, it is
  // created from the data in the post.
  void take_loose_post(const JsonValue& record) {
    const std::string topic_id = number_text(record, "topic_id");
    if (!run_.writer().has_topic(source_, topic_id)) {
      TopicRecord topic;
      topic.external_id = topic_id;
      topic.title = required_text(record, "topic_title", 8192);
      topic.slug = text_field(record, "topic_slug", 512);
      topic.url = base_ + "/t/" + (topic.slug ? *topic.slug + "/" : "") + topic_id;
      if (const MaybeInteger category = integer_field(record, "category_id")) {
        topic.category_id = std::to_string(*category);
      }
      topic.last_posted_at = iso_field(run_, record, "created_at");
      if (record.scalar("post_number") == "1") topic.created_at = topic.last_posted_at;
      run_.writer().put_topic(source_, topic);
    }
    take_post(record, topic_id);
  }

  Run& run_;
  std::string base_;
  std::int64_t source_ = 0;
};

}  // namespace

void import_discourse(Run& run, Input& input) {
  Forum forum(run);
  const auto on_record = [&](JsonRecord&& record) {
    if (record.value.is(Kind::object)) {
      forum.take(record.value, record.position);
    } else {
      run.record(record.position, [] { throw BadRecord("the record is no object"); });
    }
  };
  const auto on_bad = [&](const std::string& position, const std::string& reason) {
    run.record(position, [&] { throw BadRecord(reason); });
  };
  read_json_records(input, {}, on_record, on_bad);
}

}  // namespace turnpike::govdata
