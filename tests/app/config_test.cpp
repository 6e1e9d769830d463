#include "app/config/config.h"
#include "support/paths.h"
#include "support/temporary.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

namespace turnpike::app {
namespace {

class ConfigTest : public testing::Test {
 protected:
  [[nodiscard]] std::string path() const { return directory_.file("turnpike.yaml"); }
  void write(const std::string& text) const { std::ofstream(path()) << text; }

  // The texts of the problems in `text`.
  [[nodiscard]] std::vector<std::string> problems_of(const std::string& text) const {
    write(text);
    const auto config = read_config(path(), {});
    std::vector<std::string> texts;
    if (!config.ok()) {
      for (const auto& problem : config.error()) texts.push_back(problem.text());
    }
    return texts;
  }

  const support::TemporaryDirectory directory_;
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
  EXPECT_EQ(shipped->operator_listen, defaults->operator_listen);
  EXPECT_EQ(shipped->cors_origins, defaults->cors_origins);
  EXPECT_EQ(shipped->sqlite_path, defaults->sqlite_path);
  EXPECT_EQ(shipped->starter_grant_credits, defaults->starter_grant_credits);
  EXPECT_EQ(shipped->starter_grant_days, defaults->starter_grant_days);
  EXPECT_EQ(shipped->log_level, defaults->log_level);
  EXPECT_EQ(shipped->is_durability_relaxed, defaults->is_durability_relaxed);
  EXPECT_EQ(shipped->migrate_at_start, defaults->migrate_at_start);
  for (const auto number :
       {&Config::loops, &Config::pool_threads,
        &Config::unready_before_stop_ms, &Config::drain_timeout_ms, &Config::give_up_timeout_ms,
        &Config::connections_max, &Config::calls_per_account_max, &Config::calls_per_upstream_max,
        &Config::request_bodies_bytes_max, &Config::mcp_reply_bytes_max,
        &Config::mcp_messages_bytes_max, &Config::heavy_transfers_max,
        &Config::heavy_transfer_wait_ms, &Config::transfer_timeout_ms,
        &Config::transfer_bytes_per_second_min, &Config::lease_hold_ms,
        &Config::lease_settle_margin_ms}) {
    EXPECT_EQ((*shipped).*number, (*defaults).*number);
  }
  EXPECT_EQ(shipped->status.is_enabled, defaults->status.is_enabled);
  EXPECT_EQ(shipped->status.round_ms, defaults->status.round_ms);
  EXPECT_EQ(shipped->status.evidence_lost_ms, defaults->status.evidence_lost_ms);
  EXPECT_EQ(shipped->status.publishing, defaults->status.publishing);
}

TEST_F(ConfigTest, DevelopmentFileDocumentsEveryKey) {
  std::ifstream file(support::source_path("config/turnpike.yaml"));
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto keys = config_keys();
  EXPECT_GT(keys.size(), 50u);
  for (const std::string& key : keys) {
    const std::string name = key.substr(key.rfind('.') + 1);
    EXPECT_NE(text.find(name + ":"), std::string::npos) << key << " is not documented";
  }
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
  EXPECT_EQ(from_file->data_dir, directory_.file("data"));
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
  EXPECT_EQ(read_config("", {"hosts.api.base_url=HTTPS://API.example.com:443"})->api.base_url,
            "https://api.example.com");
  for (const char* wrong : {"api.example.com", "ftp://api.example.com", "https://", "https://a b",
                            "https://me@api.example.com", "https://a.example?x", "https://a#b",
                            "https://example.com/api"}) {
    const auto problems = problems_of("hosts: {api: {base_url: \"" + std::string(wrong) + "\"}}");
    ASSERT_EQ(problems.size(), 1u) << wrong;
    EXPECT_NE(problems[0].find("hosts.api.base_url"), std::string::npos) << problems[0];
  }
}

TEST_F(ConfigTest, PeopleSignInOverHttpsOrOnThisMachine) {
  for (const char* fit : {"https://example.com", "http://localhost:8404", "http://127.0.0.1:9"}) {
    EXPECT_TRUE(read_config("", {"hosts.web.base_url=" + std::string(fit)}).ok()) << fit;
  }
  for (const char* unfit :
       {"hosts.web.base_url=http://example.com", "hosts.web.base_url=http://localhost.example.com",
        "hosts.web.listen=0.0.0.0:8404", "hosts.web.listen=10.0.0.1:8404"}) {
    const auto read = read_config("", {unfit});
    ASSERT_FALSE(read.ok()) << unfit;
    EXPECT_NE(read.error()[0].text().find("hosts.web.base_url"), std::string::npos);
  }
  EXPECT_TRUE(
      read_config("", {"hosts.web.listen=0.0.0.0:8404", "hosts.web.base_url=https://example.com"})
          .ok());
  EXPECT_TRUE(read_config("", {"hosts.web.listen="}).ok());
  EXPECT_FALSE(read_config("", {"hosts.web.lisen=127.0.0.1:0"}).ok());
}

TEST_F(ConfigTest, ProxiesAreAddressesOrRanges) {
  EXPECT_EQ(read_config("", {"hosts.trusted_proxies=10.0.0.0/8"})->trusted_proxies.size(), 1u);
  write("hosts: {trusted_proxies: [127.0.0.1, \"::1\", 10.0.0.0/8]}");
  EXPECT_EQ(read_config(path(), {})->trusted_proxies.size(), 3u);
  EXPECT_FALSE(read_config("", {"hosts.trusted_proxies=proxy.example.com"}).ok());
  EXPECT_FALSE(read_config("", {"hosts.trusted_proxies=10.0.0.1/8"}).ok());
  EXPECT_EQ(read_config("", {"hosts.web.base_url=https://example.com"})->notes.size(), 1u);
  EXPECT_TRUE(
      read_config("", {"hosts.web.base_url=https://example.com", "hosts.trusted_proxies=127.0.0.1"})
          ->notes.empty());
}

TEST_F(ConfigTest, PasskeysAreBoundToTheHostNameOrADomainAboveIt) {
  const auto read = [](const char* domain) {
    return read_config("", {"hosts.web.base_url=https://pay.example.com",
                            "identity.passkeys.rp_id=" + std::string(domain)});
  };
  EXPECT_TRUE(read("pay.example.com").ok());
  EXPECT_TRUE(read("example.com").ok());
  for (const char* foreign : {"y.example.com", "other.com", "ample.com"}) {
    EXPECT_FALSE(read(foreign).ok()) << foreign;
  }
}

TEST_F(ConfigTest, TheStrictPresetShortensSessionsUnlessTheyAreGivenBesides) {
  EXPECT_EQ(read_config("", {})->people.idle_minutes, 720u);
  const auto strict = read_config("", {"identity.sessions.preset=strict"});
  EXPECT_EQ(strict->people.idle_minutes, 60u);
  EXPECT_EQ(strict->people.absolute_hours, 24u);
  const auto shorter = read_config(
      "", {"identity.sessions.preset=strict", "identity.sessions.idle_minutes=5"});
  EXPECT_EQ(shorter->people.idle_minutes, 5u);
  EXPECT_FALSE(read_config("", {"identity.sessions.preset=lax"}).ok());
}

TEST_F(ConfigTest, PasswordsAreOffOutsideOfDevelopmentUnlessTheyAreTurnedOn) {  // S24
  EXPECT_TRUE(read_config("", {})->people.takes_passwords);
  EXPECT_EQ(read_config("", {})->people.password_bytes_min, 15u);
  EXPECT_FALSE(read_config("", {"environment=staging"})->people.takes_passwords);
  EXPECT_FALSE(read_config("", {"environment=production"})->people.takes_passwords);
  EXPECT_TRUE(read_config("", {"environment=production", "identity.password.enabled=true"})
                  ->people.takes_passwords);
  EXPECT_FALSE(read_config("", {"identity.password.enabled=false"})->people.takes_passwords);
  EXPECT_TRUE(read_config("", {"identity.password.min_length=8"}).ok());
  EXPECT_FALSE(read_config("", {"identity.password.min_length=7"}).ok());
  EXPECT_TRUE(read_config("", {"identity.password.min_length=128"}).ok());
  EXPECT_FALSE(read_config("", {"identity.password.min_length=129"}).ok());
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

// Regression: payments were offered for http://0.0.0.0.
TEST_F(ConfigTest, AnApiForOthersNeedsTheUrlThatTheyUse) {
  const std::string everywhere = "hosts: {api: {listen: \"0.0.0.0:8402\"}}\n";
  EXPECT_TRUE(problems_of(everywhere).empty());
  for (const std::string more : {"environment: production\n", "lanes: {x402: {}}\n"}) {
    const auto problems = problems_of(everywhere + more);
    ASSERT_EQ(problems.size(), 1u) << more;
    EXPECT_NE(problems[0].find("hosts.api.base_url"), std::string::npos) << problems[0];
  }
  const std::string with_url =
      "environment: production\nhosts:\n  api:\n    base_url: http://api.example.com\n";
  EXPECT_TRUE(problems_of(with_url).empty());
  const auto config = read_config(path(), {});
  ASSERT_TRUE(config.ok());
  ASSERT_EQ(config->notes.size(), 1u);
  EXPECT_EQ(config->notes[0].path, "hosts.api.base_url");
  EXPECT_EQ(config->notes[0].line, 4);
}

TEST_F(ConfigTest, PostgresNeedsItsUrl) {
  const auto config = read_config("", {"storage.engine=postgres"});
  ASSERT_FALSE(config.ok());
  EXPECT_EQ(config.error().size(), 1u);
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

TEST_F(ConfigTest, ADirectoryIsNoFile) {
  const auto config = read_config(directory_.path(), {});
  ASSERT_FALSE(config.ok()) << "the defaults were taken for its content";
  EXPECT_EQ(config.error().front().text(),
            directory_.path() + ": cannot be read; name another with --config");
}

// Otherwise each of these would fail only at the start, or not at all.
TEST_F(ConfigTest, ValuesThatCannotWorkAreRefusedWithTheirPlace) {
  const std::pair<const char*, const char*> wrong[] = {
      {"hosts: {api: {listen: 127.0.0.1}}", ":1:23: hosts.api.listen: expected an address"},
      {"hosts: {api: {listen: \"127.0.0.1:99999\"}}", ":1:23: hosts.api.listen: expected an"},
      {"hosts: {api: {listen: \"127.0.0.1:http\"}}", ":1:23: hosts.api.listen: expected an"},
      {"hosts: {mcp: {listen: \"0:8403\"}}", ":1:23: hosts.mcp.listen: expected an address"},
      {"hosts: {operator: {listen: \"::1:8405\"}}", ":1:28: hosts.operator.listen: expected"},
      {"hosts: {operator: {base_url: \"http://x\"}}", ":1:30: hosts.operator.base_url: unknown"},
      {"hosts: {api: {cors_origins: [app.example.com]}}",
       ":1:29: hosts.api.cors_origins: expected"},
      {"hosts: {api: {cors_origins: [\"https://a.example/\"]}}", ":1:29: hosts.api.cors_origins: "},
      {"hosts: {api: {cors_origins: [{a: b}]}}", ":1:29: hosts.api.cors_origins: expected a list"},
      {"storage: {engine: postgres, postgres: {url: \"mysql://h/d\"}}",
       ":1:45: storage.postgres.url: expected a URL such as postgresql://user@host:5432/database"},
      {"storage:\n  engine: postgres\n", ":2:3: storage.postgres.url: expected a URL such as "},
      {"free: {store: redis, redis: {url: \"http://h\"}}",
       ":1:35: free.redis.url: expected redis:"},
      {"free: {store: redis}", ":1:7: free.redis.url: expected redis://"},
      {"data_dir: \"\"", ":1:11: data_dir: expected the path of a directory"},
      {"data_dir: {secret: {env: X}}", ":1:11: data_dir: expected text"},
      {"environment: prod", ":1:14: environment: expected one of development, staging, production"},
  };
  for (const auto& [text, expected] : wrong) {
    const auto problems = problems_of(text);
    ASSERT_EQ(problems.size(), 1u) << text;
    EXPECT_TRUE(problems[0].starts_with(path() + expected)) << problems[0];
  }
  const auto too_long = read_config("", {"data_dir=/tmp/" + std::string(100, 'x')});
  ASSERT_FALSE(too_long.ok());
  EXPECT_NE(too_long.error().front().text().find("data_dir: is too long"), std::string::npos);
}

TEST_F(ConfigTest, ProblemsWithSettingsSayThatTheyAreInSettings) {
  for (const char* wrong : {"data_dir.x=1", "a..b=1", "hosts.api.lisen=x",
                            "hosts.mcp.listen=0.0.0.0:8403", "storage.engine=postgres"}) {
    const auto config = read_config("", {"log.level=info", wrong});
    ASSERT_FALSE(config.ok()) << wrong;
    EXPECT_TRUE(config.error().front().text().starts_with("--set:2:1: "))
        << config.error().front().text();
  }
}

// A list of pins that cannot be read must not disable pinning.
TEST_F(ConfigTest, PinsAreDigestsOfFilesOrRefused) {
  const std::string digest(64, 'A');
  for (const std::string& wrong :
       {std::string(), std::string("abc"), std::string("[abc]"), std::string("{}"),
        "{http.so: " + digest + "0}", std::string("{http.so: }"),
        "{http.so: " + std::string(64, 'x') + "}"}) {
    const auto problems = problems_of("plugins: {sha256: " + wrong + "}");
    ASSERT_EQ(problems.size(), 1u) << wrong;
    EXPECT_NE(problems[0].find("plugins.sha256: expected a map"), std::string::npos);
  }
  write("plugins: {sha256: {http.so: " + digest + "}}");
  const auto config = read_config(path(), {});
  ASSERT_TRUE(config.ok()) << config.error().front().text();
  EXPECT_EQ(config->plugins_sha256.at("http.so"), std::string(64, 'a'));
}

TEST_F(ConfigTest, PagesAreNamedByTheirOrigins) {
  const auto origins = [&](const std::string& text) {
    return read_config("", {"hosts.api.cors_origins=" + text})->cors_origins.front();
  };
  EXPECT_EQ(origins("*"), "*");
  EXPECT_EQ(origins("https://App.example:443"), "https://app.example");
  EXPECT_EQ(origins("chrome-extension://abcdef"), "chrome-extension://abcdef");
}

TEST_F(ConfigTest, UrlsWithPasswordsMayBeSecrets) {
  write("storage: {engine: postgres, postgres: {url: {secret: {file: turnpike.url}}}}\n");
  const std::string file = directory_.file("turnpike.url");
  const auto missing = read_config(path(), {});
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().front().text(), path() + ":1:45: storage.postgres.url: the file " +
                                                file +
                                                " cannot be read, is empty, or holds more "
                                                "than 64 KiB");
  std::ofstream(file) << "postgresql://u:pw@h/d\n";
  const auto config = read_config(path(), {});
  std::remove(file.c_str());
  ASSERT_TRUE(config.ok()) << config.error().front().text();
  EXPECT_EQ(config->postgres_url, "postgresql://u:pw@h/d");
}

// Otherwise a start would fail at the second host with only the system's message.
TEST_F(ConfigTest, EachHostHasAPortOfItsOwn) {
  const auto with = [&](const std::string& api, const std::string& mcp) {
    return problems_of("hosts:\n  api: {listen: \"" + api + "\"}\n  mcp: {listen: \"" + mcp +
                       "\", base_url: \"http://m.example\"}\n");
  };
  for (const auto& [api, mcp] :
       {std::pair("127.0.0.1:9000", "127.0.0.1:9000"), std::pair("0.0.0.0:9000", "127.0.0.1:9000"),
        std::pair("127.0.0.1:9000", "0.0.0.0:9000"), std::pair("[::1]:9000", "[::]:9000"),
        std::pair("localhost:9000", "localhost:9000")}) {
    const auto problems = with(api, mcp);
    ASSERT_EQ(problems.size(), 1u) << api << " " << mcp;
    EXPECT_EQ(problems[0], path() + ":3:8: hosts.mcp: listens on " + mcp + ", and hosts.api on " +
                               api + ": give each a port of its own");
  }
  for (const auto& [api, mcp] :
       {std::pair("127.0.0.1:0", "127.0.0.1:0"), std::pair("127.0.0.1:9000", "127.0.0.1:9001"),
        std::pair("127.0.0.1:9000", "127.0.0.2:9000")}) {
    EXPECT_TRUE(with(api, mcp).empty()) << api << " " << mcp;
  }
  // The default port of the operator host.
  EXPECT_EQ(problems_of("hosts: {api: {listen: \"127.0.0.1:8405\"}}").size(), 1u);
  EXPECT_TRUE(problems_of("hosts: {api: {listen: \"\"}, mcp: {listen: \"\"}}").empty());
}

TEST_F(ConfigTest, PluginDirectoriesAreOneOrAList) {
  write("plugins: {directory: own}\n");
  const auto one = read_config(path(), {});
  ASSERT_TRUE(one.ok());
  EXPECT_EQ(one->plugins_directories, std::vector<std::string>{directory_.file("own")});
  write("plugins: {directory: [own, /usr/lib/turnpike]}\n");
  const auto list = read_config(path(), {});
  ASSERT_TRUE(list.ok());
  EXPECT_EQ(list->plugins_directories,
            (std::vector<std::string>{directory_.file("own"), "/usr/lib/turnpike"}));
  EXPECT_EQ(read_config(path(), {"plugins.directory=here"})->plugins_directories,
            std::vector<std::string>{"here"});
  EXPECT_EQ(problems_of("plugins: {directory: [a, {b: c}]}").size(), 1u);
  EXPECT_EQ(problems_of("plugins: {directory: [a, \"\"]}").size(), 1u);
}

}  // namespace
}  // namespace turnpike::app
