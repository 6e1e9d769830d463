#include "oauth/redirect_uri.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "oracle/redirect_uri_reading.h"

namespace turnpike::oauth {
namespace {

const RedirectRules rules;

TEST(RedirectUriTest, WhatClientsAreCalledBackAt) {  // O4, O5
  for (const char* const uri :
       {"https://chatgpt.com/connector_platform_oauth_redirect",
        "https://claude.ai/api/mcp/auth_callback", "https://app.example.org:8443/cb?a=b",
        "http://localhost/callback", "http://127.0.0.1:33418/", "http://[::1]:1/cb",
        "cursor://anysphere.cursor/oauth/cb",
        "vscode://vscode.github-authentication/did-authenticate", "com.example.app:/cb",
        "https://app.example.org/@me/cb", "com.example.app:/@me"}) {
    EXPECT_EQ(fault_in_redirect_uri(uri, rules), std::nullopt) << uri;
  }
}

TEST(RedirectUriTest, WhereNoAnswerGoes) {  // O4
  for (const char* const uri : {"",
                                "https://",
                                "https:///cb",
                                "https://a b/",
                                "https://a/#f",
                                "https://u@a/",
                                "https://a*/",
                                "https://a/*",
                                "https://a:0/",
                                "https://a:65536/",
                                "https://a:/",
                                "https://a/%zz",
                                "https://a/%2",
                                "http://example.org/",
                                "http://localhost.example.org/",
                                "http://127.0.0.2/",
                                "http://LOCALHOST/",
                                "http://localhost:80@evil.example/",
                                "HTTPS://a/",
                                "//a/",
                                "a",
                                "javascript:alert(1)",
                                "data:text/html,x",
                                "file:///etc/passwd",
                                "blob:https://a/1",
                                "ftp://a/",
                                "mailto:a@example.org",
                                "cursor:",
                                "cursor://",
                                "cursor://u@x/cb",
                                "com.example://x:u@y/cb",
                                "vscode:*",
                                "https://a\\b/",
                                "https://\x80/",
                                "https://a/\n"}) {
    EXPECT_NE(fault_in_redirect_uri(uri, rules), std::nullopt) << uri;
  }
  EXPECT_NE(fault_in_redirect_uri("https://a/" + std::string(1'015, 'x'), rules), std::nullopt);
  EXPECT_EQ(fault_in_redirect_uri("https://a/" + std::string(1'014, 'x'), rules), std::nullopt);
}

TEST(RedirectUriTest, OnLoopbackThePortIsTheProgramsOwn) {  // O3
  EXPECT_TRUE(matches_redirect_uri("http://127.0.0.1/cb", "http://127.0.0.1:51234/cb"));
  EXPECT_TRUE(matches_redirect_uri("http://localhost:1/cb?x", "http://localhost/cb?x"));
  EXPECT_TRUE(matches_redirect_uri("http://[::1]:1/cb", "http://[::1]:2/cb"));
  EXPECT_FALSE(matches_redirect_uri("http://127.0.0.1/cb", "http://localhost:51234/cb"));
  EXPECT_FALSE(matches_redirect_uri("http://127.0.0.1/cb", "http://127.0.0.1:51234/cb/"));
  EXPECT_FALSE(matches_redirect_uri("http://localhost/cb", "http://localhost:80@evil.example/cb"));
  EXPECT_FALSE(matches_redirect_uri("http://localhost/cb", "http://localhost:99999/cb"));
  EXPECT_FALSE(matches_redirect_uri("http://localhost/cb", "http://localhost:1/cb#x"));
  EXPECT_FALSE(matches_redirect_uri("https://a.example/cb", "https://a.example:1/cb"));
  EXPECT_FALSE(matches_redirect_uri("https://a.example/cb", "https://a.example/cb?x"));
}

// Near misses, made of the parts that decide, and mutated.
TEST(RedirectUriTest, ReadsAsASlowerReadingDoes) {
  const std::vector<std::string> schemes = {"https",       "http", "cursor",
                                            "com.example", "ftp",  "Http"};
  const std::vector<std::string> hosts = {"localhost", "127.0.0.1",   "[::1]",
                                          "a.example", "localhost.a", "u@localhost",
                                          "",          "[::1",        "[]",
                                          "u@",        "a@[::1]",     "[@]"};
  const std::vector<std::string> ports = {"", ":1", ":65535", ":65536", ":0", ":", ":8x"};
  const std::vector<std::string> rests = {"",     "/",   "/cb", "/cb?a=b", "?a",
                                          "/%20", "/%2", "#f",  "/*"};
  std::mt19937 random(7);
  const auto one_of = [&](const std::vector<std::string>& list) {
    return list[random() % list.size()];
  };
  const auto made = [&] {
    std::string uri = one_of(schemes) + (random() % 8 == 0 ? ":" : "://") + one_of(hosts) +
                      one_of(ports) + one_of(rests);
    if (random() % 4 == 0) uri[random() % uri.size()] = static_cast<char>(random() % 128);
    return uri;
  };
  int taken = 0;
  int matched = 0;
  for (int round = 0; round < 20'000; ++round) {
    const std::string uri = made();
    std::string asked = uri;
    // The same with another port, or with anything else changed.
    const std::size_t port = uri.find(':', uri.find("//") + 2);
    if (random() % 2 == 0 && port != uri.npos && uri.find("[") == uri.npos) {
      asked.insert(port + 1, "1");
    } else if (!asked.empty() && random() % 2 == 0) {
      asked[random() % asked.size()] = static_cast<char>('0' + random() % 75);
    } else {
      asked = made();
    }
    const bool is_taken = !fault_in_redirect_uri(uri, rules);
    ASSERT_EQ(is_taken, oracle::may_redirect_to(uri, rules)) << uri;
    taken += is_taken;
    if (!is_taken) continue;
    const bool is_matched = matches_redirect_uri(uri, asked);
    ASSERT_EQ(is_matched, oracle::is_same_redirect(uri, asked)) << uri << " and " << asked;
    matched += is_matched;
  }
  EXPECT_GT(taken, 1'000);
  EXPECT_GT(matched, 20);
}

TEST(RedirectUriTest, PeopleAreToldWhereItLeads) {
  EXPECT_EQ(redirect_target("https://app.example:8443/cb"), "app.example:8443");
  EXPECT_EQ(redirect_target("http://[::1]:7/cb"), "this computer");
  EXPECT_EQ(redirect_target("cursor://x/cb"), "the program for cursor: links");
}

TEST(RedirectUriTest, AnAnswerIsAddedToTheQuery) {
  EXPECT_EQ(RedirectAnswer("https://a/cb").add("code", "x y&z").add("state", "").text(),
            "https://a/cb?code=x%20y%26z");
  EXPECT_EQ(RedirectAnswer("https://a/cb?k=v").add("iss", "http://b").text(),
            "https://a/cb?k=v&iss=http%3A%2F%2Fb");
  EXPECT_EQ(RedirectAnswer("https://a/cb?").add("a", "b").text(), "https://a/cb?a=b");
}

}  // namespace
}  // namespace turnpike::oauth
