// The intake of plugins over real sockets: what reaches the plugin, and how its answer is sent.
#include "hosts/api/plugin_intake.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hosts/host_fixture.h"
#include "identity/token.h"

namespace turnpike::tests {
namespace {

using testing::HasSubstr;
using testing::Not;

class PluginIntakeTest : public HostFixture {
 protected:
  PluginIntakeTest() {
    plugin_.answer = [](const IntakeRequest&, Call&) { return IntakeReply{}; };
  }
  HttpReply post(const std::string& body, std::vector<std::string> headers = {}) {
    return call({"POST", "/v1/plugins/box/notes", std::move(headers), body});
  }
  void fail_with(FailureKind kind) {
    plugin_.answer = [kind](const IntakeRequest&, Call&) {
      return Failure{kind, "the box at 10.0.0.7 is shut", {}};
    };
  }
  static std::string code_of(const HttpReply& reply) {
    return nlohmann::json::parse(reply.body)["error"]["code"];
  }
};

TEST_F(PluginIntakeTest, ThePluginSeesTheRequestAsItWasSentAndItsAnswerIsSent) {
  std::string seen;
  plugin_.answer = [&seen](const IntakeRequest& request, Call& call) {
    seen = std::string(name_of(request.method)) + " " + std::string(request.path) + " " +
           std::string(request.query) + " " + std::string(request.body) + " " +
           std::string(request.peer) + "\n";
    for (const HeaderField& field : request.headers) {
      seen += std::string(field.name) + "=" + std::string(field.value) + "\n";
    }
    EXPECT_TRUE(base::is_uuid(call.request_id()));
    return IntakeReply{202, {{"Content-Type", "text/plain"}}, "taken"};
  };
  const HttpReply reply = call({"POST",
                                "/v1/plugins/box/notes?a=%2F&a=b",
                                {"Signature: t=1,v1=ab", "signature: again"},
                                "{\"a\" :1}"});
  EXPECT_EQ(reply.status, 202);
  EXPECT_EQ(reply.body, "taken");
  EXPECT_EQ(reply.header("content-type"), "text/plain");
  EXPECT_EQ(reply.header("cache-control"), "no-store");
  EXPECT_EQ(reply.header("x-content-type-options"), "nosniff");
  EXPECT_TRUE(base::is_uuid(reply.header("x-request-id")));
  EXPECT_THAT(seen, HasSubstr("POST notes a=%2F&a=b {\"a\" :1} 127.0.0.1"));
  EXPECT_THAT(seen, HasSubstr("Signature=t=1,v1=ab\nsignature=again\n"));
}

// The plugin authenticates its senders itself and must not see credentials of the gateway.
TEST_F(PluginIntakeTest, CredentialsOfTheGatewayAreNotShown) {
  std::string seen;
  plugin_.answer = [&seen](const IntakeRequest& request, Call&) {
    seen.clear();
    for (const HeaderField& field : request.headers) seen += std::string(field.value) + "\n";
    return IntakeReply{};
  };
  base::SystemRandom random;
  for (const auto kind :
       {identity::TokenKind::api_key, identity::TokenKind::operator_credential}) {
    const std::string token =
        identity::make_token(identity::Environment::development, random, kind);
    EXPECT_EQ(post("x", {"Authorization: bearer  " + token, "X-Other: kept"}).status, 200);
    EXPECT_THAT(seen, Not(HasSubstr(token)));
    EXPECT_THAT(seen, HasSubstr("kept"));
  }
  EXPECT_EQ(post("x", {"Authorization: Basic c3RyaXBlOm9r"}).status, 200);
  EXPECT_THAT(seen, HasSubstr("Basic c3RyaXBlOm9r"));
}

TEST_F(PluginIntakeTest, PathsMethodsAndBodiesThatItDoesNotTakeAreRefusedBeforeIt) {
  plugin_.answer = [](const IntakeRequest&, Call&) -> Result<IntakeReply> {
    ADD_FAILURE() << "the plugin was asked";
    return IntakeReply{};
  };
  for (const char* path : {"/v1/plugins/box/none", "/v1/plugins/none/notes", "/v1/plugins/",
                           "/v1/plugins/box", "/v1/plugins/box/notes/"}) {
    EXPECT_EQ(call({"POST", path, {}, "x"}).status, 404) << path;
  }
  const HttpReply get = call({"GET", "/v1/plugins/box/notes"});
  EXPECT_EQ(get.status, 405);
  EXPECT_EQ(get.header("allow"), "POST");
  EXPECT_EQ(call({"PUT", "/v1/plugins/box/page", {}, "x"}).header("allow"), "GET, POST");
  EXPECT_EQ(post("123456789").status, 413);
}

TEST_F(PluginIntakeTest, AFailureTellsTheSenderToRepeatAndTheOperatorWhy) {
  fail_with(FailureKind::unavailable);
  const HttpReply away = post("x");
  EXPECT_EQ(away.status, 503);
  EXPECT_EQ(code_of(away), "plugin.unavailable");
  EXPECT_EQ(away.header("retry-after"), "5");
  EXPECT_THAT(away.body, Not(HasSubstr("10.0.0.7")));
  fail_with(FailureKind::plugin_fault);
  const HttpReply broken = post("x");
  EXPECT_EQ(broken.status, 500);
  EXPECT_EQ(code_of(broken), "gateway.plugin_fault");
  EXPECT_THAT(broken.body, Not(HasSubstr("10.0.0.7")));
}

// A plugin that does not return occupies only its own slots; further senders are told to retry.
TEST_F(PluginIntakeTest, OnePluginWorksOnABoundedNumberAtOnce) {
  runtime::Event go_on;
  std::atomic<std::uint32_t> inside{0};
  runtime::Event full;
  plugin_.answer = [&](const IntakeRequest&, Call&) {
    if (inside.fetch_add(1) + 1 == hosts::api::PluginIntake::at_once_max) full.set();
    go_on.wait(runtime::Deadline::never());
    return IntakeReply{};
  };
  std::vector<std::thread> senders;
  std::atomic<int> done{0};
  for (std::uint32_t at = 0; at < hosts::api::PluginIntake::at_once_max; ++at) {
    senders.emplace_back([&] { done += post("x").status == 200 ? 1 : 0; });
  }
  full.wait(runtime::Deadline::never());
  const HttpReply refused = post("x");
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(code_of(refused), "gateway.overloaded");
  go_on.set();
  for (std::thread& sender : senders) sender.join();
  EXPECT_EQ(done, static_cast<int>(hosts::api::PluginIntake::at_once_max));
}

}  // namespace
}  // namespace turnpike::tests
