#include "http/configuration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <turnpike/helpers/mistakes.h>

#include "scripted_host.h"

namespace turnpike::http {
namespace {

Result<Configuration> read(std::vector<Settings::Field> fields,
                           std::vector<Settings::Field> route = {}) {
  const Settings settings = map(std::move(fields));
  const Settings own = map(std::move(route));
  const BoundOperation operation{
      "route-1", Method::get, "/v1/gateway/acme/items/{id}", path_names, &own, 0, {}};
  return read_configuration({"acme", settings, {&operation, 1}});
}

// "where: message" for each mistake.
std::vector<std::string> problems_of(const Result<Configuration>& configuration) {
  EXPECT_FALSE(configuration.ok());
  if (configuration.ok()) return {};
  EXPECT_EQ(configuration.error().kind, FailureKind::invalid_settings);
  std::vector<std::string> problems;
  for (const Mistake& mistake : split_mistakes(configuration.error())) {
    problems.push_back(mistake.where + ": " + mistake.message);
  }
  return problems;
}

// The problem of settings that have exactly one.
std::string problem(std::vector<Settings::Field> fields, std::vector<Settings::Field> route = {}) {
  const auto problems = problems_of(read(std::move(fields), std::move(route)));
  EXPECT_THAT(problems, ::testing::SizeIs(1));
  return problems.empty() ? std::string() : problems.front();
}

const Settings::Field base{"base_url", scalar("https://api.example.com/v2/")};

TEST(Configuration, DefaultsNeedABaseUrlAlone) {
  const auto read_one = read({base});
  ASSERT_TRUE(read_one.ok()) << read_one.error().message;
  EXPECT_EQ(read_one->base_url, "https://api.example.com/v2");
  EXPECT_FALSE(read_one->allow_private_addresses);
  EXPECT_FALSE(read_one->lacks_credential);
  EXPECT_EQ(read_one->connect_timeout_ms, 3000u);
  EXPECT_EQ(read_one->attempts_max, 2u);
  ASSERT_EQ(read_one->headers.size(), 1u);
  EXPECT_EQ(read_one->headers[0].name, "User-Agent");
  EXPECT_EQ(read_one->headers[0].value, "turnpike");
  const PathParameter id{"id", "x%20y", "x y"};
  std::string path;
  ASSERT_TRUE(read_one->operations[0].path.append_to(path, {&id, 1}));
  EXPECT_EQ(path, "/v1/gateway/acme/items/x%20y");
}

TEST(Configuration, ThePrefixIsTakenOffAndAPathReplacesTheWhole) {
  const PathParameter id{"id", "7", "7"};
  std::string path;
  ASSERT_TRUE(read({base, {"prefix", scalar("/v1/gateway/acme/")}})
                  ->operations[0]
                  .path.append_to(path, {&id, 1}));
  EXPECT_EQ(path, "/items/7");
  path.clear();
  ASSERT_TRUE(read({base}, {{"path", scalar("/thing/{id}.json")}})
                  ->operations[0]
                  .path.append_to(path, {&id, 1}));
  EXPECT_EQ(path, "/thing/7.json");
}

TEST(Configuration, UnknownKeysAreNamedWithTheNearestKnownOne) {
  EXPECT_EQ(problem({base, {"base_ur", scalar("x")}}),
            "base_ur: unknown key; did you mean `base_url`?");
  EXPECT_EQ(problem({base, {"retry", map({{"attempt_max", scalar("1")}})}}),
            "retry.attempt_max: unknown key; did you mean `attempts_max`?");
  EXPECT_EQ(problem({base}, {{"paht", scalar("/")}}),
            "operations[0].paht: unknown key; did you mean `path`?");
}

// The operator can then correct everything at once.
TEST(Configuration, AllMistakesAreToldAtOnce) {
  const auto problems = problems_of(
      read({{"base_url", scalar("https://user@:0/?a=b")},
            {"user_agnet", scalar("x")},
            {"user_agent", list({})},
            {"prefix", scalar("/v2")},
            {"headers", map({{"Host", scalar("x\ny")}, {"A", map({})}})},
            {"credential",
             map({{"header", scalar("a b")}, {"prefix", scalar("\n")}, {"value", secret("")}})},
            {"connect_timeout_ms", scalar("0")},
            {"connections_max", scalar("many")},
            {"allow_private_addresses", scalar("yes")},
            {"retry", map({{"attempts_max", scalar("9")}, {"budget_precent", scalar("1")}})},
            {"breaker", map({{"percent", scalar("0")},
                             {"open_ms", scalar("0")},
                             {"statuses", list({scalar("404"), scalar("500"), scalar("x")})}})},
            {"probe", map({{"path", scalar("health")}, {"expected_status", scalar("1")}})}},
           {{"retyr", scalar("safe")},
            {"retry", scalar("always")},
            {"breaker_statuses", scalar("500")}}));
  EXPECT_THAT(
      problems,
      ::testing::UnorderedElementsAre(
          "user_agnet: unknown key; did you mean `user_agent`?",
          "base_url: must hold no user or password; use `credential`",
          "base_url: has no valid host",
          "base_url: must be scheme, host and path alone, no query or fragment",
          "user_agent: expected a string that is no secret",
          "headers.Host: is a header that the gateway sets itself: leave it out",
          "headers.Host: holds control characters, which no header may hold: leave them out",
          "headers.A: expected a string",
          "credential.prefix: holds control characters, which no header may hold: leave them out",
          "credential.header: is no header name: write letters, digits and `-`",
          "connect_timeout_ms: expected an integer from 1 to 60000",
          "connections_max: expected an integer from 1 to 65536",
          "allow_private_addresses: expected true or false",
          "retry.budget_precent: unknown key; did you mean `budget_percent`?",
          "retry.attempts_max: expected an integer from 1 to 5",
          "breaker.percent: expected an integer from 1 to 100",
          "breaker.open_ms: expected an integer from 1 to 3600000",
          "breaker.statuses[0]: expected a status from 500 to 599",
          "breaker.statuses[2]: expected a status from 500 to 599",
          "probe.expected_status: expected an integer from 200 to 599",
          "probe.path: expected a path that begins with `/`",
          "operations[0].retyr: unknown key; did you mean `retry`?",
          "operations[0].retry: expected unsent, safe or never",
          "operations[0].breaker_statuses: expected a list of statuses from 500 to 599",
          "prefix: the path /v1/gateway/acme/items/{id} is not below it; set "
          "upstream_settings.path of that route"));
}

TEST(Configuration, WhatFollowsFromAMistakeIsNotToldBesideIt) {
  EXPECT_EQ(problem({base, {"prefix", list({})}}), "prefix: expected a string that is no secret");
  EXPECT_EQ(problem({base, {"retry", scalar("3")}}), "retry: expected a map");
  EXPECT_EQ(problem({base, {"credential", map({{"header", list({})}, {"value", secret("x")}})}}),
            "credential.header: expected a string that is no secret");
  EXPECT_EQ(problems_of(read_configuration({"acme", scalar("https://api.example.com"), {}})),
            std::vector<std::string>{": expected a map"});
}

TEST(Configuration, TheMistakesOfRoutesAreToldOfEachOfThem) {
  const Settings settings = map({base});
  const Settings one = map({{"path", scalar("x")}}), two = scalar("x"), three = map({});
  const BoundOperation operations[] = {
      {"1", Method::get, "/a", {}, &one, 0, {}},
      {"2", Method::get, "/b", {}, &three, 0, {}},
      {"3", Method::get, "/c", {}, &two, 0, {}},
  };
  EXPECT_EQ(problems_of(read_configuration({"acme", settings, operations})),
            (std::vector<std::string>{"operations[0].path: expected a path that begins with `/`",
                                      "operations[2]: expected a map"}));
}

TEST(Configuration, EveryWrongValueIsRefusedAtItsPlace) {
  EXPECT_EQ(problem({}), "base_url: is required, such as https://api.example.com");
  EXPECT_EQ(problem({{"base_url", scalar("ftp://x")}}),
            "base_url: expected a URL that begins with https:// or http://");
  EXPECT_EQ(problem({{"base_url", scalar("https://user:pw@x")}}),
            "base_url: must hold no user or password; use `credential`");
  EXPECT_EQ(problem({{"base_url", scalar("https://x/?a=b")}}),
            "base_url: must be scheme, host and path alone, no query or fragment");
  EXPECT_EQ(problem({{"base_url", scalar("https://x#f")}}),
            "base_url: must be scheme, host and path alone, no query or fragment");
  EXPECT_EQ(problem({{"base_url", scalar("https://:80")}}), "base_url: has no valid host");
  EXPECT_EQ(problem({{"base_url", scalar("https:///p")}}), "base_url: has no valid host");
  EXPECT_EQ(problem({{"base_url", scalar("https://a b")}}), "base_url: has no valid host");
  for (const char* url : {"https://[::1", "https://[]", "https://[::1%25eth0]", "https://[x]:1"}) {
    EXPECT_EQ(problem({{"base_url", scalar(url)}}), "base_url: has no valid host") << url;
  }
  for (const char* url : {"https://x:", "https://x:0", "https://x:65536", "https://x:999999",
                          "https://x:8a", "https://x:1:2", "https://[::1]1", "https://[::1]:"}) {
    EXPECT_EQ(problem({{"base_url", scalar(url)}}), "base_url: has no valid port (1 to 65535)")
        << url;
  }
  for (const char* url : {"https://x:65535", "https://[2001:db8::1]:8443/v2", "http://[::1]"}) {
    EXPECT_TRUE(read({{"base_url", scalar(url)}}).ok()) << url;
  }
  EXPECT_EQ(problem({base, {"connect_timeout_ms", scalar("0")}}),
            "connect_timeout_ms: expected an integer from 1 to 60000");
  EXPECT_EQ(problem({base, {"allow_private_addresses", scalar("yes")}}),
            "allow_private_addresses: expected true or false");
  EXPECT_EQ(problem({base, {"breaker", map({{"failures", scalar("0")}})}}),
            "breaker.failures: expected an integer from 1 to 10000");
  EXPECT_EQ(problem({base, {"breaker", scalar("off")}}), "breaker: expected a map");
  EXPECT_EQ(problem({base, {"breaker", map({{"percent", scalar("101")}})}}),
            "breaker.percent: expected an integer from 1 to 100");
  EXPECT_EQ(problem({base, {"breaker", map({{"statuses", scalar("500")}})}}),
            "breaker.statuses: expected a list of statuses from 500 to 599");
  EXPECT_EQ(problem({base, {"breaker", map({{"statuses", list({scalar("499")})}})}}),
            "breaker.statuses[0]: expected a status from 500 to 599");
  EXPECT_EQ(problem({base}, {{"breaker_statuses", list({scalar("500"), scalar("600")})}}),
            "operations[0].breaker_statuses[1]: expected a status from 500 to 599");
  EXPECT_EQ(problem({base, {"probe", map({{"credential", scalar("true")}})}}),
            "probe.credential: is the registry's to say: `probe: {credential: true}` of the "
            "upstream, beside its `settings`");
  EXPECT_EQ(problem({base, {"probe", map({{"path", scalar("health")}})}}),
            "probe.path: expected a path that begins with `/`");
  EXPECT_EQ(problem({base, {"probe", map({{"expected_status", scalar("99")}})}}),
            "probe.expected_status: expected an integer from 200 to 599");
  EXPECT_EQ(problem({base, {"headers", map({{"Host", scalar("x")}})}}),
            "headers.Host: is a header that the gateway sets itself: leave it out");
  EXPECT_EQ(problem({base, {"headers", map({{"authorization", scalar("Bearer x")}})}}),
            "headers.authorization: holds a credential: give it as {secret: {env: NAME}} or "
            "{secret: {file: PATH}}");
  EXPECT_EQ(problem({base, {"headers", map({{"a b", scalar("x")}})}}),
            "headers.a b: is no header name: write letters, digits and `-`");
  EXPECT_EQ(problem({base, {"headers", map({{"A", scalar("x\r\nB: y")}})}}),
            "headers.A: holds control characters, which no header may hold: leave them out");
  EXPECT_EQ(problem({base, {"headers", map({{"user-agent", scalar("x")}})}}),
            "headers.user-agent: is set twice: leave one out");
  EXPECT_EQ(problem({base, {"prefix", scalar("/v2")}}),
            "prefix: the path /v1/gateway/acme/items/{id} is not below it; set "
            "upstream_settings.path of that route");
  EXPECT_EQ(problem({base}, {{"path", scalar("/x/{dao}")}}),
            "operations[0].path: expected parameters of the route's own path; it has no {dao}");
  EXPECT_EQ(problem({base}, {{"retry", scalar("always")}}),
            "operations[0].retry: expected unsent, safe or never");
}

TEST(Configuration, ACredentialIsASecretInAHeaderOrTheQuery) {
  const auto header = read({base,
                            {"credential", map({{"header", scalar("Authorization")},
                                                {"prefix", scalar("Bearer ")},
                                                {"value", secret("hush\n")}})}});
  ASSERT_TRUE(header.ok()) << header.error().message;
  EXPECT_EQ(header->headers.back().value, "Bearer hush");
  EXPECT_EQ(header->secrets, std::vector<std::string>{"hush"});
  const auto query =
      read({base, {"credential", map({{"query", scalar("api_key")}, {"value", secret("a b")}})}});
  ASSERT_TRUE(query.ok());
  EXPECT_EQ(query->credential_query, "api_key=a%20b");
  EXPECT_EQ(query->secrets, (std::vector<std::string>{"a b", "a%20b"}));
  EXPECT_EQ(
      problem({base, {"credential", map({{"header", scalar("Host")}, {"value", secret("")}})}}),
      "credential.header: is a header that the gateway sets itself: leave it out");
  const auto missing =
      read({base, {"credential", map({{"header", scalar("X-Key")}, {"value", secret("")}})}});
  ASSERT_TRUE(missing.ok());
  EXPECT_TRUE(missing->lacks_credential);

  EXPECT_EQ(problem({base,
                     {"credential",
                      map({{"header", scalar("X-Key")}, {"value", scalar("in the YAML")}})}}),
            "credential.value: expected {secret: {env: NAME}} or {secret: {file: PATH}}");
  EXPECT_EQ(problem({base, {"credential", map({{"header", scalar("X-Key")}})}}),
            "credential.value: is required, as {secret: {env: NAME}} or {secret: {file: PATH}}");
  EXPECT_EQ(problem({base, {"credential", map({{"value", secret("hush")}})}}),
            "credential: expected `header` or `query`, and not both");
  EXPECT_EQ(
      problem(
          {base, {"credential", map({{"header", scalar("X-Key")}, {"value", secret("hu\nsh")}})}}),
      "credential.value: holds control characters: it must be one line of text");
}

}  // namespace
}  // namespace turnpike::http
