#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "plugin/call_by_hand.h"
#include "plugin/catalog.h"
#include "plugin/surroundings.h"
#include "raw_upstream.h"
#include "runtime/runtime.h"
#include "support/deaf_socket.h"
#include "support/paths.h"
#include "wire/client.h"

namespace turnpike::http {
namespace {

using plugin::KeptReply;
using runtime::Deadline;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

constexpr std::string_view ok_reply =
    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 11\r\n"
    "Connection: close\r\n\r\n{\"a\": true}";

class OverSocketsTest : public ::testing::Test {
 protected:
  OverSocketsTest() {
    auto resources = surroundings_.resources();
    client_ = wire::make_client(runtime_, {});
    resources_.emplace(plugin::HostResources{.log = resources.log,
                                             .metrics = resources.metrics,
                                             .clock = resources.clock,
                                             .random = resources.random,
                                             .http = *client_,
                                             .pool = runtime_.pool(),
                                             .stores = resources.stores});
    directory_ = support::build_path("plugins");
    auto info = plugin::inspect(std::filesystem::path(directory_) / "http.so");
    EXPECT_TRUE(info.ok()) << info.error().text();
    auto library = plugin::Library::open(*std::move(info));
    EXPECT_TRUE(library.ok()) << library.error().text();
    loaded_.emplace(*std::move(library), 1, *resources_, plugin::GuardOptions{});
  }
  ~OverSocketsTest() override {
    upstream_.reset();
    client_->stop();
  }

  void bind(const std::string& base_url, std::vector<Settings::Field> fields = {},
            bool allow_private_addresses = true) {
    fields.emplace_back("base_url", scalar(base_url));
    if (allow_private_addresses) {
      fields.emplace_back("allow_private_addresses", scalar("true"));
    }
    const Settings settings = map(std::move(fields));
    const Settings route = map({{"path", scalar("/v2/{id}")}});
    constexpr std::string_view names[] = {"id"};
    const BoundOperation operation{"route-1", Method::get, "/x/{id}", names, &route, 0, {}};
    auto bound = loaded_->provider()->bind({"u", settings, {&operation, 1}}, loaded_->host());
    ASSERT_TRUE(bound.ok()) << bound.error().where << bound.error().message;
    upstream_ = *std::move(bound);
  }

  Done execute(Deadline deadline = Deadline::after_ms(30'000)) {
    reply_ = KeptReply();
    const PathParameter id{"id", "a%2Fb", "a/b"};
    const HeaderField headers[] = {{"Authorization", "Bearer of-the-caller"},
                                   {"Accept-Language", "de"}};
    UpstreamRequest request;
    request.query = "q=1&q=%20&&z";
    request.parameters = {&id, 1};
    request.headers = headers;
    request.reply_bytes_max = 1'000'000;
    plugin::CallByHand call(deadline);
    return upstream_->execute(request, reply_, call);
  }

  // Runs `function` on this plain Thread and on a fiber.
  void twice(const std::function<void()>& function) {
    function();
    runtime::Event ended;
    runtime_.loops()[0]->spawn([&] {
      function();
      ended.set();
    });
    ASSERT_EQ(ended.wait(Deadline::after_ms(60'000)), runtime::Wake::ready);
  }

  plugin::Surroundings surroundings_;
  runtime::Runtime runtime_{runtime::RuntimeOptions{}};
  std::unique_ptr<wire::Client> client_;
  std::optional<plugin::HostResources> resources_;
  std::string directory_;
  std::optional<plugin::LoadedPlugin> loaded_;
  std::unique_ptr<Upstream> upstream_;
  KeptReply reply_;
};

TEST_F(OverSocketsTest, BytesGoThroughAndCredentialsStayOnTheirSide) {
  RawUpstream server{std::string(ok_reply)};
  bind(server.url() + "/base",
       {{"credential", map({{"header", scalar("X-Key")}, {"value", secret("hush-4711")}})}});
  twice([&] {
    const Done done = execute();
    ASSERT_TRUE(done.ok()) << done.error().message;
    EXPECT_EQ(reply_.status, 200);
    EXPECT_EQ(reply_.body_text, "{\"a\": true}");
    EXPECT_EQ(reply_.declared, 11u);
  });
  ASSERT_THAT(server.requests(), SizeIs(2));
  for (const std::string& request : server.requests()) {
    EXPECT_THAT(request, StartsWith("GET /base/v2/a%2Fb?q=1&q=%20&&z HTTP/1.1\r\n"));
    EXPECT_THAT(request, HasSubstr("X-Key: hush-4711\r\n"));
    EXPECT_THAT(request, HasSubstr("User-Agent: turnpike\r\n"));
    EXPECT_THAT(request, HasSubstr("Accept-Language: de\r\n"));
    EXPECT_THAT(request, Not(HasSubstr("of-the-caller")));
  }
}

TEST_F(OverSocketsTest, PrivateAddressesAreRefusedUnlessAllowed) {
  RawUpstream server{std::string(ok_reply)};
  bind(server.url(), {}, false);
  const Done done = execute();
  ASSERT_FALSE(done.ok());
  EXPECT_FALSE(done.error().maybe_sent);
  EXPECT_THAT(server.requests(), IsEmpty());
}

TEST_F(OverSocketsTest, ADeadUpstreamIsRetriedThenOpensTheBreaker) {
  const support::DeafSocket deaf;
  bind(deaf.url(), {{"breaker", map({{"failures", scalar("2")}})},
                    {"retry", map({{"backoff_ms", scalar("1")}})}});
  for (int round = 0; round < 2; ++round) {
    const Done done = execute();
    ASSERT_FALSE(done.ok());
    EXPECT_EQ(done.error().kind, FailureKind::transport);
    EXPECT_FALSE(done.error().maybe_sent);
  }
  EXPECT_THAT(surroundings_.metrics->text(),
              HasSubstr("turnpike_plugin_http_retries_total{plugin=\"http\"} 2"));
  EXPECT_EQ(upstream_->state(0).condition, Condition::blocked);
  const Done refused = execute();
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, FailureKind::unavailable);
}

TEST_F(OverSocketsTest, ARedirectIsPassedOnAndNotFollowed) {
  RawUpstream server{
      "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\n"
      "Content-Length: 0\r\nConnection: close\r\n\r\n"};
  bind(server.url());
  const Done done = execute();
  EXPECT_TRUE(done.ok() || done.error().kind == FailureKind::redirect);
  EXPECT_TRUE(!done.ok() || reply_.status == 302);
  EXPECT_THAT(server.requests(), SizeIs(1));
}

TEST_F(OverSocketsTest, ASilentUpstreamEndsAtTheDeadline) {
  RawUpstream server{""};
  bind(server.url());
  // On a busy machine a call may time out before it sends anything, so the timeout grows until it
  // does.
  for (int timeout_ms = 100;; timeout_ms *= 2) {
    ASSERT_LT(timeout_ms, 30'000);
    const Done done = execute(Deadline::after_ms(timeout_ms));
    ASSERT_FALSE(done.ok());
    EXPECT_EQ(done.error().kind, FailureKind::timeout);
    EXPECT_EQ(reply_.heads, 0);
    if (done.error().maybe_sent) break;
  }
}

TEST_F(OverSocketsTest, ABodyThatEndsEarlyIsAFailureAfterTheHead) {
  RawUpstream server{"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nfour"};
  bind(server.url());
  const Done done = execute();
  ASSERT_FALSE(done.ok());
  EXPECT_NE(done.error().kind, FailureKind::plugin_fault);
  EXPECT_TRUE(done.error().maybe_sent);
  EXPECT_THAT(server.requests(), SizeIs(1));  // not repeated
}

TEST_F(OverSocketsTest, ProbesTheUpstream) {
  RawUpstream server{std::string(ok_reply)};
  bind(server.url(), {{"probe", map({{"path", scalar("/health")}})}});
  plugin::CallByHand call;
  const Done done = upstream_->probe(call);
  ASSERT_TRUE(done.ok()) << done.error().message;
  ASSERT_THAT(server.requests(), SizeIs(1));
  EXPECT_THAT(server.requests()[0], StartsWith("GET /health HTTP/1.1\r\n"));
}

}  // namespace
}  // namespace turnpike::http
