#include "hosts/mcp/access.h"

#include <gtest/gtest.h>

namespace turnpike::hosts::mcp {
namespace {

using base::ErrorCode;

const AccessSettings local = {.base_url = "http://127.0.0.1:8403",
                              .bound_address = "127.0.0.1:8403"};
const AccessSettings published = {.base_url = "https://mcp.example.com",
                                  .bound_address = "203.0.113.7:8403"};

std::optional<ErrorCode> judge(const AccessSettings& settings, std::vector<HeaderField> headers) {
  const auto refusal = Access(settings).refusal(headers);
  return refusal ? std::optional(refusal->code) : std::nullopt;
}

std::optional<ErrorCode> judge_host(const AccessSettings& settings, std::string_view host) {
  return judge(settings, {{"host", host}});
}

std::optional<ErrorCode> judge_origin(const AccessSettings& settings, std::string_view host,
                                      std::string_view origin) {
  return judge(settings, {{"Host", host}, {"Origin", origin}});
}

TEST(AccessTest, ALocalServerAnswersToTheNamesOfLoopbackWithItsPort) {
  for (const char* host : {"localhost:8403", "127.0.0.1:8403", "[::1]:8403", "LocalHost:8403"}) {
    EXPECT_EQ(judge_host(local, host), std::nullopt) << host;
  }
  for (const char* host :
       {"evil.example.com", "evil.example.com:8403", "localhost", "localhost:80", "localhost:08403",
        "localhost.:8403", "localhost.evil.example:8403", "127.0.0.1", "127.0.0.2:8403",
        "127.0.0.1.evil.example:8403", "[::1]", "[::2]:8403", "[::1]evil:8403", ":8403", "",
        "0.0.0.0:8403", "localhost:8403:8403", "8403"}) {
    EXPECT_EQ(judge_host(local, host), ErrorCode::mcp_host_not_allowed) << host;
  }
}

TEST(AccessTest, APublishedServerAnswersToItsUrlAndItsAddressAlone) {
  for (const char* host :
       {"mcp.example.com", "mcp.example.com:443", "MCP.EXAMPLE.COM", "203.0.113.7:8403"}) {
    EXPECT_EQ(judge_host(published, host), std::nullopt) << host;
  }
  for (const char* host : {"example.com", "evil.mcp.example.com", "mcp.example.com.evil",
                           "localhost:8403", "127.0.0.1:8403", "203.0.113.7"}) {
    EXPECT_EQ(judge_host(published, host), ErrorCode::mcp_host_not_allowed) << host;
  }
}

// RFC 9112 section 3.2.2.
TEST(AccessTest, TheAuthorityOfAnAbsoluteTargetOverrulesHost) {
  const auto refused = [](std::string_view target, std::string_view host) {
    const HeaderField headers[] = {{"Host", host}};
    return Access(local).refusal(headers, target).has_value();
  };
  EXPECT_FALSE(refused("localhost:8403", "evil.example.com"));
  EXPECT_TRUE(refused("evil.example.com", "localhost:8403"));
}

TEST(AccessTest, AProxyOnThisMachineMayUseEitherName) {
  const AccessSettings proxied = {.base_url = "https://mcp.example.com",
                                  .bound_address = "127.0.0.1:8403"};
  for (const char* host : {"mcp.example.com", "127.0.0.1:8403", "localhost:8403"}) {
    EXPECT_EQ(judge_host(proxied, host), std::nullopt) << host;
  }
}

TEST(AccessTest, APortOfTheUrlMustBeTheOneInHost) {
  const AccessSettings settings = {.base_url = "https://mcp.example.com:8443/",
                                   .bound_address = "203.0.113.7:1"};
  EXPECT_EQ(judge_host(settings, "mcp.example.com:8443"), std::nullopt);
  EXPECT_EQ(judge_host(settings, "mcp.example.com"), ErrorCode::mcp_host_not_allowed);
}

TEST(AccessTest, AllowedHostsReplaceTheDefaults) {
  AccessSettings settings = local;
  settings.hosts = {{"mcp.internal", "[2001:db8::1]:1"}};
  for (const char* host : {"mcp.internal", "mcp.internal:9", "[2001:DB8::1]:1"}) {
    EXPECT_EQ(judge_host(settings, host), std::nullopt) << host;
  }
  for (const char* host : {"localhost:8403", "127.0.0.1:8403", "[2001:db8::1]"}) {
    EXPECT_EQ(judge_host(settings, host), ErrorCode::mcp_host_not_allowed) << host;
  }
  settings.hosts = std::vector<std::string>{};
  EXPECT_EQ(judge_host(settings, "127.0.0.1:8403"), ErrorCode::mcp_host_not_allowed);
}

TEST(AccessTest, AStarTurnsTheCheckOff) {
  AccessSettings settings = local;
  settings.hosts = {{"*"}};
  EXPECT_EQ(judge_host(settings, "evil.example.com"), std::nullopt);
  EXPECT_EQ(judge(settings, {}), std::nullopt) << "HTTP/1.0 without Host";
  EXPECT_EQ(judge_origin(settings, "evil.example.com", "https://evil.example.com"),
            ErrorCode::mcp_origin_not_allowed)
      << "the other check is on";
  settings.origins = {{"*"}};
  EXPECT_EQ(judge_origin(settings, "evil.example.com", "https://evil.example.com"), std::nullopt);
  EXPECT_EQ(judge_origin(settings, "evil.example.com", "null"), std::nullopt);
}

TEST(AccessTest, ARequestWithoutHostIsRefused) {
  EXPECT_EQ(judge(local, {}), ErrorCode::mcp_host_not_allowed);
  EXPECT_EQ(judge(local, {{"X-Host", "localhost:8403"}}), ErrorCode::mcp_host_not_allowed);
}

TEST(AccessTest, AbsentOriginIsFineAndForeignOnesAreNot) {
  EXPECT_EQ(judge_host(local, "localhost:8403"), std::nullopt);
  for (const char* origin : {"http://127.0.0.1:8403", "http://localhost:6274", "http://[::1]:1"}) {
    EXPECT_EQ(judge_origin(local, "localhost:8403", origin), std::nullopt) << origin;
  }
  for (const char* origin :
       {"https://evil.example.com", "http://evil.example.com:8403", "null", "",
        "http://localhost.evil.example", "http://127.0.0.1:8403, https://evil.example.com"}) {
    EXPECT_EQ(judge_origin(local, "localhost:8403", origin), ErrorCode::mcp_origin_not_allowed)
        << origin;
  }
}

TEST(AccessTest, PagesOfThisMachineMayNotTalkToAPublishedServer) {
  EXPECT_EQ(judge_origin(published, "mcp.example.com", "https://mcp.example.com"), std::nullopt);
  for (const char* origin : {"http://localhost:6274", "http://mcp.example.com",
                             "https://example.com", "https://mcp.example.com:8443"}) {
    EXPECT_EQ(judge_origin(published, "mcp.example.com", origin), ErrorCode::mcp_origin_not_allowed)
        << origin;
  }
}

TEST(AccessTest, AllowedOriginsReplaceTheDefaults) {
  AccessSettings settings = local;
  settings.origins = {{"https://app.example"}};
  EXPECT_EQ(judge_origin(settings, "localhost:8403", "https://app.example"), std::nullopt);
  EXPECT_EQ(judge_origin(settings, "localhost:8403", "http://localhost:6274"),
            ErrorCode::mcp_origin_not_allowed);
  EXPECT_TRUE(Access(settings).origins().allows("https://app.example")) << "for CORS, the same";
}

TEST(AccessTest, EveryOriginOfARequestMustBeAllowed) {
  const std::vector<HeaderField> good_last = {{"Host", "localhost:8403"},
                                              {"Origin", "https://evil.example.com"},
                                              {"Origin", "http://localhost:6274"}};
  EXPECT_EQ(judge(local, good_last), ErrorCode::mcp_origin_not_allowed);
}

TEST(AccessTest, ARefusalSaysWhatToChangeAndRepeatsNothingHostile) {
  const std::vector<HeaderField> headers = {{"Host", "<evil>"}};
  const auto refusal = Access(local).refusal(headers);
  ASSERT_TRUE(refusal);
  ASSERT_EQ(refusal->fields.size(), 1u);
  EXPECT_EQ(refusal->fields[0].location, "header.host");
  EXPECT_NE(refusal->fields[0].fix.find("hosts.mcp.allowed_hosts"), std::string::npos);
  EXPECT_EQ(refusal->message.find("evil"), std::string::npos);
}

}  // namespace
}  // namespace turnpike::hosts::mcp
