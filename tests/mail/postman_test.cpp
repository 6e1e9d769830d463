// Postman: what becomes of a mail by what the server says.
#include "mail/postman.h"

#include <gtest/gtest.h>

#include <deque>

#include "base/sources.h"
#include "support/kept_log.h"
#include "support/stores.h"

namespace turnpike::mail {
namespace {

using identity::MailOutcome;

// Answers what it was told to, then takes everything.
class ScriptedTransport final : public Transport {
 public:
  Result<Unit, SendFailure> send(const Letter& letter) override {
    letters.push_back(letter);
    if (failures.empty()) return Unit{};
    SendFailure next = failures.front();
    failures.pop_front();
    return next;
  }
  void cancel() noexcept override {}

  std::deque<SendFailure> failures;
  std::vector<Letter> letters;
};

identity::Actor at_address(std::string address) {
  identity::Actor actor;
  actor.address = std::move(address);
  return actor;
}

class PostmanTest : public testing::Test {
 protected:
  PostmanTest() : store_(storage::Engine::sqlite, settings()), node_(store_.open()) {
    (void)node_->people().add({"Ann", "ann", "handle", "ann@example.org"}, std::nullopt,
                              {crypto::sha256("x"), 1'000}, identity::operator_actor());
    (void)node_->mail().ask_recovery("ann", at_address("a"));
  }
  static storage::Settings settings() {
    storage::Settings settings = support::patient_settings(2);
    settings.sends_mail = true;
    return settings;
  }
  bool deliver() { return *postman_.deliver_next(); }
  identity::Mail mail() { return node_->mail().list(true)->front(); }

  support::TestStore store_;
  std::unique_ptr<storage::Node> node_;
  ScriptedTransport transport_;
  support::KeptLog log_;
  std::unique_ptr<base::Metrics> metrics_ = base::make_metrics();
  Postman postman_{{.store = node_->mail(),
                    .transport = transport_,
                    .clock = store_.clock,
                    .random = store_.random,
                    .log = log_,
                    .metrics = *metrics_},
                   {.site = {"Gate", "https://gate.example"}}};
};

TEST_F(PostmanTest, EachTryMakesALinkOfItsOwn) {
  transport_.failures = {{"451 later", "451", false}};
  EXPECT_TRUE(deliver());
  EXPECT_FALSE(deliver());
  store_.clock.move_ms(delay_ms_after(1));
  EXPECT_TRUE(deliver());
  EXPECT_EQ(mail().outcome, MailOutcome::sent);
  ASSERT_EQ(transport_.letters.size(), 2u);
  EXPECT_EQ(transport_.letters[0].id, transport_.letters[1].id);
  EXPECT_NE(transport_.letters[0].text, transport_.letters[1].text);
}

TEST_F(PostmanTest, WhatTheServerNeverTakesIsGivenUpAtOnceWithALine) {
  transport_.failures = {{"550 no such user ann@example.org", "recipient: 550", true}};
  EXPECT_TRUE(deliver());
  EXPECT_EQ(mail().outcome, MailOutcome::given_up);
  ASSERT_TRUE(postman_.count().ok());
  const std::string text = metrics_->text();
  EXPECT_NE(text.find("turnpike_mails_total{outcome=\"given_up\"} 1"), std::string::npos) << text;
  EXPECT_NE(text.find("turnpike_mails_unsent{state=\"given_up\"} 1"), std::string::npos) << text;
  EXPECT_NE(log_.lines().find("mail_given_up"), std::string::npos);
  EXPECT_EQ(log_.lines().find("ann@example.org"), std::string::npos);
}

TEST_F(PostmanTest, WhatCannotBeSentBeforeItIsOfNoUseIsGivenUp) {
  transport_.failures.assign(20, {"away", "away", false});
  for (int at = 0; at < 20; ++at) {
    (void)deliver();
    store_.clock.move_ms(delay_ms_after(at + 1));
  }
  EXPECT_EQ(mail().outcome, MailOutcome::given_up);
  EXPECT_LT(transport_.letters.size(), 10u);  // a recovery is of use for an hour
  EXPECT_NE(log_.lines().find("mail_fails"), std::string::npos);
}

TEST(Delays, GrowToAnHour) {
  EXPECT_EQ(delay_ms_after(1), 30'000);
  EXPECT_EQ(delay_ms_after(2), 60'000);
  EXPECT_EQ(delay_ms_after(7), 30'000 * 64);
  EXPECT_EQ(delay_ms_after(8), 3'600'000);
  EXPECT_EQ(delay_ms_after(100), 3'600'000);
}

}  // namespace
}  // namespace turnpike::mail
