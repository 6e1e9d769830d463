#include "hosts/origins.h"

#include <gtest/gtest.h>

namespace turnpike::hosts {
namespace {

TEST(OriginsTest, ListedOnesAreComparedExactly) {
  const Origins origins({"https://app.example", "http://localhost:3000"});
  EXPECT_TRUE(origins.allows("https://app.example"));
  EXPECT_TRUE(origins.allows("http://localhost:3000"));
  for (const char* other :
       {"", "null", "https://app.example/", "https://app.example:443", "http://app.example",
        "HTTPS://APP.EXAMPLE", "https://app.example.evil", "https://evil.app.example",
        "http://localhost:3001", "http://localhost", "https://app.example, https://evil.example"}) {
    EXPECT_FALSE(origins.allows(other)) << other;
  }
}

TEST(OriginsTest, TheStarIsAllAndAnEmptyListIsNone) {
  EXPECT_TRUE(Origins({"*"}).allows("https://any.example"));
  EXPECT_TRUE(Origins({"https://app.example", "*"}).allows_all());
  EXPECT_FALSE(Origins({"https://*.example"}).allows("https://app.example")) << "no patterns";
  EXPECT_TRUE(Origins({}).allows_none());
  EXPECT_FALSE(Origins({}).allows("https://app.example"));
  EXPECT_FALSE(Origins({}, Origins::Loopback::always).allows_none());
}

TEST(OriginsTest, LoopbackMeansPlainHttpOfThisMachineOnAnyPort) {
  const Origins origins({}, Origins::Loopback::always);
  for (const char* own : {"http://localhost", "http://localhost:6274", "http://127.0.0.1:1",
                          "http://[::1]:65535", "http://[::1]"}) {
    EXPECT_TRUE(origins.allows(own)) << own;
  }
  for (const char* other :
       {"http://localhost.evil.example", "http://localhost:80.evil.example", "http://localhost:",
        "http://localhost:123456", "http://localhost:8x", "http://localhost:80@evil.example",
        "http://localhost@evil.example", "http://127.0.0.1.evil.example", "http://127.0.0.2",
        "http://[::1]evil.example", "http://[::2]", "http://evil.example/http://localhost",
        "http://localhost/", "http://LOCALHOST", "file://", "null", ""}) {
    EXPECT_FALSE(origins.allows(other)) << other;
  }
}

TEST(OriginsTest, TheOriginOfAUrlIsWhatABrowserWouldSend) {
  EXPECT_EQ(origin_of("https://mcp.example.com"), "https://mcp.example.com");
  EXPECT_EQ(origin_of("HTTPS://MCP.Example.com:443/path?q#f"), "https://mcp.example.com");
  EXPECT_EQ(origin_of("http://mcp.example.com:80"), "http://mcp.example.com");
  EXPECT_EQ(origin_of("http://mcp.example.com:443"), "http://mcp.example.com:443");
  EXPECT_EQ(origin_of("http://127.0.0.1:8403"), "http://127.0.0.1:8403");
  EXPECT_EQ(origin_of("http://[::1]:8403/x"), "http://[::1]:8403");
  for (const char* none :
       {"", "mcp.example.com", "ftp://mcp.example.com", "https://", "https:///x",
        "https://user@mcp.example.com", "https://mcp.example.com:", "https://mcp.example.com:port",
        "https://mcp.example.com:80:80", "https://m cp.example", "https://m\xc3\xbcller.example",
        "javascript:x"}) {
    EXPECT_EQ(origin_of(none), "") << none;
  }
}

TEST(OriginsTest, AnAuthorityIsTakenApart) {
  EXPECT_EQ(authority_of("https://mcp.example.com:8443"), "mcp.example.com:8443");
  EXPECT_EQ(split_authority("mcp.example.com:8443").host, "mcp.example.com");
  EXPECT_EQ(split_authority("mcp.example.com:8443").port, "8443");
  EXPECT_EQ(split_authority("mcp.example.com").port, "");
  EXPECT_EQ(split_authority("[::1]:8403").host, "[::1]");
  EXPECT_EQ(split_authority("[::1]:8403").port, "8403");
  EXPECT_EQ(split_authority("[::1]").host, "[::1]");
}

bool is_own(std::initializer_list<HeaderField> fields) {
  return is_from_own_page(Headers(fields.begin(), fields.size()), "https://here.example");
}

TEST(OwnPageTest, IsToldByOriginOrElseBySecFetchSite) {
  EXPECT_TRUE(is_own({{"origin", "https://here.example"}}));
  EXPECT_TRUE(is_own({{"Origin", "https://here.example"}, {"Sec-Fetch-Site", "same-origin"}}));
  EXPECT_TRUE(is_own({{"SEC-FETCH-SITE", "same-origin"}}));
  EXPECT_FALSE(is_own({}));
  EXPECT_FALSE(is_own({{"Origin", ""}}));
  EXPECT_FALSE(is_own({{"Origin", "null"}, {"Sec-Fetch-Site", "same-origin"}}));
  EXPECT_FALSE(is_own({{"Sec-Fetch-Site", "same-site"}})) << "another port of the same host";
  EXPECT_FALSE(is_own({{"Referer", "https://here.example/"}}));
}

}  // namespace
}  // namespace turnpike::hosts
