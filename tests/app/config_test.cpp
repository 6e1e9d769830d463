#include "app/config.h"
#include "support/paths.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

namespace turnpike::app {
namespace {

class ConfigTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_NE(mkdtemp(directory_), nullptr); }
  void TearDown() override {
    std::remove(path().c_str());
    rmdir(directory_);
  }
  [[nodiscard]] std::string path() const { return std::string(directory_) + "/turnpike.yaml"; }
  void write(const std::string& text) const { std::ofstream(path()) << text; }

  // The texts of the problems that reading `text` gives.
  [[nodiscard]] std::vector<std::string> problems_of(const std::string& text) const {
    write(text);
    const auto config = read_config(path(), {});
    std::vector<std::string> texts;
    if (!config.ok()) {
      for (const auto& problem : config.error()) texts.push_back(problem.text());
    }
    return texts;
  }

  char directory_[32] = "/tmp/turnpike-config-XXXXXX";
};

TEST_F(ConfigTest, ShippedConfigurationsAreValid) {
  for (const char* name : {"turnpike.yaml", "production.example.yaml"}) {
    const auto config = read_config(support::source_path("config/" + std::string(name)), {});
    ASSERT_TRUE(config.ok()) << config.error().front().text();
  }
}

TEST_F(ConfigTest, DevelopmentFileShowsTheDefaults) {
  const auto shipped = read_config(support::source_path("config/turnpike.yaml"), {});
  const auto defaults = read_config("", {});
  ASSERT_TRUE(shipped.ok() && defaults.ok());
  EXPECT_EQ(shipped->api.listen, defaults->api.listen);
  EXPECT_EQ(shipped->api.base_url, defaults->api.base_url);
  EXPECT_EQ(shipped->mcp.listen, defaults->mcp.listen);
  EXPECT_EQ(shipped->mcp.base_url, defaults->mcp.base_url);
  EXPECT_EQ(shipped->mcp.allowed_hosts, defaults->mcp.allowed_hosts);
  EXPECT_EQ(shipped->mcp.allowed_origins, defaults->mcp.allowed_origins);
  EXPECT_EQ(shipped->operator_host.listen, defaults->operator_host.listen);
  EXPECT_EQ(shipped->cors_origins, defaults->cors_origins);
  EXPECT_EQ(shipped->sqlite_path, defaults->sqlite_path);
  EXPECT_EQ(shipped->starter_grant_credits, defaults->starter_grant_credits);
  EXPECT_EQ(shipped->starter_grant_days, defaults->starter_grant_days);
  EXPECT_EQ(shipped->log_level, defaults->log_level);
}

TEST_F(ConfigTest, EveryProblemIsReportedAtOnceWithItsPlace) {
  const auto problems = problems_of(
      "environment: test\n"
      "storage:\n"
      "  engin: sqlite\n"
      "limits: {drain_timeout_ms: -1}\n"
      "hosts: 7\n");
  const std::vector<std::string> expected = {
      path() + ":1:14: environment: expected one of development, staging, production",
      path() + ":3:10: storage.engin: unknown key \"engin\"; did you mean \"engine\"?",
      path() + ":5:8: hosts: expected a map",
      path() + ":4:28: limits.drain_timeout_ms: expected an integer from 0 to 600000",
  };
  EXPECT_EQ(problems, expected);
}

TEST_F(ConfigTest, SettingsOverrideTheFile) {
  write("environment: staging\nlog: {level: error}\n");
  const auto config = read_config(
      path(), {"environment=production", "hosts.api.listen=[::1]:0", "storage.sqlite.path=a=b.db"});
  ASSERT_TRUE(config.ok()) << config.error().front().text();
  EXPECT_EQ(config->environment, identity::Environment::production);
  EXPECT_EQ(config->api.listen, "[::1]:0");
  EXPECT_EQ(config->sqlite_path, "a=b.db");
  EXPECT_EQ(config->log_level, Severity::error);
}

TEST_F(ConfigTest, DurabilityIsFullUnlessItIsRelaxedByName) {
  EXPECT_FALSE(read_config("", {})->is_durability_relaxed);
  EXPECT_FALSE(read_config("", {"storage.durability=full"})->is_durability_relaxed);
  EXPECT_TRUE(read_config("", {"storage.durability=relaxed"})->is_durability_relaxed);
  EXPECT_FALSE(read_config("", {"storage.durability=off"}).ok());
}

TEST_F(ConfigTest, TheReplyCeilingOfMcpIsReadAtItsLimitsAndNotOnePast) {
  EXPECT_EQ(read_config("", {})->mcp_reply_bytes_max, 256u * 1024);
  for (const std::uint32_t bytes : {1'023u, 1'024u, 1'048'576u, 1'048'577u}) {
    const auto config = read_config("", {"limits.mcp_reply_bytes_max=" + std::to_string(bytes)});
    ASSERT_EQ(config.ok(), bytes >= 1'024 && bytes <= 1'048'576) << bytes;
    if (!config.ok()) continue;
    EXPECT_EQ(config->mcp_reply_bytes_max, bytes);
  }
}

TEST_F(ConfigTest, BadSettingsAreProblemsToo) {
  const auto config = read_config("", {"nothing", "storage.engine=oracle", "nosuch.key=1"});
  ASSERT_FALSE(config.ok());
  EXPECT_EQ(config.error().size(), 3u);
}

TEST_F(ConfigTest, PathsInTheFileAreRelativeToItAndThoseOfSettingsAreNot) {
  write("data_dir: data\nregistry: {path: /absolute}\n");
  const auto from_file = read_config(path(), {});
  ASSERT_TRUE(from_file.ok());
  EXPECT_EQ(from_file->data_dir, std::string(directory_) + "/data");
  EXPECT_EQ(from_file->registry_path, "/absolute");
  const auto from_setting = read_config(path(), {"data_dir=data"});
  ASSERT_TRUE(from_setting.ok());
  EXPECT_EQ(from_setting->data_dir, "data");
}

TEST_F(ConfigTest, PublicUrlIsWithoutAFinalSlashAndEmptyUnlessGiven) {
  const auto follows = read_config("", {"hosts.api.listen=127.0.0.1:9"});
  const auto given = read_config("", {"hosts.api.base_url=https://api.example.com/"});
  ASSERT_TRUE(follows.ok() && given.ok());
  EXPECT_EQ(follows->api.base_url, "");
  EXPECT_EQ(given->api.base_url, "https://api.example.com");
  for (const char* wrong : {"api.example.com", "ftp://api.example.com", "https://", "https://a b",
                            "https://me@api.example.com", "https://a.example?x", "https://a#b"}) {
    const auto problems = problems_of("hosts: {api: {base_url: \"" + std::string(wrong) + "\"}}");
    ASSERT_EQ(problems.size(), 1u) << wrong;
    EXPECT_NE(problems[0].find("hosts.api.base_url"), std::string::npos) << problems[0];
  }
}

TEST_F(ConfigTest, HostsThatAreNotBuiltAreReadAndNamed) {
  const auto none = read_config("", {});
  const auto web = read_config("", {"hosts.web.base_url=https://example.com"});
  ASSERT_TRUE(none.ok() && web.ok());
  EXPECT_TRUE(none->hosts_not_built.empty());
  EXPECT_EQ(web->hosts_not_built, (std::vector<std::string>{"web"}));
  EXPECT_FALSE(read_config("", {"hosts.web.lisen=127.0.0.1:0"}).ok());
}

TEST_F(ConfigTest, TheMcpHostAllowsWhatFollowsFromItsUrlUnlessListsAreGiven) {
  const auto defaults = read_config("", {});
  ASSERT_TRUE(defaults.ok());
  EXPECT_EQ(defaults->mcp.listen, "127.0.0.1:8403");
  EXPECT_EQ(defaults->mcp.allowed_hosts, std::nullopt);
  EXPECT_EQ(defaults->mcp.allowed_origins, std::nullopt);
  write(
      "hosts:\n"
      "  mcp:\n"
      "    base_url: https://mcp.example.com/\n"
      "    allowed_hosts: [mcp.example.com, mcp.internal]\n"
      "    allowed_origins: []\n"
      "    openai_apps_challenge: token-1\n");
  const auto config = read_config(path(), {});
  ASSERT_TRUE(config.ok()) << config.error().front().text();
  EXPECT_EQ(config->mcp.base_url, "https://mcp.example.com");
  EXPECT_EQ(config->mcp.allowed_hosts,
            (std::vector<std::string>{"mcp.example.com", "mcp.internal"}));
  EXPECT_EQ(config->mcp.allowed_origins, std::vector<std::string>{});
  EXPECT_EQ(config->mcp.openai_apps_challenge, "token-1");
  const auto set = read_config(path(), {"hosts.mcp.allowed_hosts=*"});
  ASSERT_TRUE(set.ok());
  EXPECT_EQ(set->mcp.allowed_hosts, std::vector<std::string>{"*"}) << "one text is a list of one";
}

TEST_F(ConfigTest, TheMcpHostRefusesWhatItCouldNotServe) {
  const std::pair<const char*, const char*> wrong[] = {
      {"hosts: {mcp: {base_url: mcp.example.com}}", "hosts.mcp.base_url"},
      {"hosts: {mcp: {base_url: \"https://me@mcp.example.com\"}}", "hosts.mcp.base_url"},
      {"hosts: {mcp: {listen: \"0.0.0.0:8403\"}}", "hosts.mcp.base_url"},
      {"hosts: {mcp: {listen: \"[::]:8403\"}}", "hosts.mcp.base_url"},
      {"hosts: {mcp: {allowed_hosts: {a: b}}}", "hosts.mcp.allowed_hosts"},
      {"hosts: {mcp: {allowed_origins: [[a]]}}", "hosts.mcp.allowed_origins"},
      {"hosts: {mcp: {openai_apps_challenge: \"two words\"}}", "hosts.mcp.openai_apps_challenge"},
      {"hosts: {mcp: {lisen: x}}", "hosts.mcp.lisen"},
  };
  for (const auto& [text, place] : wrong) {
    const auto problems = problems_of(text);
    ASSERT_EQ(problems.size(), 1u) << text;
    EXPECT_NE(problems[0].find(place), std::string::npos) << problems[0];
  }
  EXPECT_TRUE(problems_of("hosts: {mcp: {listen: \"0.0.0.0:1\", base_url: \"https://m.example\"}}")
                  .empty());
}

TEST_F(ConfigTest, PostgresNeedsItsUrl) {
  const auto config = read_config("", {"storage.engine=postgres"});
  ASSERT_FALSE(config.ok());
  EXPECT_NE(config.error().front().message.find("needs a url"), std::string::npos);
}

TEST_F(ConfigTest, CountingFreeRequestsNeedsWhatItsChoicesNeed) {
  const auto defaults = read_config("", {});
  ASSERT_TRUE(defaults.ok());
  EXPECT_EQ(defaults->free_store, FreeStore::node);
  EXPECT_EQ(defaults->free_unreachable, FreeUnreachable::refuse);
  const auto config = read_config("", {"free.store=redis", "free.unreachable=local"});
  ASSERT_FALSE(config.ok());
  ASSERT_EQ(config.error().size(), 2u);
  EXPECT_NE(config.error()[0].text().find("free.redis.url"), std::string::npos);
  EXPECT_NE(config.error()[1].text().find("free.nodes"), std::string::npos);
  EXPECT_FALSE(read_config("", {"free.nodes=0"}).ok());
  const auto shared = read_config("", {"free.store=redis", "free.redis.url=redis://h:6379/0",
                                       "free.unreachable=local", "free.nodes=3"});
  ASSERT_TRUE(shared.ok());
  EXPECT_EQ(shared->nodes, 3u);
}

TEST_F(ConfigTest, AMissingFileSaysSo) {
  const auto config = read_config(path(), {});
  ASSERT_FALSE(config.ok());
  EXPECT_EQ(config.error().front().text(), path() + ": cannot be read; name another with --config");
}

}  // namespace
}  // namespace turnpike::app
