// The part of Writer for forums.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "govdata/store/text.h"
#include "govdata/store/url.h"
#include "govdata/store/writer.h"

namespace turnpike::govdata {
namespace {

template <class T>
void keep(std::optional<T>& into, const std::optional<T>& from) {
  if (from) into = from;
}

void merge(TopicRecord& topic, const TopicRecord& news) {
  keep(topic.title, news.title);
  keep(topic.slug, news.slug);
  keep(topic.url, news.url);
  keep(topic.excerpt, news.excerpt);
  keep(topic.author, news.author);
  keep(topic.category_id, news.category_id);
  keep(topic.category_name, news.category_name);
  keep(topic.tags, news.tags);
  keep(topic.posts_count, news.posts_count);
  keep(topic.reply_count, news.reply_count);
  keep(topic.like_count, news.like_count);
  keep(topic.views, news.views);
  keep(topic.participants, news.participants);
  keep(topic.closed, news.closed);
  keep(topic.archived, news.archived);
  keep(topic.visible, news.visible);
  keep(topic.created_at, news.created_at);
  keep(topic.last_posted_at, news.last_posted_at);
  keep(topic.bumped_at, news.bumped_at);
}

std::string tags_json(const TopicRecord& topic) {
  return nlohmann::json(topic.tags.value_or(std::vector<std::string>{})).dump();
}

std::vector<std::string> tags_of(const std::string& text) {
  std::vector<std::string> tags;
  const auto list = nlohmann::json::parse(text, nullptr, false);
  if (!list.is_array()) return tags;
  for (const auto& tag : list) {
    if (tag.is_string()) tags.push_back(tag.get<std::string>());
  }
  return tags;
}

}  // namespace

std::optional<std::int64_t> Writer::topic_pk(std::int64_t source_id,
                                             const std::string& external_id) {
  const std::string provider = provider_of(source_id);
  auto query = database_.prepare(
      "SELECT topic_pk FROM forum_topic WHERE provider=?1 AND source_id=?2 AND external_id=?3");
  query.with(provider, source_id, external_id);
  return query.step() ? std::optional(query.integer(0)) : std::nullopt;
}

bool Writer::has_topic(std::int64_t source_id, const std::string& external_id) {
  return topic_pk(source_id, external_id).has_value();
}

TopicRecord Writer::read_topic(std::int64_t pk) {
  auto row = database_.prepare(
      "SELECT external_id, title, slug, url, excerpt, author, category_id, category_name,"
      " tags_json, posts_count, reply_count, like_count, views, participants, closed, archived,"
      " visible, created_at, last_posted_at, bumped_at FROM forum_topic WHERE topic_pk=?1");
  row.with(pk);
  row.step();
  TopicRecord topic;
  topic.external_id = row.text(0);
  topic.title = row.text(1);
  topic.slug = row.maybe_text(2);
  topic.url = row.maybe_text(3);
  topic.excerpt = row.maybe_text(4);
  topic.author = row.maybe_text(5);
  topic.category_id = row.maybe_text(6);
  topic.category_name = row.maybe_text(7);
  topic.tags = tags_of(row.text(8));
  topic.posts_count = row.maybe_integer(9);
  topic.reply_count = row.maybe_integer(10);
  topic.like_count = row.maybe_integer(11);
  topic.views = row.maybe_integer(12);
  topic.participants = row.maybe_integer(13);
  topic.closed = row.maybe_integer(14);
  topic.archived = row.maybe_integer(15);
  topic.visible = row.maybe_integer(16);
  topic.created_at = row.maybe_integer(17);
  topic.last_posted_at = row.maybe_integer(18);
  topic.bumped_at = row.maybe_integer(19);
  return topic;
}

void Writer::write_topic(std::int64_t pk, const TopicRecord& topic) {
  const std::string title_norm = normal_title(*topic.title);
  const std::string tags = tags_json(topic);
  MaybeText url_norm;
  if (topic.url) url_norm = read_address(*topic.url).normal;
  std::int64_t updated_at = times_.as_of_ms;
  for (const auto& time : {topic.last_posted_at, topic.bumped_at, topic.created_at}) {
    if (!time) continue;
    updated_at = *time;
    break;
  }
  database_
      .prepare(
          "UPDATE forum_topic SET title=?2, title_norm=?3, slug=?4, url=?5, url_norm=?6,"
          " excerpt=?7, author=?8, category_id=?9, category_name=?10, tags_json=?11,"
          " posts_count=?12, reply_count=?13, like_count=?14, views=?15, participants=?16,"
          " closed=?17, archived=?18, visible=?19, created_at=?20, last_posted_at=?21,"
          " bumped_at=?22, updated_at=?23, last_seen_at=?24 WHERE topic_pk=?1")
      .with(pk, *topic.title, title_norm, topic.slug, topic.url, url_norm, topic.excerpt,
            topic.author, topic.category_id, topic.category_name, tags, topic.posts_count,
            topic.reply_count, topic.like_count, topic.views)
      .with(topic.participants, topic.closed, topic.archived, topic.visible, topic.created_at,
            topic.last_posted_at, topic.bumped_at, updated_at, times_.now_ms)
      .run();
  database_.prepare("INSERT OR IGNORE INTO touched_topic(pk) VALUES (?1)").with(pk).run();
}

void Writer::observe_topic(std::int64_t pk, const TopicRecord& record) {
  if (!record.posts_count) return;
  database_
      .prepare(
          "INSERT OR REPLACE INTO forum_topic_obs(topic_pk, observed_at, posts_count,"
          " like_count, views, last_posted_at) VALUES (?1,?2,?3,?4,?5,?6)")
      .with(pk, times_.as_of_ms, record.posts_count, record.like_count, record.views,
            record.last_posted_at)
      .run();
  database_.prepare("INSERT OR IGNORE INTO observed_topic(pk) VALUES (?1)").with(pk).run();
}

Written Writer::put_topic(std::int64_t source_id, const TopicRecord& record) {
  TopicRecord news = record;
  if (news.category_id && !news.category_name) {
    auto query =
        database_.prepare("SELECT name FROM forum_category WHERE source_id=?1 AND category_id=?2");
    query.with(source_id, *news.category_id);
    if (query.step()) news.category_name = query.text(0);
  }
  auto pk = topic_pk(source_id, news.external_id);
  Written written = Written::fresh;
  if (pk) {
    const TopicRecord before = read_topic(*pk);
    TopicRecord after = before;
    merge(after, news);
    written = after == before ? Written::same : Written::changed;
    if (written == Written::changed) write_topic(*pk, after);
  } else {
    const std::string dao = dao_of(source_id);
    const std::string provider = provider_of(source_id);
    database_
        .prepare(
            "INSERT INTO forum_topic(dao_id, source_id, provider, external_id, title,"
            " title_norm, first_seen_at, last_seen_at, updated_at)"
            " VALUES (?1,?2,?3,?4,'','',?5,?5,?5)")
        .with(dao, source_id, provider, news.external_id, times_.now_ms)
        .run();
    pk = database_.last_row_id();
    write_topic(*pk, news);
  }
  if (written == Written::same) {
    database_.prepare("UPDATE forum_topic SET last_seen_at=?2 WHERE topic_pk=?1")
        .with(*pk, times_.now_ms)
        .run();
  }
  observe_topic(*pk, news);
  return written;
}

Written Writer::put_post(std::int64_t source_id, const std::string& topic_id,
                         const PostRecord& post, std::string_view html) {
  const std::int64_t pk = *topic_pk(source_id, topic_id);
  std::optional<PostRecord> old;
  {
    auto row = database_.prepare(
        "SELECT external_id, author, post_type, created_at, updated_at, like_count, excerpt"
        " FROM forum_post WHERE topic_pk=?1 AND post_number=?2");
    row.with(pk, post.post_number);
    if (row.step()) {
      old = PostRecord{post.post_number,     row.maybe_text(0), row.maybe_text(1),
                       row.integer(2),       row.integer(3),    row.maybe_integer(4),
                       row.maybe_integer(5), row.maybe_text(6)};
    }
  }
  if (old && *old == post) return Written::same;
  database_
      .prepare(
          "INSERT OR REPLACE INTO forum_post(topic_pk, post_number, external_id, author,"
          " post_type, created_at, updated_at, like_count, excerpt)"
          " VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9)")
      .with(pk, post.post_number, post.external_id, post.author, post.post_type, post.created_at,
            post.updated_at, post.like_count, post.excerpt)
      .run();
  if (post.post_number == 1) write_references("forum_topic", pk, html);
  database_.prepare("INSERT OR IGNORE INTO touched_topic(pk) VALUES (?1)").with(pk).run();
  return old ? Written::changed : Written::fresh;
}

Written Writer::put_category(std::int64_t source_id, const std::string& category_id,
                             const std::string& name) {
  std::optional<std::string> old;
  {
    auto query =
        database_.prepare("SELECT name FROM forum_category WHERE source_id=?1 AND category_id=?2");
    query.with(source_id, category_id);
    if (query.step()) old = query.text(0);
  }
  if (old == name) return Written::same;
  database_
      .prepare(
          "INSERT OR REPLACE INTO forum_category(source_id, category_id, name)"
          " VALUES (?1,?2,?3)")
      .with(source_id, category_id, name)
      .run();
  database_
      .prepare(
          "INSERT OR IGNORE INTO touched_topic(pk) SELECT topic_pk FROM forum_topic"
          " WHERE source_id=?1 AND category_id=?2")
      .with(source_id, category_id)
      .run();
  database_.prepare("UPDATE forum_topic SET category_name=?3 WHERE source_id=?1 AND category_id=?2")
      .with(source_id, category_id, name)
      .run();
  return old ? Written::changed : Written::fresh;
}

}  // namespace turnpike::govdata
