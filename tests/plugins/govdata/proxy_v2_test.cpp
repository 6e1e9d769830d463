// proxy_v2 against a scripted service of version 2: supported answers have the shape of the
// embedded mode's; unsupported requests are refused before a call is made.
#include <turnpike/helpers/test_host.h>

#include <nlohmann/json.hpp>
#include <set>

#include "fixtures.h"
#include "govdata/serve/present.h"
#include "govdata/upstream.h"

namespace turnpike::govdata {
namespace {

constexpr const char* v2_proposal = R"({"proposalId":"p1_a","daoId":"tide-eth",
  "title":"Fund the harbour","proposerId":"0xaa","source":{"provider":"snapshot",
  "externalId":"0x0000000000000000000000000000000000000000000000000000000000000001",
  "url":"https://snapshot.org/#/tide.eth/proposal/0x01","discussionUrl":null},"status":"active",
  "outcome":"unknown","executionStatus":"unknown","createdAt":"2026-03-01T08:00:00.000Z",
  "votingStartsAt":"2026-03-01T09:00:00.000Z","votingEndsAt":"2026-03-04T09:00:00.000Z",
  "dataAsOf":"2026-03-01T11:00:00.000Z")";
constexpr const char* v2_details = R"(,"body":"Text","choices":[{"id":"1","label":"For"},
  {"id":"2","label":"Against"}],"quorumRequired":"400","sourceUpdatedAt":null})";
constexpr const char* v2_topic = R"({"topicId":"t1_a","daoId":"tide-eth",
  "source":{"provider":"discourse","externalId":"42","url":"https://forum.example/t/42"},
  "title":"About the harbour","excerpt":"Words","author":"alice",
  "category":{"id":"4","name":"General"},"tags":["boats"],"commentCount":7,"likeCount":3,
  "viewCount":99,"createdAt":"2026-02-01T08:00:00.000Z",
  "lastPostedAt":"2026-03-01T10:00:00.000Z","dataAsOf":"2026-03-01T10:30:00.000Z"})";
constexpr const char* v2_dao = R"({"daoId":"DAO","name":"Tide","sources":["discourse","snapshot"],
  "availableData":["proposals","votes"],"proposalCounts":{"total":197,"active":1},
  "participation":{"voterCount":30,"voteCount":313},"latestActivity":{
  "proposalCreatedAt":"2026-02-21T23:15:24.000Z","forumLastPostedAt":null},
  "dataAsOf":"2026-03-01T11:00:00.000Z"})";

std::string in_place(std::string text, const std::string& what, const std::string& with) {
  text.replace(text.find(what), what.size(), with);
  return text;
}

class ProxyV2Test : public StoreTest {
 protected:
  ProxyV2Test() {
    host.time_ms = clock.now_ms();
    host.answer = [this](const HttpRequest& request, HttpSink& sink) {
      return serve(request, sink);
    };
  }

  Done serve(const HttpRequest& request, HttpSink& sink) {
    const std::string url(request.url);
    asked.push_back(url.substr(std::string("https://v2.example").size()) +
                    (request.body.empty() ? "" : " " + std::string(request.body)));
    for (const HeaderField& field : request.headers) {
      tokens += same_header_name(field.name, "x-degov-api-token") ? 1 : 0;
    }
    const HeaderField headers[] = {{"Retry-After", "9"}, {"PAYMENT-REQUIRED", "theirs"}};
    const std::string body = body_of(url, std::string(request.body));
    sink.head(body.empty() && status == 200 ? 404 : status, headers, std::nullopt);
    sink.body(body);
    return Unit{};
  }

  static std::string body_of(const std::string& url, const std::string& body) {
    const auto has = [&](const char* part) { return url.find(part) != std::string::npos; };
    const std::string item = std::string(v2_proposal) + "}";
    if (has("/v2/daos") && has("cursor=two%2F2")) {
      return R"({"data":[)" + in_place(v2_dao, "DAO", "wave") +
             R"(],"page":{"hasMore":false,"nextCursor":null}})";
    }
    if (has("/v2/daos")) {
      return R"({"data":[)" + in_place(v2_dao, "DAO", "tide-eth") +
             R"(],"page":{"hasMore":true,"nextCursor":"two/2"}})";
    }
    if (has("/v2/proposals/resolve")) {
      const bool is_known = body.find("0x01") != body.npos || body.find("00001\"") != body.npos;
      return is_known ? R"({"data":)" + item + "}" : "";
    }
    if (has("/v2/proposals/p1_a")) {
      return R"({"data":)" + std::string(v2_proposal) + v2_details + "}";
    }
    if (has("/v2/forum-topics")) {
      return R"({"data":[)" + std::string(v2_topic) + R"(],"page":{"nextCursor":null}})";
    }
    return R"({"data":[)" + item + R"(],"page":{"nextCursor":null}})";
  }

  Upstream& upstream() {
    if (upstream_) return *upstream_;
    for (const char* end :
         {"/daos", "/proposals/lookup", "/items/{kind}/{external_id}", "/activity", "/meta/pricing",
          "/daos/{dao_id}/brief", "/system/freshness", "/governance-signals", "/governance-events",
          "/daos/{dao_id}/proposals/{source}/{external_id}/evidence"}) {
      paths_.push_back(std::string("/v1/gateway/govdata/global/v1") + end);
    }
    std::vector<BoundOperation> operations;
    for (const std::string& path : paths_) {
      BoundOperation operation;
      operation.route_id = "r";
      operation.path = path;
      operation.credit_cost = 1;
      operations.push_back(operation);
    }
    Settings settings = settings_of({{"mode", "proxy_v2"}, {"base_url", "https://v2.example"}});
    settings.fields.push_back({"api_token", secret_of(token)});
    auto configuration = read_configuration({"up", settings, operations, {}, false});
    EXPECT_TRUE(configuration.ok()) << configuration.error().message;
    upstream_ = make_upstream(*configuration, host);
    return *upstream_;
  }

  Done execute(std::uint32_t operation, const std::string& query, turnpike::TestReply& reply,
               std::vector<PathParameter> parameters = {}) {
    UpstreamRequest request;
    request.operation = operation;
    request.query = query;
    request.parameters = parameters;
    return upstream().execute(request, reply, call);
  }
  Json data(std::uint32_t operation, const std::string& query,
            std::vector<PathParameter> parameters = {}) {
    turnpike::TestReply reply;
    EXPECT_TRUE(execute(operation, query, reply, std::move(parameters)).ok());
    EXPECT_EQ(reply.status, 200) << reply.text;
    const Json body = Json::parse(reply.text);
    EXPECT_EQ(body["freshness"]["cacheStatus"],
              operation == 4 ? "registry_only" : "refreshed_live");
    return body[operation == 4 ? "pricing" : "data"];
  }

  turnpike::TestHost host;
  turnpike::TestCall call;
  std::vector<std::string> asked;
  std::string token = "tok-2";
  int tokens = 0;
  int status = 200;

 private:
  std::vector<std::string> paths_;
  std::unique_ptr<Upstream> upstream_;
};

// All names in a value with their paths; a list counts by its first item.
void names_in(const Json& value, const std::string& place, std::set<std::string>& names) {
  if (value.is_array() && !value.empty()) return names_in(value[0], place + "[]", names);
  if (!value.is_object()) return;
  for (const auto& [name, below] : value.items()) {
    names.insert(place + "." + name);
    names_in(below, place + "." + name, names);
  }
}

TEST_F(ProxyV2Test, ListsDaosThroughAllPages) {
  const Json answer = data(0, "");
  EXPECT_EQ(answer["count"], 2);
  EXPECT_EQ(answer["items"][0]["daoId"], "tide-eth");
  EXPECT_EQ(answer["items"][1]["daoId"], "wave");
  EXPECT_EQ(answer["items"][0]["proposalCounts"],
            Json::parse(R"({"total":197,"pending":null,"active":1,"closed":null})"));
  EXPECT_EQ(answer["items"][0]["participation"]["voteCount"], 313);
  EXPECT_EQ(asked,
            (std::vector<std::string>{"/v2/daos?limit=100", "/v2/daos?limit=100&cursor=two%2F2"}));
  EXPECT_EQ(tokens, 2);
}

TEST_F(ProxyV2Test, LooksUpByUrlIdAndTitle) {
  const std::string id = "0x0000000000000000000000000000000000000000000000000000000000000001";
  Json answer = data(1, "url=https%3A%2F%2Fsnapshot.org%2F%23%2Ftide.eth%2Fproposal%2F0x01");
  EXPECT_EQ(answer["candidates"][0]["match"]["type"], "url_exact");
  EXPECT_EQ(asked.back(),
            "/v2/proposals/resolve "
            R"({"by":"url","url":"https://snapshot.org/#/tide.eth/proposal/0x01"})");
  answer = data(1, "dao_id=tide-eth&external_id=" + id);
  EXPECT_EQ(answer["candidates"][0]["match"]["type"], "external_id_exact");
  EXPECT_EQ(answer["candidates"][0]["itemRef"]["source"], "snapshot");
  EXPECT_NE(asked.back().find(R"("provider":"snapshot")"), std::string::npos);
  answer = data(1, "title=the+HARBOUR&limit=3");
  EXPECT_EQ(answer["candidates"][0]["match"]["type"], "title_contains");
  EXPECT_EQ(asked.back(), "/v2/proposals?query=the%20HARBOUR&limit=3");
  EXPECT_EQ(data(1, "dao_id=tide-eth&external_id=tide~governor~77")["candidates"], Json::array());
  EXPECT_NE(asked.back().find(R"("provider":"degov-square")"), std::string::npos);
  turnpike::TestReply reply;
  EXPECT_TRUE(execute(1, "external_id=77", reply).ok());
  EXPECT_EQ(reply.status, 503) << "version 2 finds no id without its DAO";
  turnpike::TestReply none;
  EXPECT_TRUE(execute(1, "", none).ok());
  EXPECT_EQ(none.status, 400);
}

TEST_F(ProxyV2Test, AnswersHaveTheShapesOfTheStore) {
  const std::string id = "0x0000000000000000000000000000000000000000000000000000000000000001";
  ImportOptions with = options(Format::snapshot_graphql, "tide-eth");
  import(with, R"({"data":{"proposals":[{"id":")" + id +
                   R"(","title":"Fund the harbour","space":{"id":"tide.eth"},
                   "author":"0xaa","created":1772352000,"start":1772355600,"end":1772614800,
                   "choices":["For","Against"],"body":"Text","quorum":400}]}})");
  with = options(Format::discourse, "tide-eth");
  import(with, R"({"topic_list":{"topics":[{"id":42,"title":"About the harbour","posts_count":8,
                   "category_id":4,"tags":["boats"],"created_at":"2026-02-01T08:00:00Z",
                   "last_posted_at":"2026-03-01T10:00:00Z"}]}})");
  ServiceOptions embedded;
  embedded.database = path();
  Service service(embedded, clock);
  service.check();
  const auto same_names = [&](Operation operation, std::uint32_t bound, const std::string& query,
                              std::vector<PathParameter> parameters) {
    ServiceCall asks{operation, {}, query, "r"};
    for (const PathParameter& parameter : parameters) asks.path_values.push_back(parameter.value);
    std::set<std::string> stored;
    std::set<std::string> told;
    names_in(Json::parse(service.answer(asks).body)["data"], "", stored);
    names_in(data(bound, query, parameters), "", told);
    EXPECT_EQ(told, stored) << query;
  };
  same_names(Operation::lookup, 1, "dao_id=tide-eth&external_id=" + id, {});
  same_names(Operation::activity, 3, "hours=24&dao_id=tide-eth", {});
  same_names(Operation::activity, 3, "hours=24&dao_id=tide-eth&types=proposal", {});
  const std::string name = "tide-eth~snapshot~" + id;
  same_names(Operation::item, 2, "",
             {{"kind", "proposal", "proposal"}, {"external_id", name, name}});
}

TEST_F(ProxyV2Test, OneProposalWithItsText) {
  const std::string name =
      "tide-eth~snapshot~0x0000000000000000000000000000000000000000000000000000000000000001";
  const Json answer = data(2, "", {{"kind", "proposal", "proposal"}, {"external_id", name, name}});
  EXPECT_EQ(answer["item"]["body"], "Text");
  EXPECT_EQ(answer["item"]["quorumRequired"], "400");
  EXPECT_EQ(answer["item"]["choices"][1]["label"], "Against");
  EXPECT_EQ(answer["item"]["status"], "active");
  EXPECT_EQ(asked.back(), "/v2/proposals/p1_a");
  turnpike::TestReply topic;
  EXPECT_TRUE(
      execute(2, "", topic, {{"kind", "forum_topic", "forum_topic"}, {"external_id", "42", "42"}})
          .ok());
  EXPECT_EQ(topic.status, 503);
  turnpike::TestReply missing;
  EXPECT_TRUE(
      execute(2, "", missing,
              {{"kind", "proposal", "proposal"}, {"external_id", "x~snapshot~y", "x~snapshot~y"}})
          .ok());
  EXPECT_EQ(missing.status, 404);
}

TEST_F(ProxyV2Test, ActivityKeepsToItsWindow) {
  Json answer = data(3, "hours=24&governance_only=true");
  EXPECT_EQ(answer["count"], 2) << "the service lists topics that are about governance alone";
  EXPECT_EQ(answer["items"][0]["kind"], "forum_topic");
  EXPECT_EQ(answer["items"][0]["topic"]["commentCount"], 7);
  EXPECT_EQ(answer["items"][1]["changeType"], "voting_started");
  EXPECT_EQ(answer["items"][0]["topic"]["dataAsOf"], "2026-03-01T10:30:00.000Z");
  EXPECT_EQ(answer["items"][1]["proposal"]["dataAsOf"], "2026-03-01T11:00:00.000Z");
  EXPECT_EQ(asked, (std::vector<std::string>{"/v2/proposals?sort=createdDesc&limit=100",
                                             "/v2/forum-topics?sort=lastPostedAtDesc&limit=100"}));
  EXPECT_EQ(data(3, "hours=1&types=proposal")["count"], 0);
}

TEST_F(ProxyV2Test, WhatTheServiceHasNotIsBlocked) {
  for (const std::uint32_t operation : {5u, 6u, 7u, 8u, 9u}) {
    EXPECT_EQ(upstream().state(operation).condition, Condition::blocked) << operation;
    turnpike::TestReply reply;
    EXPECT_TRUE(execute(operation, "", reply).ok());
    EXPECT_EQ(reply.status, 503);
    EXPECT_EQ(Json::parse(reply.text)["error"]["code"], "unavailable");
  }
  for (const std::uint32_t operation : {0u, 1u, 2u, 3u, 4u}) {
    EXPECT_EQ(upstream().state(operation).condition, Condition::ready) << operation;
  }
  EXPECT_TRUE(asked.empty());
  EXPECT_EQ(data(4, "")["entries"]["daos"]["paid"], true);
}

TEST_F(ProxyV2Test, WhatGoesWrongIsMapped) {
  for (const auto& [code, kind] : {std::pair{401, FailureKind::credential},
                                   {402, FailureKind::credential},
                                   {403, FailureKind::credential},
                                   {302, FailureKind::redirect},
                                   {500, FailureKind::contract},
                                   {503, FailureKind::contract}}) {
    status = code;
    turnpike::TestReply reply;
    const Done done = execute(0, "", reply);
    ASSERT_FALSE(done.ok()) << code;
    EXPECT_EQ(done.error().kind, kind) << code;
    EXPECT_EQ(done.error().message.find("tok-2"), std::string::npos);
    EXPECT_EQ(reply.status, 0);
  }
  status = 429;
  turnpike::TestReply limited;
  EXPECT_TRUE(execute(0, "", limited).ok());
  EXPECT_EQ(limited.status, 429);
  ASSERT_EQ(limited.headers.size(), 2u);
  EXPECT_EQ(limited.headers[1].value, "9");
  status = 200;
  host.answer = [](const HttpRequest&, HttpSink&) -> Done {
    return Failure{FailureKind::timeout, "late", {}, true};
  };
  turnpike::TestReply late;
  EXPECT_EQ(execute(0, "", late).error().kind, FailureKind::timeout);
  host.answer = [](const HttpRequest&, HttpSink& sink) -> Done {
    sink.head(200, {}, std::nullopt);
    sink.body(R"({"data":[{"name":"no id"}]})");
    return Unit{};
  };
  turnpike::TestReply odd;
  EXPECT_EQ(execute(0, "", odd).error().kind, FailureKind::contract);
}

TEST_F(ProxyV2Test, WithoutItsTokenPaidOperationsAreNotAsked) {
  token.clear();
  EXPECT_EQ(upstream().state(1).condition, Condition::credential_missing);
  EXPECT_EQ(upstream().state(0).condition, Condition::ready) << "the list of DAOs is free";
  turnpike::TestReply reply;
  EXPECT_EQ(execute(1, "title=abc", reply).error().kind, FailureKind::credential);
  EXPECT_TRUE(asked.empty());
}

}  // namespace
}  // namespace turnpike::govdata
