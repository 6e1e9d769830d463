#include "stripe/settings.h"

#include "plugins/stripe/world.h"

namespace turnpike::stripe {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class SettingsTest : public StripeTest {
 protected:
  std::vector<Mistake> mistakes_of(const Settings& settings,
                                   std::string_view environment = "development") {
    const auto bound = try_bind(settings, environment);
    if (bound.ok()) return {};
    expect_no_secret(bound.error().message + bound.error().where);
    EXPECT_EQ(bound.error().kind, FailureKind::invalid_settings);
    return split_mistakes(bound.error());
  }
  void expect_mistake(const Settings& settings, const std::string& where, const std::string& text,
                      std::string_view environment = "development") {
    const auto found = mistakes_of(settings, environment);
    ASSERT_EQ(found.size(), 1U) << where << " " << text;
    EXPECT_EQ(found[0].where, where);
    EXPECT_THAT(found[0].message, HasSubstr(text));
  }
  [[nodiscard]] std::vector<std::string> noted() const {
    std::vector<std::string> places;
    for (const Note& note : notes_) {
      expect_no_secret(note.message);
      places.push_back(note.where);
    }
    return places;
  }
};

TEST_F(SettingsTest, TheLeastIsAKeyAndASecret) {
  EXPECT_THAT(mistakes_of(with({})), IsEmpty());
  EXPECT_THAT(noted(), IsEmpty());
  Mistakes mistakes;
  const StripeSettings read = read_settings(with({}), "development", mistakes, notes_);
  EXPECT_EQ(read.api_key, key);
  EXPECT_THAT(read.webhook_secrets, ElementsAre(webhook_secret));
  EXPECT_THAT(read.payment_methods, ElementsAre("card"));
  EXPECT_FALSE(read.computes_tax);
  EXPECT_TRUE(read.makes_invoices);
  EXPECT_EQ(read.api_base, "https://api.stripe.com");
  EXPECT_FALSE(read.is_own_base);
}

TEST_F(SettingsTest, AllIsRead) {
  Mistakes mistakes;
  const StripeSettings read =
      read_settings(with({{"api_key", secret("sk_test_a\n")},
                          {"webhook_secrets", list({secret("whsec_a\r\n"), secret("whsec_b")})},
                          {"payment_methods", list({scalar("card"), scalar("sepa_debit")})},
                          {"tax", scalar("automatic")},
                          {"invoices", scalar("false")},
                          {"api_base", scalar("http://127.0.0.1:8080")}}),
                    "development", mistakes, notes_);
  EXPECT_TRUE(mistakes.none());
  EXPECT_EQ(read.api_key, "sk_test_a");
  EXPECT_THAT(read.webhook_secrets, ElementsAre("whsec_a", "whsec_b"));
  EXPECT_THAT(read.payment_methods, ElementsAre("card", "sepa_debit"));
  EXPECT_TRUE(read.computes_tax);
  EXPECT_FALSE(read.makes_invoices);
  EXPECT_EQ(read.api_base, "http://127.0.0.1:8080");
  EXPECT_TRUE(read.is_own_base);
}

TEST_F(SettingsTest, LiveKeysAreForProductionAlone) {
  for (const std::string kind : {"sk", "rk"}) {
    const Settings live = with({{"api_key", secret(kind + "_live_SECRET")}});
    const Settings test = with({{"api_key", secret(kind + "_test_SECRET")}});
    EXPECT_THAT(mistakes_of(live, "production"), IsEmpty());
    expect_mistake(test, "api_key", "test key", "production");
    for (const char* environment : {"development", "staging"}) {
      EXPECT_THAT(mistakes_of(test, environment), IsEmpty());
      expect_mistake(live, "api_key", "live key", environment);
    }
  }
}

TEST_F(SettingsTest, KeysThatMayDoEverythingAreNoted) {
  EXPECT_THAT(mistakes_of(with({{"api_key", secret("sk_test_SECRET")}})), IsEmpty());
  EXPECT_THAT(noted(), ElementsAre("api_key"));
  EXPECT_THAT(notes_[0].message, HasSubstr("restricted key"));
}

TEST_F(SettingsTest, SecretsThatAreNotAvailableAreNoted) {
  EXPECT_THAT(mistakes_of(with({{"api_key", secret("")},
                                {"webhook_secrets", list({secret(""), secret("whsec_a")})}})),
              IsEmpty());
  EXPECT_THAT(noted(), ElementsAre("api_key", "webhook_secrets[0]"));
  BoundProcessor& bound = bind(with({{"api_key", secret("")}}));
  const auto begun = bound.begin(order(), call_);
  ASSERT_FALSE(begun.ok());
  EXPECT_EQ(begun.error().kind, FailureKind::credential);
  EXPECT_FALSE(begun.error().maybe_sent);
  EXPECT_THAT(host_.seen, IsEmpty());
}

TEST_F(SettingsTest, WithoutWebhooksItWorksAndSaysSo) {
  EXPECT_THAT(mistakes_of(map({{"api_key", secret(key)}})), IsEmpty());
  EXPECT_THAT(noted(), ElementsAre("webhook_secrets"));
}

TEST_F(SettingsTest, KeysOfOtherFormsAreRefused) {
  expect_mistake(map({{"webhook_secrets", list({secret("whsec_a")})}}), "api_key", "is required");
  expect_mistake(with({{"api_key", scalar(key)}}), "api_key", "{secret:");
  for (const std::string& other :
       {std::string("pk_test_SECRET"), std::string("whsec_SECRET"),
        std::string("sk_org_live_SECRET"), std::string("rk_test_SECRET key"),
        std::string("rk_test_SECRET\nX: y"), "rk_test_" + std::string(248, 'x')}) {
    expect_mistake(with({{"api_key", secret(other)}}), "api_key", "no secret or restricted key");
  }
  EXPECT_THAT(mistakes_of(with({{"api_key", secret("rk_test_" + std::string(247, 'x'))}})),
              IsEmpty());
}

TEST_F(SettingsTest, SecretsOfOtherFormsAreRefused) {
  expect_mistake(with({{"webhook_secrets", secret("whsec_SECRET")}}), "webhook_secrets",
                 "a list of 1 to 8");
  expect_mistake(with({{"webhook_secrets", list({})}}), "webhook_secrets", "a list of 1 to 8");
  expect_mistake(
      with({{"webhook_secrets", list(std::vector<Settings>(9, secret("whsec_SECRET")))}}),
      "webhook_secrets", "a list of 1 to 8");
  EXPECT_THAT(mistakes_of(with(
                  {{"webhook_secrets", list(std::vector<Settings>(8, secret("whsec_SECRET")))}})),
              IsEmpty());
  expect_mistake(with({{"webhook_secrets", list({scalar("whsec_a")})}}), "webhook_secrets[0]",
                 "{secret:");
  expect_mistake(with({{"webhook_secrets", list({secret("whsec_a"), secret("rk_test_SECRET")})}}),
                 "webhook_secrets[1]", "whsec_");
}

TEST_F(SettingsTest, OtherMistakesAreRefusedInTheirPlaces) {
  expect_mistake(with({{"api_kee", scalar("x")}}), "api_kee", "api_key");
  expect_mistake(with({{"tax", scalar("always")}}), "tax", "none or automatic");
  expect_mistake(with({{"invoices", scalar("yes")}}), "invoices", "true or false");
  expect_mistake(with({{"payment_methods", scalar("card")}}), "payment_methods", "a list");
  expect_mistake(with({{"payment_methods", list({})}}), "payment_methods", "a list");
  expect_mistake(with({{"payment_methods", list({scalar("card"), scalar("Card")})}}),
                 "payment_methods[1]", "as Stripe names it");
  expect_mistake(with({{"payment_methods", list({scalar("card"), scalar("card")})}}),
                 "payment_methods[1]", "twice");
  expect_mistake(scalar("stripe"), "", "a map");
}

TEST_F(SettingsTest, AnotherBaseIsForDevelopmentAlone) {
  const auto base = [](const char* url) { return with({{"api_base", scalar(url)}}); };
  for (const char* environment : {"staging", "production"}) {
    const Settings settings =
        with({{"api_base", scalar("http://127.0.0.1:1")},
              {"api_key", secret(std::string(environment) == "staging" ? key : "rk_live_x")}});
    expect_mistake(settings, "api_base", "for tests", environment);
  }
  for (const char* url :
       {"", "127.0.0.1:1", "http://127.0.0.1:1/", "http://127.0.0.1:1/v1", "ftp://127.0.0.1",
        "http://", "http://a@b", "http://a b", "http://a\\b"}) {
    expect_mistake(base(url), "api_base", "scheme, host and port");
  }
  EXPECT_THAT(mistakes_of(base("https://[::1]:12")), IsEmpty());
}

TEST_F(SettingsTest, AllMistakesAreToldAtOnce) {
  EXPECT_EQ(mistakes_of(map({{"tax", scalar("x")}, {"other", scalar("x")}})).size(), 3U);
}

TEST(Origin, IsWhatStandsBeforeThePath) {
  EXPECT_EQ(origin_of("https://pay.stripe.com/receipts/x?y#z"), "https://pay.stripe.com");
  EXPECT_EQ(origin_of("https://a.b:12?x"), "https://a.b:12");
  // Browsers treat '\' as '/'.
  EXPECT_EQ(origin_of("https://evil.example\\.stripe.com/"), "https://evil.example");
  for (const char* url : {"", "https://", "https:///x", "https://a@b/", "javascript:x", "//a/b",
                          "https://a\tb/", "https://\xc3\xa4.com/"}) {
    EXPECT_EQ(origin_of(url), "") << url;
  }
}

}  // namespace
}  // namespace turnpike::stripe
