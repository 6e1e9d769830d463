// What check() tells an operator about the configuration at Stripe.
#include "plugins/stripe/world.h"
#include "stripe/events.h"

namespace turnpike::stripe {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class CheckTest : public StripeTest {
 protected:
  static std::string endpoint(const std::string& status = "enabled",
                              const std::string& version = "2026-10-28.endive",
                              std::size_t types = 18) {
    std::string events;
    for (const auto type : event_types().first(types)) {
      events += (events.empty() ? "\"" : ",\"") + std::string(type) + "\"";
    }
    return endpoint_with(events, status, version);
  }
  static std::string endpoint_with(const std::string& events, const std::string& status = "enabled",
                                   const std::string& version = "2026-10-28.endive") {
    return R"({"data":[{"url":"https://other.example/hook","status":"disabled"},)"
           R"({"url":"https://api.example.org/v1/plugins/stripe/webhook","status":")" +
           status + R"(","api_version":")" + version + R"(","enabled_events":[)" + events + "]}]}";
  }
  void answer_key(const char* date = "Mon, 21 Sep 2026 14:13:20 GMT") {
    answer(json(R"({"data":[]})", 200, {{"Date", date}}));
  }
  // The texts of all findings that are wrong.
  std::vector<std::string> wrong() {
    std::vector<std::string> texts;
    for (const Finding& finding : stripe().check(call_)) {
      expect_no_secret(finding.text);
      if (finding.is_wrong) texts.push_back(finding.text);
    }
    return texts;
  }
};

TEST_F(CheckTest, NothingIsWrongWhereAllIsRight) {
  answer_key();
  answer(json(endpoint()));
  EXPECT_THAT(wrong(), IsEmpty());
  EXPECT_EQ(path_sent(0), "/v1/checkout/sessions");
  EXPECT_EQ(path_sent(1), "/v1/webhook_endpoints");
  answer_key();
  answer(json(endpoint_with("\"*\"")));
  EXPECT_THAT(stripe().check(call_), SizeIs(3));
}

TEST_F(CheckTest, AKeyThatDoesNotWorkIsAllThatIsTold) {
  answer(json("{}", 401));
  EXPECT_THAT(wrong(), ElementsAre(HasSubstr("does not know the api_key")));
  answer(refusal(400, R"("type":"invalid_request_error","code":"x")"));
  EXPECT_THAT(wrong(), ElementsAre(HasSubstr("does not work: status 400")));
}

TEST_F(CheckTest, TheEndpointIsHeldToWhatIsNeeded) {
  const std::pair<std::string, const char*> rows[] = {
      {R"({"data":[]})",
       "no webhook endpoint for https://api.example.org/v1/plugins/stripe/webhook"},
      {endpoint("disabled"), "is disabled"},
      {endpoint("enabled", "2020-08-27"), "is not of API version 2026-10-28.endive"},
      {endpoint("enabled", "2026-10-28.endive", 17),
       "these events: payment_method.automatically_"}};
  for (const auto& [body, text] : rows) {
    answer_key();
    answer(json(body));
    EXPECT_THAT(wrong(), ElementsAre(HasSubstr(text)));
  }
}

TEST_F(CheckTest, TheClockIsHeldToStripes) {
  for (const auto& [date, text] : {std::pair{"Mon, 21 Sep 2026 14:14:21 GMT", "61 s behind"},
                                   {"Mon, 21 Sep 2026 14:12:19 GMT", "61 s ahead"}}) {
    answer_key(date);
    answer(json(endpoint()));
    EXPECT_THAT(wrong(), ElementsAre(HasSubstr(text)));
  }
  answer_key("Mon, 21 Sep 2026 14:14:20 GMT");
  answer(json(endpoint()));
  EXPECT_THAT(wrong(), IsEmpty());
}

TEST_F(CheckTest, KeysAndSecretsAreJudged) {
  bind(map({{"api_key", secret("sk_test_topSECRET")}}));
  answer_key();
  answer(json(endpoint()));
  EXPECT_THAT(wrong(), ElementsAre(HasSubstr("restricted key"), HasSubstr("webhook_secrets")));
}

TEST_F(CheckTest, AKeyThatMayNotReadEndpointsIsNotWrong) {
  answer_key();
  answer(refusal(403, R"("type":"invalid_request_error","message":"rak_webhook_read")"));
  EXPECT_THAT(wrong(), IsEmpty());
  answer_key();
  answer(json("{}", 429));
  EXPECT_THAT(wrong(), ElementsAre(HasSubstr("was not looked at")));
}

TEST_F(CheckTest, TheTraitsSayWhatItCanDo) {
  const ProcessorTraits traits = StripeProcessor().traits();
  EXPECT_EQ(traits.name, "stripe");
  EXPECT_TRUE(traits.hosts_checkout && traits.charges_saved && traits.refunds &&
              traits.has_documents && traits.lists_changes);
  EXPECT_FALSE(traits.is_confirmed_by_operator);
}

}  // namespace
}  // namespace turnpike::stripe
