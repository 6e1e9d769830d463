#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

#include <nlohmann/json.hpp>

#include "notices/delivery.h"
#include "notices/endpoint.h"
#include "notices/event.h"

namespace turnpike::notices {
namespace {

constexpr std::int64_t now_ms = 1'800'000'000'000;

Attempt answered(int status) { return {.status = status}; }

// ---- events

TEST(Events, HaveNamesThatAreReadAsTheyAreWritten) {
  for (const EventType type : all_event_types()) {
    EXPECT_EQ(event_type_of(name_of(type)), type) << name_of(type);
    // Required by Standard Webhooks: identifiers of [a-zA-Z0-9_], separated by full stops.
    EXPECT_THAT(std::string(name_of(type)), testing::MatchesRegex("[a-z_]+\\.[a-z_]+"));
  }
  EXPECT_EQ(event_type_of("purchase"), std::nullopt);
}

TEST(Events, HaveTheBodyOfStandardWebhooks) {
  const std::string data = data_of(CreditsLow{"acc_1", 12, 500});
  const auto body = nlohmann::json::parse(body_of(EventType::credits_low, now_ms, data));
  EXPECT_EQ(body, (nlohmann::json{{"type", "credits.low"},
                                  {"timestamp", "2027-01-15T08:00:00.000Z"},
                                  {"data",
                                   {{"billingAccountId", "acc_1"},
                                    {"balance", "12"},
                                    {"threshold", "500"}}}}));
}

TEST(Events, NameNoMorePriceChangesThanFit) {
  PriceChanged event{"acc_1", "gen_1"};
  for (std::size_t at = 0; at < price_changes_named_max + 7; ++at) {
    event.changes.push_back({"route-" + std::to_string(at), "GET", "/v1/x", 1, 2});
  }
  const auto data = nlohmann::json::parse(data_of(event));
  EXPECT_EQ(data["changes"].size(), price_changes_named_max);
  EXPECT_EQ(data["moreChanges"], 7);
  EXPECT_EQ(data["changes"][0]["oldCreditCost"], "1");
  EXPECT_EQ(data["changes"][0]["newCreditCost"], "2");
}

// ---- endpoints

std::string problem_with(const std::string& url, EndpointRules rules = {}) {
  const auto problem = problem_of({.url = url}, rules);
  return problem ? problem->fields.front().problem : "";
}

TEST(Endpoints, TakeHttpsUrlsOfPublicHosts) {
  for (const char* url :
       {"https://example.com/webhooks", "https://example.com", "https://example.com:8443/a?b=c",
        "https://[2001:4860::1]/", "https://1.1.1.1/hook", "https://a_b.example/%20"}) {
    EXPECT_EQ(problem_with(url), "") << url;
  }
}

TEST(Endpoints, RefuseWhatIsNoUrlOfTheirs) {
  for (const char* url :
       {"", "example.com", "ftp://example.com/", "https://", "https:///x",
        "https://u:p@example.com",
        "https://example.com/#f", "https://example.com:0/", "https://example.com:65536/",
        "https://example.com:x/", "https://exa mple.com/", "https://example.com/a b",
        "https://example.com/\r\nx", "https://[::1", "https://example.com/%zz",
        "http://example.com/"}) {
    EXPECT_NE(problem_with(url), "") << url;
  }
  EXPECT_EQ(problem_with("https://example.com/" + std::string(url_bytes_max - 20, 'a')), "");
  EXPECT_NE(problem_with("https://example.com/" + std::string(url_bytes_max - 19, 'a')), "");
}

TEST(Endpoints, RefuseThisMachineAndPrivateNetworks) {
  for (const char* url :
       {"https://127.0.0.1/", "https://10.0.0.1/", "https://172.16.0.1/", "https://192.168.1.1/",
        "https://169.254.169.254/latest", "https://100.64.0.1/", "https://[::1]/",
        "https://[fd00::1]/", "https://[fe80::1]/", "https://localhost/", "https://a.localhost/",
        "https://0.0.0.0/"}) {
    EXPECT_THAT(problem_with(url), testing::HasSubstr("not a public one")) << url;
    EXPECT_EQ(problem_with(url, {.allows_private = true}), "") << url;
  }
}

TEST(Endpoints, TakeHttpNearbyInDevelopmentAlone) {
  const EndpointRules development{.allows_http_nearby = true, .allows_private = true};
  EXPECT_EQ(problem_with("http://127.0.0.1:8080/hook", development), "");
  EXPECT_EQ(problem_with("http://localhost:8080/hook", development), "");
  EXPECT_EQ(problem_with("http://[::1]:8080/hook", development), "");
  EXPECT_NE(problem_with("http://example.com/", development), "");
  EXPECT_NE(problem_with("http://10.0.0.1/", development), "");
  EXPECT_NE(problem_with("http://127.0.0.1/", {.allows_private = true}), "");
  EXPECT_NE(problem_with("http://127.0.0.1/", {.allows_http_nearby = true}), "");
}

TEST(Endpoints, CannotAskForTests) {
  EXPECT_FALSE(problem_of({.types = std::vector{EventType::credits_low}}, {}));
  EXPECT_TRUE(problem_of({.types = std::vector{EventType::endpoint_test}}, {}));
  EXPECT_TRUE(problem_of({.description = std::string(description_characters_max + 1, 'a')}, {}));
  EXPECT_FALSE(problem_of({.description = std::string(description_characters_max, 'a')}, {}));
}

TEST(Endpoints, KeepTheirTypesAsOneText) {
  EXPECT_EQ(types_text({}), "");
  EXPECT_EQ(types_text({EventType::credits_low, EventType::purchase_credited}),
            "purchase.credited credits.low");
  EXPECT_THAT(types_of("purchase.credited credits.low"),
              testing::ElementsAre(EventType::purchase_credited, EventType::credits_low));
  EXPECT_THAT(types_of("later.type credits.low"), testing::ElementsAre(EventType::credits_low));
}

TEST(Endpoints, AreNamedByTheirHostAlone) {
  EXPECT_EQ(host_of("https://example.com:8443/t0ken?k=v"), "example.com");
  EXPECT_EQ(host_of("x"), "");
}

// ---- deliveries

TEST(Attempts, EndWithTheFirst2xx) {
  for (const int status : {200, 201, 204, 299}) {
    EXPECT_EQ(after_attempt(answered(status), 1, now_ms, 0).state, DeliveryState::delivered);
  }
}

TEST(Attempts, EndWithA410ThatDisablesTheEndpoint) {
  EXPECT_EQ(after_attempt(answered(410), 1, now_ms, 0).state, DeliveryState::failed);
  EXPECT_EQ(disabled_by(answered(410), -1, now_ms), DisabledReason::gone);
}

TEST(Attempts, AreRepeatedOnScheduleAndThenGivenUp) {
  constexpr std::uint32_t no_jitter = 200;
  std::int64_t total_ms = 0;
  for (std::uint32_t attempt = 1; attempt <= 7; ++attempt) {
    for (const int status : {0, 199, 301, 404, 429, 500, 503}) {
      const auto after = after_attempt(answered(status), attempt, now_ms, no_jitter);
      EXPECT_EQ(after.state, DeliveryState::pending);
      EXPECT_EQ(after.due_at_ms, now_ms + retry_delays_ms[attempt - 1]) << attempt;
    }
    total_ms += retry_delays_ms[attempt - 1];
  }
  EXPECT_EQ(after_attempt(answered(500), 8, now_ms, no_jitter).state, DeliveryState::failed);
  EXPECT_EQ(total_ms, (5 + 5 * 60 + 30 * 60 + 27 * 3'600) * 1'000);
}

RC_GTEST_PROP(Attempts, AreMovedByAFifthAtMost, (std::uint32_t chance)) {
  const auto attempt = *rc::gen::inRange<std::uint32_t>(1, 8);
  const std::int64_t delay_ms = retry_delays_ms[attempt - 1];
  const auto after = after_attempt(answered(500), attempt, now_ms, chance);
  RC_ASSERT(after.due_at_ms >= now_ms + delay_ms * 8 / 10);
  RC_ASSERT(after.due_at_ms <= now_ms + delay_ms * 12 / 10);
}

TEST(Attempts, WaitAsLongAsTheReceiverAsksForWithinADay) {
  Attempt attempt = answered(503);
  attempt.retry_after_ms = 3'600'000;
  EXPECT_EQ(after_attempt(attempt, 1, now_ms, 200).due_at_ms, now_ms + 3'600'000);
  attempt.retry_after_ms = 1'000;
  EXPECT_EQ(after_attempt(attempt, 1, now_ms, 200).due_at_ms, now_ms + 5'000);
  attempt.retry_after_ms = std::int64_t{1} << 52;
  EXPECT_EQ(after_attempt(attempt, 1, now_ms, 200).due_at_ms, now_ms + retry_after_ms_max);
}

TEST(Attempts, DisableAnEndpointThatFailedForFiveDays) {
  EXPECT_EQ(disabled_by(answered(500), -1, now_ms), DisabledReason::none);
  EXPECT_EQ(disabled_by(answered(500), now_ms - failing_ms_max + 1, now_ms), DisabledReason::none);
  EXPECT_EQ(disabled_by(answered(0), now_ms - failing_ms_max, now_ms), DisabledReason::failing);
  EXPECT_EQ(disabled_by(answered(200), now_ms - failing_ms_max, now_ms), DisabledReason::none);
}

}  // namespace
}  // namespace turnpike::notices
