// The provider through its plugin interface: settings, states, replies, and the proxy mode.
#include <cstdlib>
#include <cstring>

#include <turnpike/helpers/test_host.h>

#include "fixtures.h"
#include "govdata/import/sample.h"
#include "govdata/upstream.h"
#include "support/settings.h"

namespace turnpike::govdata {
namespace {

// Answers every request with one status and keeps the last request.
class OneAnswerHttp final : public Http {
 public:
  Done call(const HttpRequest& request, const HttpOptions& options, HttpSink& sink,
            Call&) noexcept override {
    url = request.url;
    headers.clear();
    for (const HeaderField& field : request.headers) {
      headers.push_back(std::string(field.name) + ": " + std::string(field.value));
    }
    private_addresses = options.allow_private_addresses;
    if (failure) return *failure;
    const HeaderField reply[] = {{"Content-Type", "application/json"}, {"Set-Cookie", "a=b"}};
    if (!sink.head(status, reply, 2)) return Failure{FailureKind::cancelled, "stopped", {}, true};
    sink.body("{}");
    return Unit{};
  }
  int status = 200;
  std::optional<Failure> failure;
  std::string url;
  std::vector<std::string> headers;
  bool private_addresses = false;
};

class ProviderHost final : public Host, private Report, private Random, private Offload {
 public:
  [[nodiscard]] Report& report() noexcept override { return *this; }
  [[nodiscard]] Clock& clock() noexcept override { return moved_clock; }
  [[nodiscard]] Random& random() noexcept override { return *this; }
  [[nodiscard]] Http& http() noexcept override { return answers; }
  [[nodiscard]] Offload& offload() noexcept override { return *this; }
  [[nodiscard]] Store& store() noexcept override { std::abort(); }
  support::ManualClock moved_clock{begin_ms};
  OneAnswerHttp answers;

 private:
  void log(Severity, std::string_view) noexcept override {}
  void count(std::string_view, std::uint64_t) noexcept override {}
  void set(std::string_view, double) noexcept override {}
  void fill(std::span<std::uint8_t> out) noexcept override {
    std::memset(out.data(), 0, out.size());
  }
  Done run(void (*work)(void*) noexcept, void* argument) noexcept override {
    work(argument);
    return Unit{};
  }
};

class Collected final : public ReplySink {
 public:
  bool head(int code, Headers fields, std::optional<std::uint64_t> bytes) override {
    status = code;
    for (const HeaderField& field : fields) names.emplace_back(field.name);
    length = bytes;
    return true;
  }
  bool body(std::string_view bytes) override {
    text += bytes;
    return true;
  }
  int status = 0;
  std::vector<std::string> names;
  std::optional<std::uint64_t> length;
  std::string text;
};

constexpr std::string_view base = "/v1/gateway/govdata/global/v1";

class ProviderTest : public StoreTest {
 protected:
  Result<std::unique_ptr<Upstream>> bind(const Settings& settings, std::string_view data_dir = {},
                                         bool probe_uses_credential = false) {
    paths_ = {std::string(base) + "/daos", std::string(base) + "/items/{kind}/{external_id}",
              std::string(base) + "/governance-events", std::string(base) + "/meta/pricing"};
    std::vector<BoundOperation> operations;
    for (const std::string& path : paths_) {
      BoundOperation operation;
      operation.route_id = "r";
      operation.path = path;
      operations.push_back(operation);
    }
    auto configuration =
        read_configuration({"up", settings, operations, data_dir, probe_uses_credential});
    if (!configuration.ok()) return std::move(configuration).error();
    return make_upstream(*configuration, host);
  }
  Settings embedded() { return map({{"database", scalar(path())}}); }
  std::string problem(const Settings& settings) {
    const auto upstream = bind(settings);
    return upstream.ok() ? "bound" : upstream.error().where + ": " + upstream.error().message;
  }

  ProviderHost host;
  TestCall call;

 private:
  std::vector<std::string> paths_;
};

TEST_F(ProviderTest, SettingsAreStrict) {
  EXPECT_EQ(problem(embedded()), "bound");
  EXPECT_EQ(problem(map({{"databse", scalar("x")}})),
            "databse: unknown key; did you mean `database`?");
  EXPECT_EQ(problem(map({{"mode", scalar("pull")}})),
            "mode: expected embedded, poll, proxy or proxy_v2");
  EXPECT_EQ(problem(map({{"activity_anchor", scalar("now")}})),
            "activity_anchor: expected wall_clock or data_as_of");
  EXPECT_EQ(problem(map({{"readers", scalar("0")}})),
            "readers: expected an integer from 1 to 64");
  EXPECT_EQ(problem(map({{"base_url", scalar("https://x")}})).substr(0, 22),
            "base_url: unknown key");
  const auto proxy = [](const std::string& url, Settings token) {
    return map({{"mode", scalar("proxy")}, {"base_url", scalar(url)}, {"api_token", token}});
  };
  EXPECT_EQ(problem(proxy("https://x", secret("t"))), "bound");
  EXPECT_EQ(problem(proxy("ftp://x", secret("t"))),
            "base_url: expected an http or https address without query");
  EXPECT_EQ(problem(proxy("https://x", scalar("t"))),
            "api_token: expected {secret: {env: NAME}} or {secret: {file: PATH}}");
  EXPECT_EQ(problem(proxy("https://x", secret("a\r\nb"))),
            "api_token: expected a token of visible ASCII");
}

TEST_F(ProviderTest, StateSaysWhatStandsInTheWay) {
  auto upstream = *bind(embedded());
  EXPECT_EQ(upstream->state(0).condition, Condition::blocked);
  EXPECT_EQ(upstream->state(0).reason, "The governance data store has not been created yet.");
  EXPECT_EQ(upstream->state(3).condition, Condition::ready) << "prices need no store";
  EXPECT_FALSE(upstream->probe(call).ok());
  store();
  EXPECT_TRUE(upstream->probe(call).ok());
  EXPECT_EQ(upstream->state(0).condition, Condition::ready);
  EXPECT_EQ(upstream->state(2).condition, Condition::ready) << "events";
  EXPECT_EQ(upstream->state(9).condition, Condition::blocked);
  store().execute("PRAGMA user_version = 9");
  EXPECT_FALSE(upstream->probe(call).ok());
  EXPECT_EQ(upstream->state(0).reason, "The governance data store was written by a newer release.");
}

TEST_F(ProviderTest, StaleSourcesBlockWhereTheOperatorWantsIt) {
  load_sample(store(), support::source_path("plugins/govdata/sample"), clock.now_ms(), nullptr);
  auto relaxed = *bind(embedded());
  auto strict = *bind(map({{"database", scalar(path())}, {"stale_blocks", scalar("true")}}));
  EXPECT_EQ(strict->state(0).condition, Condition::ready);
  host.moved_clock.move_ms(8 * ms_per_day);
  EXPECT_EQ(strict->state(0).condition, Condition::evidence_stale);
  EXPECT_EQ(strict->state(3).condition, Condition::ready);
  EXPECT_EQ(relaxed->state(0).condition, Condition::ready);
}

TEST_F(ProviderTest, RelativePathsAreBelowTheDataDirectory) {
  store();
  const std::size_t slash = path().rfind('/');
  auto upstream =
      *bind(map({{"database", scalar(path().substr(slash + 1))}}), path().substr(0, slash));
  EXPECT_EQ(upstream->state(0).condition, Condition::ready);
}

TEST_F(ProviderTest, ExecuteGivesTheWholeReply) {
  store();
  auto upstream = *bind(embedded());
  UpstreamRequest request;
  Collected reply;
  ASSERT_TRUE(upstream->execute(request, reply, call).ok());
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.length, reply.text.size());
  EXPECT_EQ(reply.names, (std::vector<std::string>{"Content-Type", "ETag", "Cache-Control"}));
  Collected missing;
  const PathParameter parameters[] = {{"kind", "proposal", "proposal"}, {"external_id", "1", "1"}};
  request.operation = 1;
  request.parameters = parameters;
  ASSERT_TRUE(upstream->execute(request, missing, call).ok());
  EXPECT_EQ(missing.status, 404);
  EXPECT_NE(missing.text.find("\"requestId\":\"" + std::string(call.request_id()) + "\""),
            std::string::npos);
  request.operation = 0;
  request.reply_bytes_max = 10;
  EXPECT_EQ(upstream->execute(request, missing, call).error().kind, FailureKind::too_large);
}

class ProxyTest : public ProviderTest {
 protected:
  std::unique_ptr<Upstream> proxy(const std::string& token = "tok-1",
                                  bool probe_uses_credential = false) {
    return *bind(map({{"mode", scalar("proxy")},
                         {"base_url", scalar("https://real.example/")},
                         {"api_token", secret(token)}}),
                 {}, probe_uses_credential);
  }
  Done execute(Upstream& upstream, Collected& reply) {
    UpstreamRequest request;
    request.path = "/v1/gateway/govdata/global/v1/daos/a%2Fb/brief";
    request.query = "activity_limit=3&x=%20";
    return upstream.execute(request, reply, call);
  }
};

TEST_F(ProxyTest, ForwardsPathAndQueryUnchangedWithItsOwnCredential) {
  auto upstream = proxy();
  Collected reply;
  ASSERT_TRUE(execute(*upstream, reply).ok());
  EXPECT_EQ(host.answers.url, "https://real.example/v1/daos/a%2Fb/brief?activity_limit=3&x=%20");
  EXPECT_EQ(host.answers.headers,
            (std::vector<std::string>{"Accept: application/json", "User-Agent: turnpike-govdata/1",
                                      "x-degov-api-token: tok-1"}));
  EXPECT_FALSE(host.answers.private_addresses);
  EXPECT_EQ(reply.text, "{}");
  EXPECT_EQ(reply.names, std::vector<std::string>{"Content-Type"}) << "no cookies";
  EXPECT_EQ(upstream->state(2).condition, Condition::ready) << "a real service has all routes";
}

TEST_F(ProxyTest, MapsWhatTheServiceSays) {
  auto upstream = proxy();
  for (const int passed : {200, 400, 404, 429, 500, 503}) {
    Collected reply;
    host.answers.status = passed;
    EXPECT_TRUE(execute(*upstream, reply).ok()) << passed;
    EXPECT_EQ(reply.status, passed);
  }
  for (const auto& [status, kind] : {std::pair{401, FailureKind::credential},
                                     {402, FailureKind::credential},
                                     {403, FailureKind::credential},
                                     {301, FailureKind::redirect},
                                     {307, FailureKind::redirect}}) {
    Collected reply;
    host.answers.status = status;
    const Done done = execute(*upstream, reply);
    ASSERT_FALSE(done.ok()) << status;
    EXPECT_EQ(done.error().kind, kind) << status;
    EXPECT_EQ(done.error().message.find("tok-1"), std::string::npos);
    EXPECT_EQ(reply.status, 0) << "nothing of it reaches the caller";
  }
  host.answers.failure = Failure{FailureKind::timeout, "late", {}, true};
  Collected reply;
  EXPECT_EQ(execute(*upstream, reply).error().kind, FailureKind::timeout);
}

// A probe spends no quota, and a refusal by status is no sign of health.
TEST_F(ProxyTest, AProbeCarriesNoTokenAndPassesOnHealthAlone) {
  auto upstream = proxy();
  EXPECT_TRUE(upstream->probe(call).ok());
  EXPECT_EQ(host.answers.url, "https://real.example/health");
  EXPECT_EQ(host.answers.headers, (std::vector<std::string>{"Accept: application/json",
                                                            "User-Agent: turnpike-govdata/1"}));
  for (const int status : {301, 401, 402, 403, 429, 500, 503}) {
    host.answers.status = status;
    EXPECT_FALSE(upstream->probe(call).ok()) << status;
  }
}

TEST_F(ProxyTest, AProbeCarriesTheTokenWhereTheRegistrySaysSo) {
  auto upstream = proxy("tok-1", true);
  EXPECT_TRUE(upstream->probe(call).ok());
  EXPECT_EQ(host.answers.headers.back(), "x-degov-api-token: tok-1");
  host.answers.status = 401;
  EXPECT_EQ(upstream->probe(call).error().kind, FailureKind::credential);
  host.answers.url.clear();
  EXPECT_EQ(proxy("", true)->probe(call).error().kind, FailureKind::credential);
  EXPECT_EQ(host.answers.url, "") << "there is none to send";
}

TEST_F(ProxyTest, WithoutItsTokenNothingIsSent) {
  auto upstream = proxy("");
  Collected reply;
  EXPECT_EQ(upstream->state(0).condition, Condition::credential_missing);
  EXPECT_EQ(execute(*upstream, reply).error().kind, FailureKind::credential);
  EXPECT_EQ(host.answers.url, "");
}

}  // namespace
}  // namespace turnpike::govdata
