// Looks at a fake upstream: the requests and their number, what is not requested, and the results
// of hostile replies.
#include "app/services/looks.h"

#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/log.h"
#include "base/metrics.h"
#include "registry/compile.h"
#include "status/judge.h"
#include "support/kept_log.h"

#include <turnpike/helpers/probe.h>
#include <turnpike/helpers/test_host.h>

namespace turnpike::app {
namespace {

using status::Look;
using status::LookResult;
using status::Reason;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::Pair;
using ::testing::SizeIs;

constexpr std::string_view text = R"(
provider: {key: acme, name: Acme}
upstreams: {main: {plugin: fake}, keyed: {plugin: fake, probe: {credential: true}}}
defaults: {price: unavailable, upstream: main}
routes:
  - path: /items/{kind}/{id}
    query: {parameters: {limit: {type: integer, range: 1..9}}}
    monitoring:
      class: manual
      sample: {path_parameters: {kind: "a b", id: "7"}, query: {limit: 1}}
      expect: {json: {/data: array}, learn_shape: true}
  - path: /notes
    methods: [POST]
    body: {media_types: [application/json]}
    response: {max_bytes: 1000}
    monitoring: {class: manual, sample: {body: {text: hello}}}
  - path: /unreviewed
  - path: /closed
    readiness: {status: blocked, reason: It is closed.}
    monitoring: {class: manual}
)";

auto is(LookResult result, Reason reason) {
  return AllOf(Field("result", &Look::result, result), Field("reason", &Look::reason, reason));
}

// Answers as the test says and records its requests.
class FakeProvider final : public Provider {
 public:
  struct Asked {
    std::string line;  // "GET /v1/...?query"
    std::string body;
    std::string content_type;
    std::vector<std::pair<std::string, std::string>> parameters;
    std::size_t headers = 0;
  };

  Result<std::unique_ptr<Upstream>> bind(const Binding& binding, Host&) override {
    return std::unique_ptr<Upstream>(
        std::make_unique<FakeUpstream>(*this, binding.probe_uses_credential));
  }

  int status = 200;
  std::string type = "application/json";
  std::string body = R"({"data":[{"id":"x"}]})";
  std::optional<Failure> failure;
  State state;
  std::vector<Asked> asked;
  std::vector<std::string> probes;  // "credential" or "none"
  std::size_t taken_bytes = 0;      // of the last reply

 private:
  class FakeUpstream final : public Upstream {
   public:
    FakeUpstream(FakeProvider& owner, bool uses_credential)
        : owner_(owner), uses_credential_(uses_credential) {}

    Done execute(const UpstreamRequest& request, ReplySink& sink, Call&) override {
      Asked asked{std::string(name_of(request.method)) + " " + std::string(request.path) +
                      (request.query.empty() ? "" : "?") + std::string(request.query),
                  std::string(request.body),
                  std::string(request.content_type),
                  {},
                  request.headers.size()};
      for (const PathParameter& parameter : request.parameters) {
        asked.parameters.emplace_back(parameter.raw, parameter.value);
      }
      owner_.asked.push_back(std::move(asked));
      if (owner_.failure) return *owner_.failure;
      const HeaderField type{"Content-Type", owner_.type};
      owner_.taken_bytes = 0;
      if (!sink.head(owner_.status, {&type, 1}, std::nullopt)) return Unit{};
      constexpr std::size_t piece_bytes = 1'000;
      for (std::string_view rest = owner_.body; !rest.empty();) {
        const std::string_view piece = rest.substr(0, piece_bytes);
        owner_.taken_bytes += piece.size();
        if (!sink.body(piece)) break;
        rest.remove_prefix(piece.size());
      }
      return Unit{};
    }
    [[nodiscard]] State state(std::uint32_t) const noexcept override { return owner_.state; }
    Done probe(Call&) override {
      owner_.probes.emplace_back(uses_credential_ ? "credential" : "none");
      if (owner_.failure) return *owner_.failure;
      return judge_probe(owner_.status, "GET /", uses_credential_);
    }

   private:
    FakeProvider& owner_;
    const bool uses_credential_;
  };
};

class LooksTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const registry::Source source{"acme.yaml", std::string(text)};
    auto compiled = registry::compile(
        {.sources = {&source, 1}, .installed = {}, .plugins = {}, .lane = nullptr});
    if (!compiled) FAIL() << compiled.error().front().text();
    program = *compiled;
    bind(16);
  }

  void bind(std::uint32_t calls_max) {
    const exchange::ProviderSlot provider_slot{"fake", &provider, &host};
    exchange::BindInput input;
    input.installed.program = program;
    input.providers = {&provider_slot, 1};
    input.calls_per_upstream_max = calls_max;
    auto bound = exchange::bind_service(input);
    if (!bound.ok()) FAIL() << bound.error().front().message;
    service = *bound;
  }

  std::uint32_t operation(std::string_view path, Method method = Method::get) const {
    const registry::Match match = program->match("/v1/gateway/acme" + std::string(path));
    return program->operation(*match.route, method)->index;
  }

  Look items(status::Shape* shape = nullptr) {
    return looks.run_sample(*service, operation("/items/k/i"), deadline(), shape);
  }
  static runtime::Deadline deadline() { return runtime::Deadline::after_ms(60'000); }

  support::KeptLog log;
  std::unique_ptr<base::Metrics> metrics = base::make_metrics();
  exchange::CallReports reports{log, *metrics};
  TestHost host;
  Looks looks{reports, host.clock()};
  FakeProvider provider;
  std::shared_ptr<const registry::Program> program;
  std::shared_ptr<const exchange::Service> service;
};

TEST_F(LooksTest, ASampleIsAskedAsACallWouldBe) {
  const Look look = items();
  EXPECT_THAT(look, is(LookResult::pass, Reason::none));
  EXPECT_EQ(look.latency_ms, 0u);
  EXPECT_EQ(look.body_sha256.size(), 64u);
  ASSERT_THAT(provider.asked, SizeIs(1));
  EXPECT_EQ(provider.asked[0].line, "GET /v1/gateway/acme/items/a%20b/7?limit=1");
  EXPECT_THAT(provider.asked[0].parameters, ElementsAre(Pair("a%20b", "a b"), Pair("7", "7")));
  EXPECT_EQ(provider.asked[0].headers, 0u) << "there is no caller";
  const Look note =
      looks.run_sample(*service, operation("/notes", Method::post), deadline());
  EXPECT_THAT(note, is(LookResult::pass, Reason::none));
  EXPECT_EQ(provider.asked[1].line, "POST /v1/gateway/acme/notes");
  EXPECT_EQ(provider.asked[1].body, R"({"text":"hello"})");
  EXPECT_EQ(provider.asked[1].content_type, "application/json");
  EXPECT_EQ(note.body_sha256, "") << "nothing is expected of it";
}

TEST_F(LooksTest, WhatSaysNothingIsNeverRun) {
  EXPECT_THAT(looks.run_sample(*service, operation("/unreviewed"), deadline()),
              is(LookResult::unknown, Reason::none));
  EXPECT_THAT(looks.run_sample(*service, operation("/closed"), deadline()),
              is(LookResult::unknown, Reason::blocked));
  EXPECT_THAT(provider.asked, SizeIs(0));
}

TEST_F(LooksTest, WhatCannotBeServedNowIsNotAskedFor) {
  for (const auto& [condition, reason] :
       {std::pair{Condition::blocked, Reason::blocked},
        {Condition::credential_missing, Reason::credential},
        {Condition::evidence_stale, Reason::freshness}}) {
    provider.state = {condition, "It says so."};
    const Look look = items();
    EXPECT_THAT(look, is(LookResult::fail, reason));
    EXPECT_NE(look.expect_hash, "");
  }
  EXPECT_THAT(provider.asked, SizeIs(0));
}

TEST_F(LooksTest, CallersKeepTheLastPlace) {
  bind(1);
  EXPECT_THAT(items(), is(LookResult::unknown, Reason::none));
  EXPECT_THAT(provider.asked, SizeIs(0));
  bind(2);
  EXPECT_THAT(items(), is(LookResult::pass, Reason::none));
  const auto call = service->upstream(1).in_flight.try_enter();
  ASSERT_TRUE(call);
  EXPECT_THAT(items(), is(LookResult::unknown, Reason::none));
  EXPECT_TRUE(service->upstream(1).in_flight.try_enter()) << "and a look gives its place back";
}

TEST_F(LooksTest, HostileRepliesFailWithinTheirBounds) {
  provider.body = std::string(10'000, 'x');
  EXPECT_THAT(looks.run_sample(*service, operation("/notes", Method::post), deadline()),
              is(LookResult::fail, Reason::response_too_large));
  EXPECT_LE(provider.taken_bytes, 2'000u) << "no more is taken";
  provider.body = "[" + std::string(4 * status::judged_reply_bytes_max, ' ') + "]";
  EXPECT_THAT(items(), is(LookResult::unknown, Reason::response_too_large));
  EXPECT_LE(provider.taken_bytes, status::judged_reply_bytes_max + 1'000);
  for (const std::string& body :
       {std::string("{\"data\":"), std::string(100'000, '['), std::string("\xff\xfe"),
        std::string(100'000, '[') + std::string(100'000, ']')}) {
    provider.body = body;
    EXPECT_THAT(items(), is(LookResult::fail, Reason::contract));
  }
  provider.status = 500;
  provider.body = std::string(1'000'000, 'x');
  EXPECT_THAT(items(), is(LookResult::fail, Reason::status));
  EXPECT_EQ(provider.taken_bytes, 0u) << "of a reply that cannot pass";
  provider.failure = Failure{FailureKind::timeout, "late", {}, true};
  EXPECT_THAT(items(), is(LookResult::fail, Reason::timeout));
}

TEST_F(LooksTest, AReplyAfterTheDeadlineIsLate) {
  EXPECT_THAT(looks.run_sample(*service, operation("/items/k/i"), runtime::Deadline{0}),
              is(LookResult::fail, Reason::timeout));
}

TEST_F(LooksTest, AChangedContractIsToldByPointerAndKinds) {
  LearnedShapes shapes;
  status::Shape* shape = shapes.of(*program, operation("/items/k/i"));
  ASSERT_NE(shape, nullptr);
  EXPECT_EQ(shapes.of(*program, operation("/notes", Method::post)), nullptr);
  for (std::uint32_t at = 0; at < status::Shape::looks_to_learn; ++at) {
    ASSERT_THAT(items(shape), is(LookResult::pass, Reason::none));
    host.time_ms += 300'000;
  }
  const auto kept = shapes.take_changed();
  ASSERT_THAT(kept, SizeIs(1));
  EXPECT_THAT(shapes.take_changed(), SizeIs(0));

  LearnedShapes of_next_leader;
  of_next_leader.load({{"broken", "{"}, kept.front()});
  status::Shape* const same = of_next_leader.of(*program, operation("/items/k/i"));
  provider.body = R"({"data":[{"id":7}]})";
  for (status::Shape* each : {shape, same}) {
    const Look look = items(each);
    EXPECT_THAT(look, is(LookResult::fail, Reason::contract));
    EXPECT_EQ(look.difference, "/data/*/id was string, is number");
  }
  EXPECT_THAT(items(), is(LookResult::pass, Reason::none)) << "without a shape";
  provider.status = 503;
  EXPECT_EQ(items(shape).difference, "") << "a failed look is not compared";
}

TEST_F(LooksTest, AProbeSpendsTheCredentialOnlyWhereTheRegistrySaysSo) {
  const auto reach = [this](std::uint32_t upstream) {
    return looks.reach(*service, upstream, deadline());
  };
  // Upstreams are ordered by name: "keyed", then "main".
  EXPECT_THAT(reach(0), is(LookResult::pass, Reason::none));
  EXPECT_THAT(reach(1), is(LookResult::pass, Reason::none));
  EXPECT_THAT(provider.probes, ElementsAre("credential", "none"));
  provider.status = 401;
  EXPECT_THAT(reach(0), is(LookResult::fail, Reason::credential));
  const Look look = reach(1);
  EXPECT_THAT(look, is(LookResult::unknown, Reason::status));
  EXPECT_EQ(look.status, 401u);
  provider.status = 429;
  EXPECT_THAT(reach(0), is(LookResult::fail, Reason::rate_limited));
  EXPECT_THAT(reach(1), is(LookResult::fail, Reason::rate_limited));
  EXPECT_THAT(provider.asked, SizeIs(0)) << "a probe runs no operation";
}

}  // namespace
}  // namespace turnpike::app
