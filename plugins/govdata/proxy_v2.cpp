// Answers from a remote service with the paths of version 2, for the operations that have a
// counterpart there. The service's replies are written to an in-memory store for each call, and the
// code of the embedded mode answers from it. So the replies have the same form in both modes.
#include <algorithm>
#include <nlohmann/json.hpp>

#include <turnpike/helpers/probe.h>

#include "govdata/import/json_records.h"
#include "govdata/live/remote.h"
#include "govdata/serve/routes.h"
#include "govdata/store/decimal.h"
#include "govdata/store/schema.h"
#include "govdata/store/text.h"
#include "govdata/store/timestamp.h"
#include "govdata/store/url.h"
#include "govdata/store/writer.h"
#include "govdata/upstream.h"

namespace turnpike::govdata {
namespace {

constexpr std::uint64_t page_bytes_max = 16u << 20;
constexpr int dao_pages_max = 100;
constexpr int feed_pages_max = 3;
constexpr int governance_related_min = 50;
constexpr std::string_view no_counterpart =
    "The upstream service has no counterpart of this operation.";

class TextSink final : public HttpSink {
 public:
  bool head(int got_status, Headers headers, std::optional<std::uint64_t>) override {
    status = got_status;
    for (const HeaderField& field : headers) {
      if (same_header_name(field.name, "retry-after")) retry_after = field.value;
    }
    return true;
  }
  bool body(std::string_view bytes) override {
    is_too_large = bytes.size() > page_bytes_max - text.size();
    if (!is_too_large) text += bytes;
    return !is_too_large;
  }
  int status = 0;
  std::string retry_after;
  std::string text;
  bool is_too_large = false;
};

// Thrown to end the call with a Failure, or with the service's 429.
struct UpstreamStop {
  Failure failure;
  int status = 0;  // 429 is passed on to the caller; 0: `failure` counts
  std::string retry_after;
};

UpstreamStop stop(FailureKind kind, std::string message) {
  return {Failure{kind, std::move(message), {}, true}, 0, {}};
}

// The functions below translate version 2 to the types of the store.
MaybeText text_of(const JsonValue& record, std::string_view name) {
  const JsonValue* value = record.get(name);
  const bool is_text = value != nullptr && value->is(JsonValue::Kind::string);
  return is_text ? MaybeText(value->text) : std::nullopt;
}

MaybeTime time_of(const JsonValue& record, std::string_view name) {
  return parse_iso_time(record.scalar(name));
}

MaybeInteger count_of(const JsonValue& record, std::string_view name) {
  const auto decimal = canonical_decimal(record.scalar(name));
  if (!decimal || decimal->size() > 15 || decimal->find('.') != decimal->npos) return std::nullopt;
  return std::stoll(*decimal);
}

std::string required(const MaybeText& text) {
  if (!text || text->empty()) {
    throw stop(FailureKind::contract, "the service's answer is not of version 2");
  }
  return *text;
}

const JsonValue& part_of(const JsonValue& record, std::string_view name) {
  static const JsonValue nothing;
  const JsonValue* part = record.get(name);
  return part != nullptr ? *part : nothing;
}

ProposalRecord proposal_of_v2(const JsonValue& item) {
  const JsonValue& source = part_of(item, "source");
  ProposalRecord record;
  record.external_id = required(text_of(source, "externalId"));
  record.title = text_of(item, "title").value_or("Proposal " + record.external_id);
  record.proposer = text_of(item, "proposerId");
  record.url = text_of(source, "url");
  record.discussion_url = text_of(source, "discussionUrl");
  record.source_status = text_of(item, "status");
  record.standing = {outcome_of(item.scalar("outcome")),
                     execution_of(item.scalar("executionStatus"))};
  record.times.created = time_of(item, "createdAt");
  record.times.starts = time_of(item, "votingStartsAt");
  record.times.ends = time_of(item, "votingEndsAt");
  record.times.source_updated = time_of(item, "sourceUpdatedAt");
  record.body = text_of(item, "body");
  record.quorum = canonical_decimal(item.scalar("quorumRequired"));
  for (const JsonValue& choice : part_of(item, "choices").items) {
    record.choices.push_back(
        {std::string(choice.scalar("id")), text_of(choice, "label").value_or(""), {}, {}});
  }
  return record;
}

TopicRecord topic_of_v2(const JsonValue& item) {
  const JsonValue& source = part_of(item, "source");
  const JsonValue& category = part_of(item, "category");
  TopicRecord topic;
  topic.external_id = required(text_of(source, "externalId"));
  topic.title = text_of(item, "title").value_or("Topic " + topic.external_id);
  topic.url = text_of(source, "url");
  topic.excerpt = text_of(item, "excerpt");
  topic.author = text_of(item, "author");
  topic.category_id = text_of(category, "id");
  topic.category_name = text_of(category, "name");
  topic.tags.emplace();
  for (const JsonValue& tag : part_of(item, "tags").items) topic.tags->push_back(tag.text);
  if (const auto comments = count_of(item, "commentCount")) topic.posts_count = *comments + 1;
  topic.like_count = count_of(item, "likeCount");
  topic.views = count_of(item, "viewCount");
  topic.created_at = time_of(item, "createdAt");
  topic.last_posted_at = time_of(item, "lastPostedAt");
  return topic;
}

Json dao_of_v2(const JsonValue& item) {
  const auto or_null = [](const MaybeInteger& value) { return nullable(value); };
  const std::string id = required(text_of(item, "daoId"));
  const JsonValue& counts = part_of(item, "proposalCounts");
  const JsonValue& voters = part_of(item, "participation");
  const JsonValue& latest = part_of(item, "latestActivity");
  Json sources = Json::array();
  for (const JsonValue& source : part_of(item, "sources").items) {
    const std::string provider = provider_name(source.text);
    sources.push_back({{"provider", provider},
                       {"scope", id},
                       {"kind", provider == "discourse" ? "forum" : "proposal"},
                       {"url", nullptr}});
  }
  Json available = Json::array();
  for (const JsonValue& name : part_of(item, "availableData").items) available.push_back(name.text);
  Json participation = nullptr;
  if (!voters.fields.empty()) {
    participation = {{"voterCount", or_null(count_of(voters, "voterCount"))},
                     {"voteCount", or_null(count_of(voters, "voteCount"))}};
  }
  return {{"daoId", id},
          {"name", text_of(item, "name").value_or(id)},
          {"aliases", Json::array()},
          {"about", nullptr},
          {"website", nullptr},
          {"logoUrl", nullptr},
          {"sources", sources},
          {"availableData", available},
          {"proposalCounts",
           {{"total", or_null(count_of(counts, "total"))},
            {"pending", nullptr},
            {"active", or_null(count_of(counts, "active"))},
            {"closed", nullptr}}},
          {"participation", participation},
          {"forumCounts", nullptr},
          {"latestActivity",
           {{"proposalCreatedAt", iso_or_null(time_of(latest, "proposalCreatedAt"))},
            {"proposalUpdatedAt", nullptr},
            {"forumLastPostedAt", iso_or_null(time_of(latest, "forumLastPostedAt"))}}},
          {"coverageStatus", "partial"},
          {"dataAsOf", iso_or_null(time_of(item, "dataAsOf"))}};
}

// The source of an id without a source, by the name that version 2 uses.
std::string provider_of_id(std::string_view id) {
  const bool is_number = id.find_first_not_of("0123456789") == id.npos;
  return is_number ? "degov-square" : "snapshot";
}

std::string provider_of_v2(const std::string& source) {
  return source == "governor" ? "degov-square" : source;
}

// One call: the requests to the service, the store that they fill, and the answer from the store.
class V2Call {
 public:
  V2Call(const Configuration& configuration, Host& host, Call& call, RouteRequest& request)
      : configuration_(configuration),
        host_(host),
        call_(call),
        request_(request),
        now_ms_(host.clock().now_ms()) {}

  // Throws UpstreamStop, RouteError and SqliteError.
  std::string answer() {
    Json data;
    switch (request_.operation) {
      case Operation::pricing:
        return envelope("pricing", pricing_of(configuration_.service));
      case Operation::daos:
        return envelope("data", daos());
      case Operation::lookup:
        look_up();
        break;
      case Operation::item:
        read_item();
        break;
      case Operation::activity:
        read_activity();
        break;
      default:
        throw RouteError(503, "unavailable", std::string(no_counterpart));
    }
    return envelope("data", run_on_store());
  }

 private:
  // Empty if the service answers 404.
  std::optional<JsonValue> ask(Method method, const std::string& path, const std::string& body) {
    const ProxySettings& settings = configuration_.proxy;
    const std::string url = settings.base_url + path;
    std::vector<HeaderField> headers = {{"Accept", "application/json"},
                                        {"User-Agent", settings.user_agent}};
    if (!settings.api_token.empty()) headers.push_back({"x-degov-api-token", settings.api_token});
    if (method == Method::post) headers.push_back({"Content-Type", "application/json"});
    const HttpRequest request{method, url, headers, body};
    HttpOptions options;
    options.allow_private_addresses = settings.allow_private_addresses;
    options.connect_timeout_ms = settings.connect_timeout_ms;
    options.reply_bytes_max = page_bytes_max;
    TextSink sink;
    const Done done = host_.http().call(request, options, sink, call_);
    if (sink.is_too_large) throw stop(FailureKind::too_large, "the service's page is too large");
    if (!done.ok()) throw UpstreamStop{done.error(), 0, {}};
    judge(sink);
    if (sink.status == 404) return std::nullopt;
    auto document = object_of(sink.text);
    if (!document || document->get("data") == nullptr) {
      throw stop(FailureKind::contract, "the service's answer is not of version 2");
    }
    return document;
  }

  static void judge(const TextSink& sink) {
    const std::string number = std::to_string(sink.status);
    if (sink.status == 200 || sink.status == 404) return;
    if (sink.status == 400) {
      throw RouteError(400, "invalid_argument", "the upstream service refuses the parameters");
    }
    if (sink.status >= 401 && sink.status <= 403) {
      throw stop(FailureKind::credential, "the upstream refused our token with " + number);
    }
    if (sink.status >= 300 && sink.status < 400) {
      throw stop(FailureKind::redirect, "the upstream redirects");
    }
    if (sink.status == 429) {
      throw UpstreamStop{Failure{FailureKind::unavailable, "limited", {}, true}, 429,
                         sink.retry_after};
    }
    throw stop(FailureKind::contract, "the upstream answered with status " + number);
  }

  // The items of a list in its order. Reads up to `pages` pages, and the next page only if
  // `goes_on` returns true for the last item so far.
  template <class GoesOn>
  std::vector<JsonValue> list(const std::string& path, int pages, GoesOn goes_on) {
    std::vector<JsonValue> items;
    std::string cursor;
    for (int page = 0; page < pages; ++page) {
      auto document =
          ask(Method::get, path + (cursor.empty() ? "" : "&cursor=" + percent_encoded(cursor)), {});
      if (!document) break;
      for (const JsonValue& item : document->get("data")->items) items.push_back(item);
      cursor = std::string(part_of(*document, "page").scalar("nextCursor"));
      if (cursor.empty() || items.empty() || !goes_on(items.back())) break;
    }
    return items;
  }

  Json daos() {
    ItemList items;
    for (const JsonValue& dao :
         list("/v2/daos?limit=100", dao_pages_max, [](const JsonValue&) { return true; })) {
      note_as_of(dao);
      if (!items.add(dao_of_v2(dao))) break;
    }
    Json data = {{"count", items.size()}};
    if (items.full()) data["truncated"] = true;
    data["items"] = items.take();
    return data;
  }

  void look_up() {
    if (request_.url) {
      const auto found = ask(Method::post, "/v2/proposals/resolve",
                             nlohmann::json{{"by", "url"}, {"url", *request_.url}}.dump());
      if (found) proposals_.push_back(part_of(*found, "data"));
    }
    if (request_.external_id) {
      const auto found = resolve(read_item_name(*request_.external_id));
      if (found) proposals_.push_back(*found);
    }
    if (request_.title) {
      const std::string limit = std::to_string(std::min<std::int64_t>(100, request_.limit));
      std::string path =
          "/v2/proposals?query=" + percent_encoded(*request_.title) + "&limit=" + limit;
      if (request_.dao_id) path += "&daoId=" + percent_encoded(*request_.dao_id);
      for (JsonValue& item : list(path, 1, [](const JsonValue&) { return false; })) {
        proposals_.push_back(std::move(item));
      }
    }
  }

  // Finds a proposal by id. Version 2 requires the DAO and the source, too.
  std::optional<JsonValue> resolve(const ItemName& name) {
    const auto dao_id = name.dao_id ? name.dao_id : request_.dao_id;
    if (!dao_id) {
      throw RouteError(503, "unavailable",
                       "the upstream service finds an id only with its DAO: give dao_id, or the "
                       "id as daoId~source~externalId");
    }
    const std::string provider =
        name.source ? provider_of_v2(*name.source) : provider_of_id(name.external_id);
    const auto found = ask(Method::post, "/v2/proposals/resolve",
                           nlohmann::json{{"by", "source_id"},
                                          {"daoId", *dao_id},
                                          {"provider", provider},
                                          {"externalId", name.external_id}}
                               .dump());
    if (!found) return std::nullopt;
    return part_of(*found, "data");
  }

  void read_item() {
    if (request_.kind != "proposal") {
      throw RouteError(503, "unavailable", "the upstream service has no details of forum topics");
    }
    const auto found = resolve(read_item_name(*request_.external_id));
    if (!found) return;  // the empty store then gives a 404
    const std::string id = required(text_of(*found, "proposalId"));
    const auto detail = ask(Method::get, "/v2/proposals/" + percent_encoded(id), {});
    if (detail) proposals_.push_back(part_of(*detail, "data"));
  }

  void read_activity() {
    const std::int64_t start_ms = now_ms_ - request_.hours * ms_per_hour;
    const auto is_recent = [start_ms](const char* name) {
      return [start_ms, name](const JsonValue& last) {
        return time_of(last, name).value_or(0) >= start_ms;
      };
    };
    const std::string dao =
        request_.dao_id ? "&daoId=" + percent_encoded(*request_.dao_id) : std::string();
    if (request_.wants_proposals) {
      proposals_ = list("/v2/proposals?sort=createdDesc&limit=100" + dao, feed_pages_max,
                        is_recent("createdAt"));
    }
    if (request_.wants_topics) {
      topics_ = list("/v2/forum-topics?sort=lastPostedAtDesc&limit=100" + dao, feed_pages_max,
                     is_recent("lastPostedAt"));
    }
  }

  void note_as_of(const JsonValue& item) {
    const MaybeTime as_of = time_of(item, "dataAsOf");
    if (as_of && (!as_of_ || *as_of_ < *as_of)) as_of_ = as_of;
  }

  // Writes the DAO and the source of an item; returns the source's id. The source is complete up to
  // the latest time that one of its items tells.
  std::int64_t put_source_of(Writer& writer, const JsonValue& item, const char* kind) {
    writer.set_as_of(time_of(item, "dataAsOf").value_or(as_of_.value_or(now_ms_)));
    SourceKey key;
    key.dao_id = required(text_of(item, "daoId"));
    key.provider = provider_name(required(text_of(part_of(item, "source"), "provider")));
    key.kind = kind;
    key.scope = key.dao_id;
    DaoRecord dao;
    dao.dao_id = key.dao_id;
    writer.put_dao(dao);
    return writer.put_source(key);
  }

  Json run_on_store() {
    for (const JsonValue& item : proposals_) note_as_of(item);
    for (const JsonValue& item : topics_) note_as_of(item);
    const auto database = open_for_import(":memory:");
    {
      Transaction transaction(*database, Transaction::Kind::write);
      Writer writer(*database, {now_ms_, as_of_.value_or(now_ms_), std::nullopt});
      for (const JsonValue& item : proposals_) {
        writer.put_proposal(put_source_of(writer, item, "proposal"), proposal_of_v2(item));
      }
      for (const JsonValue& item : topics_) {
        writer.put_topic(put_source_of(writer, item, "forum"), topic_of_v2(item));
      }
      writer.finish();
      // The service lists only topics about governance.
      database->prepare("UPDATE forum_topic SET governance_score = max(governance_score, ?1)")
          .with(std::int64_t{governance_related_min})
          .run();
      transaction.commit();
    }
    const Transaction snapshot(*database, Transaction::Kind::read);
    RouteContext context{
        *database, now_ms_, configuration_.service, request_, {*database, now_ms_, {}}};
    if (request_.operation == Operation::lookup) return run_lookup(context);
    if (request_.operation == Operation::item) return run_item(context);
    return run_activity(context);
  }

  std::string envelope(const char* name, const Json& data) const {
    const bool is_live = request_.operation != Operation::pricing;
    Json body = {{"request",
                  {{"endpoint", request_.endpoint},
                   {"params", request_.query.params()},
                   {"clamped", request_.query.clamped()}}},
                 {"freshness",
                  {{"generatedAt", iso_time(now_ms_)},
                   {"dataAsOf", iso_or_null(as_of_)},
                   {"cacheStatus", is_live ? "refreshed_live" : "registry_only"},
                   {"readiness", "ready"},
                   {"revision", 0}}}};
    body[name] = data;
    return dump(body);
  }

  const Configuration& configuration_;
  Host& host_;
  Call& call_;
  RouteRequest& request_;
  const std::int64_t now_ms_;
  std::vector<JsonValue> proposals_, topics_;
  MaybeTime as_of_;
};

class ProxyV2 final : public Upstream {
 public:
  ProxyV2(const Configuration& configuration, Host& host)
      : configuration_(configuration), host_(host) {}

  Done execute(const UpstreamRequest& request, ReplySink& sink, Call& call) override {
    const auto& routes = configuration_.service.routes;
    if (request.operation >= routes.size()) {
      return Failure{FailureKind::contract, "an operation that was not bound", {}, false};
    }
    const Operation operation = routes[request.operation].operation;
    if (needs_token(operation) && configuration_.proxy.api_token.empty()) {
      return Failure{FailureKind::credential, "the upstream token is not available", {}, false};
    }
    ServiceCall wanted;
    wanted.operation = operation;
    for (const PathParameter& parameter : request.parameters) {
      wanted.path_values.push_back(parameter.value);
    }
    wanted.query = request.query;
    try {
      if (!is_told(operation)) throw RouteError(503, "unavailable", std::string(no_counterpart));
      RouteRequest parsed = parse_request(wanted, host_.clock().now_ms());
      V2Call one(configuration_, host_, call, parsed);
      return reply(sink, 200, one.answer(), request.reply_bytes_max);
    } catch (const RouteError& error) {
      Json body = {{"error", {{"code", error.code()}, {"message", error.what()}}}};
      body["error"]["details"] = error.details().is_null() ? Json::object() : error.details();
      body["requestId"] = call.request_id();
      return reply(sink, error.status(), dump(body), 0);
    } catch (const UpstreamStop& stopped) {
      if (stopped.status == 0) return stopped.failure;
      std::vector<HeaderField> headers = {{"Content-Type", "application/json"}};
      if (!stopped.retry_after.empty()) headers.push_back({"Retry-After", stopped.retry_after});
      if (sink.head(stopped.status, headers, 2)) sink.body("{}");
      return Unit{};
    } catch (const SqliteError&) {
      return Failure{FailureKind::contract, "the service's items contradict each other", {}, true};
    }
  }

  [[nodiscard]] State state(std::uint32_t operation) const noexcept override {
    const auto& routes = configuration_.service.routes;
    if (operation >= routes.size()) return {Condition::blocked, "the operation is not bound"};
    const Operation known = routes[operation].operation;
    if (!is_told(known)) return {Condition::blocked, no_counterpart};
    if (needs_token(known) && configuration_.proxy.api_token.empty()) {
      return {Condition::credential_missing, "The credential of the upstream service is missing."};
    }
    return {};
  }

  // Asks for the list of DAOs, which is free. Sends the token only if the registry says so.
  Done probe(Call& call) override {
    const ProxySettings& settings = configuration_.proxy;
    const bool sends_token = settings.probe_sends_token;
    if (sends_token && settings.api_token.empty()) {
      return Failure{FailureKind::credential, "the upstream token is not available", {}, false};
    }
    const HeaderField headers[] = {{"Accept", "application/json"},
                                   {"User-Agent", settings.user_agent},
                                   {"x-degov-api-token", settings.api_token}};
    const std::string url = settings.base_url + "/v2/daos?limit=1";
    HttpOptions options;
    options.allow_private_addresses = settings.allow_private_addresses;
    options.connect_timeout_ms = settings.connect_timeout_ms;
    options.reply_bytes_max = page_bytes_max;
    TextSink sink;
    const Done done = host_.http().call(
        {Method::get, url, Headers(headers).first(sends_token ? 3 : 2), {}}, options, sink, call);
    if (!done.ok()) return done;
    if (sink.status >= 300 && sink.status < 400) {
      return Failure{FailureKind::redirect, "the upstream redirects", {}, true};
    }
    return judge_probe(sink.status, "GET /v2/daos", sends_token);
  }

 private:
  static bool is_told(Operation operation) {
    return operation == Operation::pricing || operation == Operation::daos ||
           operation == Operation::lookup || operation == Operation::item ||
           operation == Operation::activity;
  }
  static bool needs_token(Operation operation) {
    return operation != Operation::pricing && operation != Operation::daos;
  }

  static Done reply(ReplySink& sink, int status, const std::string& body, std::uint64_t bytes_max) {
    if (bytes_max > 0 && body.size() > bytes_max) {
      return Failure{
          FailureKind::too_large, "the answer is larger than the route allows", {}, true};
    }
    const HeaderField headers[] = {{"Content-Type", "application/json"}};
    if (sink.head(status, headers, body.size())) sink.body(body);
    return Unit{};
  }

  const Configuration configuration_;
  Host& host_;
};

}  // namespace

std::unique_ptr<Upstream> make_proxy_v2(const Configuration& configuration, Host& host) {
  return std::make_unique<ProxyV2>(configuration, host);
}

}  // namespace turnpike::govdata
