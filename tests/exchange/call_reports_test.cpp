#include "exchange/call_reports.h"

#include <gmock/gmock.h>

#include "exchange/serve_fixture.h"
#include "support/kept_log.h"

namespace turnpike::exchange {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::int64_t second_ns = 1'000'000'000;

// The operator, and nobody else, learns why calls fail.
class CallReportsTest : public ServeTest {
 protected:
  CallReportsTest() {
    reports = &call_reports;
    install();
  }
  void fail_with(FailureKind kind, std::string_view note) {
    provider.script = [=](ReplySink&, Call&) -> Done {
      return Failure{kind, std::string(note), {}, true};
    };
  }
  void answer_with(int status) {
    provider.script = [=](ReplySink& sink, Call&) { return reply_with(sink, status, "{}"); };
  }
  std::string lines_of(int calls) {
    for (int at = 0; at < calls; ++at) run();
    return log.take();
  }
  void pass_seconds(std::int64_t seconds) { clock.ahead_ns += seconds * second_ns; }

  support::KeptLog log;
  std::unique_ptr<base::Metrics> metrics = base::make_metrics();
  CallReports call_reports{log, *metrics};
};

TEST_F(CallReportsTest, WhyAnUpstreamFailsIsToldOnceThenNowAndThenThenThatItWorks) {
  EXPECT_EQ(lines_of(3), "") << "all is well";
  fail_with(FailureKind::transport, "connect 10.0.0.1: Connection refused");
  const std::string first = lines_of(20);
  EXPECT_THAT(first, AllOf(HasSubstr(R"("severity":"warning","event":"upstream_fails")"),
                           HasSubstr(R"("provider":"acme","upstream":"acme-main")"),
                           HasSubstr(R"("operation":"GET /v1/gateway/acme/items")"),
                           HasSubstr(R"("gateway.upstream_transport_or_response_failure")"),
                           HasSubstr(R"("reason":"connect 10.0.0.1: Connection refused")"),
                           HasSubstr(std::string(request_id)), HasSubstr(R"("failures":1)")));
  EXPECT_EQ(std::count(first.begin(), first.end(), '\n'), 1);
  pass_seconds(60);
  EXPECT_THAT(lines_of(1), HasSubstr(R"("failures":20})")) << "those since the first line";
  answer_with(500);
  EXPECT_EQ(lines_of(1), "") << "the same error; its reason is in the access log";
  answer_with(401);
  EXPECT_THAT(lines_of(5), HasSubstr(R"("error":"gateway.upstream_credential",)"
                                     R"("upstream_status":401,"reason":"status 401: )"))
      << "another error is news at once";
  answer_with(200);
  EXPECT_EQ(lines_of(1), "") << "one success between failures is no end";
  pass_seconds(30);
  EXPECT_EQ(lines_of(2),
            R"({"time":"","severity":"info","event":"upstream_works_again","provider":"acme",)"
            R"("upstream":"acme-main","failures":27})"
            "\n");
  EXPECT_THAT(metrics->text(),
              AllOf(HasSubstr(R"(turnpike_route_calls_total{outcome="answered",provider="acme",)"
                              R"(route="/v1/gateway/acme/items",upstream="acme-main"} 6)"),
                    HasSubstr(R"({outcome="gateway.upstream_credential",provider="acme",)"
                              R"(route="/v1/gateway/acme/items",upstream="acme-main"} 5)")));
}

TEST_F(CallReportsTest, CallersAndWhatTheyAreRefusedForAreNoFailuresOfAnUpstream) {
  answer_with(404);
  EXPECT_EQ(lines_of(2), "");
  provider.script = [&](ReplySink&, Call&) -> Done {
    caller.now = Standing::gone;
    return Failure{FailureKind::cancelled, "", {}, true};
  };
  EXPECT_EQ(lines_of(1), "");
  caller.now = Standing::waiting;
  EXPECT_EQ(refusal({"GET", "/v1/gateway/acme/items", "", {}}), "auth.credential_required");
  EXPECT_EQ(refusal({"GET", "/v1/gateway/nowhere", "", {}}), "gateway.route_not_found");
  EXPECT_EQ(log.take(), "");
  const std::string text = metrics->text();
  EXPECT_THAT(text, HasSubstr(R"(turnpike_route_calls_total{outcome="caller_gone")"));
  EXPECT_THAT(text, HasSubstr(R"(turnpike_route_calls_total{outcome="auth.credential_required")"));
  EXPECT_THAT(text, Not(HasSubstr("nowhere"))) << "labels are never callers'";
}

TEST_F(CallReportsTest, AProbeThatFailsIsToldOnceAndWhenItPassesAgain) {
  UpstreamReport& report = call_reports.of("acme", "main");
  const Failure refused{FailureKind::transport, "plugin http: Connection refused", {}, false};
  report.probed(Unit{}, 1);
  EXPECT_EQ(log.take(), "");
  for (int minute = 0; minute < 10; ++minute) report.probed(refused, minute * 60 * second_ns);
  EXPECT_EQ(log.take(),
            R"({"time":"","severity":"warning","event":"probe_fails","provider":"acme",)"
            R"("upstream":"main","reason":"plugin http: Connection refused","failures":1})"
            "\n");
  report.probed(Unit{}, 600 * second_ns);
  EXPECT_THAT(log.take(), HasSubstr(R"("probe_passes_again","provider":"acme","upstream":"main",)"
                                    R"("failures":10)"));
  EXPECT_THAT(metrics->text(), HasSubstr(R"(turnpike_upstream_probes_total{provider="acme",)"
                                         R"(result="failed",upstream="main"} 10)"));
}

TEST_F(CallReportsTest, LabelsAreBounded) {
  Served served;
  served.ending = Ending::replied;
  for (std::size_t at = 0; at < CallReports::routes_max + 50; ++at) {
    call_reports.of("many", "main", "/" + std::to_string(at)).call_ended(served, "", 1);
  }
  for (std::size_t at = 0; at < CallReports::upstreams_max + 50; ++at) {
    (void)call_reports.of("many", std::to_string(at));
  }
  EXPECT_EQ(&call_reports.of("many", "main", "/0"), &call_reports.of("many", "main", "/0"));
  EXPECT_EQ(&call_reports.of("x", "late"), &call_reports.of("y", "later"));
  const std::string text = metrics->text();
  std::size_t routes = 0;
  for (std::size_t at = text.find(R"(provider="many",route=)"); at != text.npos;
       at = text.find(R"(provider="many",route=)", at + 1)) {
    ++routes;
  }
  EXPECT_LE(routes, CallReports::routes_max + 1);
  EXPECT_THAT(text, HasSubstr(R"(route="other")"));
  EXPECT_THAT(text, HasSubstr(R"(provider="other",upstream="other")"));
}

}  // namespace
}  // namespace turnpike::exchange
