// GET /items/{kind}/{external_id}: one proposal or topic in full.
#include <algorithm>

#include "govdata/serve/routes.h"
#include "govdata/store/decimal.h"
#include "govdata/store/text.h"
#include "govdata/store/timestamp.h"

namespace turnpike::govdata {
namespace {

constexpr std::size_t body_bytes_max = 64 << 10;
constexpr std::size_t actions_bytes_max = 512 << 10;
constexpr std::size_t label_bytes_max = 1024;
constexpr std::size_t alternatives_max = 20;

// The first row that an id matches, and the other rows that it matches.
template <class Row>
struct Named {
  Row chosen;
  std::vector<Row> others;
};

template <class Row>
Named<Row> choose(std::vector<Row> rows, const ItemName& name, const std::string& external_id,
                  const std::function<std::string(const Row&)>& source) {
  std::erase_if(rows, [&](const Row& row) {
    return (name.dao_id && row.dao_id != lower_ascii(*name.dao_id)) ||
           (name.source && source(row) != *name.source);
  });
  if (rows.empty()) {
    throw RouteError(404, "not_found", "no item has this id", {{"externalId", external_id}});
  }
  Named<Row> named{std::move(rows.front()), {}};
  rows.erase(rows.begin());
  named.others = std::move(rows);
  return named;
}

template <class Row>
Json alternatives_of(const Named<Row>& named) {
  Json list = Json::array();
  for (const Row& row : named.others) {
    if (list.size() < alternatives_max) list.push_back(item_ref(row));
  }
  return list;
}

Json choice_items(const std::vector<Choice>& choices) {
  Json items = Json::array();
  for (const Choice& choice : choices) {
    items.push_back({{"id", choice.id},
                     {"label", cut_utf8(choice.label, label_bytes_max)},
                     {"power", nullable(choice.score)},
                     {"voteCount", nullable(choice.votes_count)},
                     {"share", share_json(choice.score, choices)}});
  }
  return items;
}

// Actions beyond the size limit are left out, with a warning.
Json action_items(Database& database, std::int64_t pk, Json& warnings) {
  Json items = Json::array();
  std::size_t bytes = 0;
  auto row = database.prepare(
      "SELECT action_index, chain_id, target, value, signature, calldata FROM proposal_action"
      " WHERE proposal_pk = ?1 ORDER BY action_index");
  row.with(pk);
  while (row.step()) {
    MaybeText calldata = row.maybe_text(5);
    MaybeText signature = row.maybe_text(4);
    bytes += 256 + calldata.value_or("").size() + signature.value_or("").size();
    if (bytes > actions_bytes_max) {
      warnings.push_back("actions_truncated");
      break;
    }
    items.push_back({{"index", row.integer(0)},
                     {"chainId", nullable(row.maybe_integer(1))},
                     {"target", nullable(row.maybe_text(2))},
                     {"value", nullable(row.maybe_text(3))},
                     {"signature", nullable(signature)},
                     {"calldata", nullable(calldata)}});
  }
  return items;
}

}  // namespace

Json proposal_detail(RouteContext& context, const ProposalRow& row, Json& warnings) {
  const auto choices = read_choices(context.database, row.pk);
  Json item = context.present.summary(row, choices);
  MaybeText body;
  {
    auto query = context.database.prepare("SELECT body FROM proposal WHERE proposal_pk = ?1");
    query.with(row.pk);
    if (query.step()) body = query.maybe_text(0);
  }
  const bool truncated = body && body->size() > body_bytes_max;
  if (truncated) *body = std::string(cut_utf8(*body, body_bytes_max));
  const ProposalTimes& times = row.record.times;
  item["body"] = nullable(body);
  item["bodyFormat"] = "markdown";
  item["bodyTruncated"] = truncated;
  item["bodySha256"] = nullable(row.body_sha256);
  item["choices"] = choice_items(choices);
  item["quorumRequired"] = nullable(row.record.quorum);
  item["sourceUpdatedAt"] = iso_or_null(times.source_updated);
  item["canceledAt"] = iso_or_null(times.canceled);
  item["queuedAt"] = iso_or_null(times.queued);
  item["executedAt"] = iso_or_null(times.executed);
  item["actions"] = action_items(context.database, row.pk, warnings);
  item["revision"] = row.revision;
  item["links"] = {{"evidence", context.present.evidence_of(row)}};
  if (row.record.flagged) warnings.push_back("flagged");
  return item;
}

std::vector<std::string> id_forms(const std::string& external_id) {
  return {external_id, lower_ascii(external_id), decimal_of_hex(external_id).value_or("")};
}

namespace {

Json topic_detail(RouteContext& context, const TopicRow& row) {
  Json item = context.present.summary(row);
  Json posts = Json::array();
  auto post = context.database.prepare(
      "SELECT post_number, author, created_at, like_count, excerpt FROM (SELECT * FROM forum_post"
      " WHERE topic_pk = ?1 ORDER BY post_number DESC LIMIT 20) ORDER BY post_number");
  post.with(row.pk);
  while (post.step()) {
    posts.push_back({{"postNumber", post.integer(0)},
                     {"author", nullable(post.maybe_text(1))},
                     {"createdAt", iso_time(post.integer(2))},
                     {"likeCount", nullable(post.maybe_integer(3))},
                     {"excerpt", nullable(post.maybe_text(4))}});
  }
  Json activity = nullptr;
  if (!posts.empty()) {
    auto recent = context.database.prepare(
        "SELECT count(*), count(DISTINCT author) FROM forum_post WHERE topic_pk = ?1"
        " AND post_type = 1 AND created_at > ?2 AND created_at <= ?3");
    recent.with(row.pk, context.now_ms - ms_per_day, context.now_ms);
    recent.step();
    activity = {{"posts", recent.integer(0)}, {"authors", recent.integer(1)}};
  }
  const auto flag = [](const MaybeInteger& value) {
    return value ? Json(*value != 0) : Json(nullptr);
  };
  item["excerpt"] = nullable(row.record.excerpt);
  item["posts"] = posts;
  item["activity24h"] = activity;
  item["closed"] = flag(row.record.closed);
  item["archived"] = flag(row.record.archived);
  return item;
}

// The linked topics and proposals, and the items of the same kind that are linked with one of them.
Json related(RouteContext& context, std::string_view kind, std::int64_t pk) {
  const bool of_proposal = kind == "proposal";
  const Bind bind = [&](Statement& statement) { statement.with(pk); };
  const std::string linked_topics =
      of_proposal ? "SELECT topic_pk FROM item_link WHERE proposal_pk = ?1"
                  : "SELECT b.topic_pk FROM item_link a JOIN item_link b"
                    " ON b.proposal_pk = a.proposal_pk WHERE a.topic_pk = ?1 AND b.topic_pk <> ?1";
  const std::string linked_proposals =
      of_proposal ? "SELECT b.proposal_pk FROM item_link a JOIN item_link b"
                    " ON b.topic_pk = a.topic_pk WHERE a.proposal_pk = ?1 AND b.proposal_pk <> ?1"
                  : "SELECT proposal_pk FROM item_link WHERE topic_pk = ?1";
  Json topics = Json::array();
  for (const TopicRow& row : read_topics(context.database,
                                         "WHERE t.topic_pk IN (" + linked_topics +
                                             ") ORDER BY t.updated_at DESC, t.external_id LIMIT 10",
                                         bind)) {
    topics.push_back(context.present.summary(row));
  }
  Json proposals = Json::array();
  for (const ProposalRow& row :
       read_proposals(context.database,
                      "WHERE p.proposal_pk IN (" + linked_proposals +
                          ") ORDER BY p.updated_at DESC, p.external_id LIMIT 10",
                      bind)) {
    proposals.push_back(context.present.summary(row));
  }
  return {{"topics", topics}, {"proposals", proposals}};
}

std::vector<ProposalRow> proposals_named(RouteContext& context, const ItemName& name) {
  for (const std::string& id : id_forms(name.external_id)) {
    auto rows = read_proposals(context.database,
                               "WHERE p.external_id = ?1 ORDER BY p.updated_at DESC, p.proposal_pk",
                               [&](Statement& statement) { statement.with(id); });
    if (!rows.empty()) return rows;
  }
  return {};
}

}  // namespace

Json run_item(RouteContext& context) {
  const RouteRequest& request = context.request;
  ItemName name = read_item_name(*request.external_id);
  if (name.dao_id) name.dao_id = resolve_dao(context.database, *name.dao_id).value_or(*name.dao_id);
  Json warnings = Json::array();
  Json data = {{"kind", request.kind}};
  if (request.kind == "proposal") {
    const auto named =
        choose<ProposalRow>(proposals_named(context, name), name, *request.external_id,
                            [](const ProposalRow& row) { return row.provider; });
    data["itemRef"] = item_ref(named.chosen);
    data["ambiguous"] = !named.others.empty();
    data["alternatives"] = alternatives_of(named);
    data["item"] = proposal_detail(context, named.chosen, warnings);
    data["related"] = related(context, "proposal", named.chosen.pk);
  } else {
    auto rows = read_topics(context.database,
                            "WHERE t.external_id = ?1 ORDER BY t.updated_at DESC, t.topic_pk",
                            [&](Statement& statement) { statement.with(name.external_id); });
    const auto named = choose<TopicRow>(std::move(rows), name, *request.external_id,
                                        [](const TopicRow&) { return "discourse"; });
    data["itemRef"] = item_ref(named.chosen);
    data["ambiguous"] = !named.others.empty();
    data["alternatives"] = alternatives_of(named);
    data["item"] = topic_detail(context, named.chosen);
    data["related"] = related(context, "forum_topic", named.chosen.pk);
    if (named.chosen.record.visible == 0) warnings.push_back("not_visible");
  }
  data["warnings"] = warnings;
  return data;
}

}  // namespace turnpike::govdata
