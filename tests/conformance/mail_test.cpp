// Conformance of MailStore: the outbox, links sent by mail, and notices to people.
#include <algorithm>
#include <set>
#include <thread>

#include "conformance/engines.h"
#include "identity/accounts.h"
#include "identity/mail.h"
#include "identity/people.h"

namespace turnpike::identity {
namespace {

using base::ErrorCode;

constexpr std::int64_t a_minute_ms = 60'000;
constexpr std::int64_t an_hour_ms = 60 * a_minute_ms;
constexpr std::int64_t lease_ms = 5 * a_minute_ms;

crypto::Sha256 link_named(std::string_view text) { return crypto::sha256(text); }

Actor at_address(std::string address) {
  Actor actor;
  actor.address = std::move(address);
  return actor;
}

NewSession session_named(std::string_view token) {
  return {.digest = link_named(token),
          .method = "link",
          .strength = Strength::enrol,
          .valid_ms = SessionLimits().absolute_ms};
}

class MailStoreTest : public OnEveryEngine {
 protected:
  void SetUp() override {
    if (const std::string why = support::missing(GetParam()); !why.empty()) GTEST_SKIP() << why;
    storage::Settings settings = support::patient_settings(2);
    settings.sends_mail = true;
    store_ = std::make_unique<support::TestStore>(GetParam(), settings);
    node_ = store_->open();
  }
  std::string new_person(const std::string& login, const std::string& email = "") {
    const auto person = node_->people().add({login, login, "handle of " + login, email},
                                            std::nullopt, {link_named(login), an_hour_ms},
                                            operator_actor());
    EXPECT_TRUE(person.ok());
    return person->id;
  }
  static Actor actor_of(const std::string& id, const std::string& session = "") {
    return {.principal = "user:" + id,
            .person_id = id,
            .session_id = session,
            .address = "192.0.2.1"};
  }
  std::string begin(const std::string& person_id, const std::string& token) {
    return (*node_->sessions().add(person_id, session_named(token), actor_of(person_id)))->id;
  }
  std::optional<TakenMail> take(std::string_view link = "link") {
    const auto taken = node_->mail().take(link_named(link), lease_ms);
    EXPECT_TRUE(taken.ok()) << taken.error().message;
    return *taken;
  }
  // Proves the person's address with a link sent by mail.
  std::string prove(const std::string& person_id, const std::string& email) {
    const std::string session = begin(person_id, "session of " + person_id);
    EXPECT_TRUE(node_->mail().ask_verification(email, actor_of(person_id, session)).ok());
    const auto taken = take("proof of " + email);
    EXPECT_TRUE(node_->mail().sent(taken->mail).ok());
    EXPECT_TRUE(node_->mail()
                    .verify_email(link_named("proof of " + email),
                                  {.session_id = session, .digest = link_named("next " + email)},
                                  actor_of(person_id, session))
                    .ok());
    return session;
  }
  std::string invite(const std::string& email) {
    const std::string account = Accounts(node_->accounts(), {10, day_ms}).create("Acme")->id;
    const auto made = node_->members().invite(
        {account, email, Role::admin, link_named("shown"), 7 * day_ms}, operator_actor());
    EXPECT_TRUE(made.ok());
    return made->id;
  }
  std::vector<Mail> all() { return *node_->mail().list(true); }
};
TURNPIKE_ON_EVERY_ENGINE(MailStoreTest);

TEST_P(MailStoreTest, OfTwoNodesOneTakesAMail) {
  for (int at = 0; at < 20; ++at) {
    ASSERT_TRUE(node_->mail().ask_sign_up("a" + std::to_string(at) + "@example.org", "A",
                                          at_address(std::to_string(at)))
                    .ok());
  }
  const auto other = store_->open(storage::Role::gateway, "other");
  std::vector<std::string> taken[2];
  const auto take_all = [](storage::Node& node, std::vector<std::string>& ids) {
    for (int misses = 0; misses < 3;) {
      const auto one = node.mail().take(link_named("link" + std::to_string(ids.size()) +
                                                   std::to_string(reinterpret_cast<long>(&ids))),
                                        lease_ms);
      if (one.ok() && one->has_value()) {
        ids.push_back((*one)->mail.id);
      } else {
        ++misses;
      }
    }
  };
  std::thread left([&] { take_all(*node_, taken[0]); });
  std::thread right([&] { take_all(*other, taken[1]); });
  left.join();
  right.join();
  std::set<std::string> different(taken[0].begin(), taken[0].end());
  different.insert(taken[1].begin(), taken[1].end());
  EXPECT_EQ(taken[0].size() + taken[1].size(), 20u);
  EXPECT_EQ(different.size(), 20u);
}

TEST_P(MailStoreTest, AKilledNodesMailIsTakenByAnotherAndItsOwnWordCountsNoMore) {
  new_person("ann", "ann@example.org");
  ASSERT_TRUE(node_->mail().ask_recovery("ann", at_address("a")).ok());
  const auto first = take("first");
  ASSERT_TRUE(first);
  EXPECT_FALSE(take("second"));
  store_->clock.move_ms(lease_ms - 1);
  EXPECT_FALSE(take("second"));
  store_->clock.move_ms(1);
  const auto second = take("second");
  ASSERT_TRUE(second);
  EXPECT_EQ(second->mail.id, first->mail.id);
  EXPECT_EQ(second->mail.tries, 2);
  ASSERT_TRUE(node_->mail().failed(first->mail, "late", std::nullopt).ok());
  EXPECT_EQ(all()[0].outcome, MailOutcome::waiting);
  ASSERT_TRUE(node_->mail().sent(second->mail).ok());
  EXPECT_EQ(all()[0].outcome, MailOutcome::sent);
}

TEST_P(MailStoreTest, WhatFailsIsDueLaterAndIsGivenUpOrTriedAgainByHand) {
  new_person("ann", "ann@example.org");
  ASSERT_TRUE(node_->mail().ask_recovery("ann", at_address("a")).ok());
  ASSERT_TRUE(node_->mail().failed(take()->mail, "451 later", 30'000).ok());
  store_->clock.move_ms(29'999);
  EXPECT_FALSE(take("second"));
  store_->clock.move_ms(1);
  ASSERT_TRUE(node_->mail().failed(take("second")->mail, "550 never", std::nullopt).ok());
  EXPECT_EQ(node_->mail().counts()->given_up, 1);
  EXPECT_EQ(node_->mail().counts()->waiting, 0);
  const auto stuck = node_->mail().list(false);
  ASSERT_EQ(stuck->size(), 1u);
  EXPECT_EQ(stuck->front().problem, "550 never");
  EXPECT_EQ(stuck->front().recipient, "ann@example.org");
  store_->clock.move_ms(2 * an_hour_ms);
  EXPECT_FALSE(take("third"));
  EXPECT_EQ(*node_->mail().retry(stuck->front().id, operator_actor()), 1);
  EXPECT_TRUE(take("third"));
}

TEST_P(MailStoreTest, WhatCouldNotBeSentInTimeIsGivenUp) {
  new_person("ann", "ann@example.org");
  ASSERT_TRUE(node_->mail().ask_recovery("ann", at_address("a")).ok());
  store_->clock.move_ms(an_hour_ms);
  EXPECT_FALSE(take());
  EXPECT_EQ(all()[0].outcome, MailOutcome::given_up);
}

TEST_P(MailStoreTest, ARecoveryIsForWhoProvedAnAddressAndNobodyElse) {  // S16, S18
  new_person("ann", "Ann@example.org");
  new_person("bob");
  const std::string eve = new_person("eve", "eve@example.org");
  ASSERT_TRUE(node_->people().set_disabled(eve, true, operator_actor()).ok());
  for (const char* login : {"nobody", "bob", "eve"}) {
    EXPECT_TRUE(node_->mail().ask_recovery(login, at_address(login)).ok());
  }
  EXPECT_FALSE(take());
  for (const Mail& mail : all()) EXPECT_EQ(mail.outcome, MailOutcome::nobody);
  ASSERT_TRUE(node_->mail().ask_recovery("ann", at_address("a")).ok());
  EXPECT_EQ(take()->mail.recipient, "Ann@example.org");

  // The link signs in once, for ten minutes.
  const auto begun =
      node_->people().sign_in_with_link(link_named("link"), session_named("s"), Actor());
  ASSERT_TRUE(begun.ok());
  EXPECT_EQ(begun->session.method, "recovery");
  EXPECT_EQ(begun->session.strength, Strength::enrol);
  EXPECT_FALSE(
      node_->people().sign_in_with_link(link_named("link"), session_named("t"), Actor()).ok());
  ASSERT_TRUE(node_->mail().ask_recovery("ann", at_address("a")).ok());
  ASSERT_TRUE(take("late"));
  store_->clock.move_ms(MailStore::recovery_ms);
  EXPECT_FALSE(
      node_->people().sign_in_with_link(link_named("late"), session_named("t"), Actor()).ok());
}

TEST_P(MailStoreTest, ThreeRecoveriesAnHourGoToAPersonAndTheAnswerDoesNotTell) {
  new_person("ann", "ann@example.org");
  for (int at = 0; at < 5; ++at) {
    EXPECT_TRUE(node_->mail().ask_recovery("ann", at_address(std::to_string(at))).ok());
  }
  EXPECT_EQ(all().size(), 3u);
  store_->clock.move_ms(an_hour_ms);
  EXPECT_TRUE(node_->mail().ask_recovery("ann", at_address("a")).ok());
  EXPECT_EQ(all().size(), 4u);
}

TEST_P(MailStoreTest, ASourceAsksForTwentyMailsAMinute) {
  for (int at = 0; at < MailStore::asked_a_minute_max; ++at) {
    EXPECT_TRUE(
        node_->mail().ask_recovery("login" + std::to_string(at), at_address("192.0.2.9")).ok());
  }
  const auto refused = node_->mail().ask_recovery("ann", at_address("192.0.2.9"));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::auth_throttled);
  EXPECT_TRUE(node_->mail().ask_recovery("ann", at_address("192.0.2.10")).ok());
}

TEST_P(MailStoreTest, ASignUpMakesPersonAccountAndMembershipOnce) {
  ASSERT_TRUE(node_->mail().ask_sign_up("new@example.org", "New Person", at_address("a")).ok());
  const auto taken = take();
  ASSERT_TRUE(taken && taken->has_link && !taken->is_known_login);
  EXPECT_TRUE(node_->people().list()->empty());
  const auto done = node_->mail().sign_up(link_named("link"), "handle", session_named("s"), {});
  ASSERT_TRUE(done.ok()) << done.error().message;
  const auto person = *node_->people().find_login("new@example.org");
  ASSERT_TRUE(person);
  EXPECT_TRUE(person->is_email_verified);
  EXPECT_EQ(done->account.owner, "user:" + person->id);
  EXPECT_EQ(done->account.status, AccountStatus::provisioning);
  const auto active = Accounts(node_->accounts(), {10, day_ms}).finish(done->account);
  EXPECT_EQ(active->status, AccountStatus::active);
  EXPECT_EQ(sums(active->id).remaining, 10);
  ASSERT_EQ(node_->members().memberships(person->id)->size(), 1u);
  EXPECT_EQ(node_->members().memberships(person->id)->front().role, Role::owner);
  EXPECT_EQ(node_->mail().sign_up(link_named("link"), "h", session_named("t"), {}).error().code,
            ErrorCode::auth_link_ended);
}

TEST_P(MailStoreTest, ASignUpOfAKnownLoginIsAnsweredAlikeAndLetsNobodyIn) {  // S16
  new_person("known@example.org");
  ASSERT_TRUE(node_->mail().ask_sign_up("known@example.org", "Eve", at_address("a")).ok());
  const auto taken = take();
  ASSERT_TRUE(taken);
  EXPECT_TRUE(taken->is_known_login);
  EXPECT_FALSE(taken->has_link);
  EXPECT_FALSE(node_->mail().sign_up(link_named("link"), "h", session_named("t"), {}).ok());
}

TEST_P(MailStoreTest, AnAddressIsProvedByItsOwnPersonAndTheOldOneIsTold) {  // S6
  const std::string ann = new_person("ann");
  const std::string bob = new_person("bob");
  const std::string session = begin(ann, "s");
  ASSERT_TRUE(node_->mail().ask_verification("ann@example.org", actor_of(ann, session)).ok());
  ASSERT_TRUE(node_->mail().sent(take("proof")->mail).ok());
  EXPECT_FALSE((*node_->people().find(ann))->is_email_verified);
  const std::string other = begin(bob, "b");
  const auto stolen = node_->mail().verify_email(
      link_named("proof"), {.session_id = other, .digest = link_named("b2")}, actor_of(bob, other));
  EXPECT_EQ(stolen.error().code, ErrorCode::auth_link_ended);
  // A link that proves an address signs nobody in.
  EXPECT_FALSE(
      node_->people().sign_in_with_link(link_named("proof"), session_named("x"), Actor()).ok());
  ASSERT_TRUE(node_->mail()
                  .verify_email(link_named("proof"),
                                {.session_id = session, .digest = link_named("s2")},
                                actor_of(ann, session))
                  .ok());
  EXPECT_TRUE((*node_->people().find(ann))->is_email_verified);
  // There was no previous address to write to, so the page shows the notice.
  ASSERT_EQ(node_->mail().notices(ann)->size(), 1u);
  EXPECT_EQ(node_->mail().notices(ann)->front().notice, Notice::email_changed);
  ASSERT_TRUE(node_->mail().see_notices(ann, store_->clock.now_ms()).ok());
  EXPECT_TRUE(node_->mail().notices(ann)->empty());

  prove(ann, "other@example.org");
  const auto told = take("unused");
  ASSERT_TRUE(told);
  EXPECT_EQ(told->mail.kind, MailKind::notice);
  EXPECT_EQ(told->mail.recipient, "ann@example.org");
  EXPECT_EQ(told->mail.detail, "other@example.org");
}

TEST_P(MailStoreTest, AnAddressThatWasReplacedIsNotProvedAnyMore) {
  const std::string ann = new_person("ann");
  const std::string session = begin(ann, "s");
  ASSERT_TRUE(node_->mail().ask_verification("one@example.org", actor_of(ann, session)).ok());
  ASSERT_TRUE(take("one"));
  ASSERT_TRUE(node_->mail().ask_verification("two@example.org", actor_of(ann, session)).ok());
  const auto verified = node_->mail().verify_email(
      link_named("one"), {.session_id = session, .digest = link_named("s2")},
      actor_of(ann, session));
  EXPECT_EQ(verified.error().code, ErrorCode::auth_link_ended);
}

TEST_P(MailStoreTest, AnInvitationAndItsMailAreThereOrNeither) {
  invite("ann@example.org");
  ASSERT_EQ(all().size(), 1u);
  EXPECT_EQ(all()[0].recipient, "ann@example.org");
  EXPECT_EQ(all()[0].name, "Acme");
  EXPECT_EQ(all()[0].role, "admin");
  const auto refused = node_->members().invite(
      {"acc_none", "bob@example.org", Role::admin, link_named("x"), day_ms}, operator_actor());
  EXPECT_FALSE(refused.ok());
  EXPECT_EQ(all().size(), 1u);
}

TEST_P(MailStoreTest, AWithdrawnInvitationIsNotMailed) {
  const std::string id = invite("ann@example.org");
  ASSERT_TRUE(node_->members()
                  .withdraw(node_->accounts().list(std::nullopt)->front().id, id, operator_actor())
                  .ok());
  EXPECT_FALSE(take());
}

TEST_P(MailStoreTest, AnInvitationWithAnAddressNeedsThatAddress) {
  invite("Ann@example.org");
  ASSERT_TRUE(take("mailed"));
  const auto stranger =
      node_->people().join(link_named("shown"), {"X", "x", "handle of x"}, session_named("x"), {});
  EXPECT_EQ(stranger.error().code, ErrorCode::account_forbidden);
  const std::string bob = new_person("bob", "bob@example.org");
  EXPECT_EQ(node_->members().accept(link_named("shown"), bob, actor_of(bob)).error().code,
            ErrorCode::account_forbidden);
  const std::string ann = new_person("ann", "ann@example.org");
  EXPECT_TRUE(node_->members().accept(link_named("shown"), ann, actor_of(ann)).ok());
}

TEST_P(MailStoreTest, TheLinkThatWasMailedProvesTheAddressOfAStranger) {
  invite("ann@example.org");
  ASSERT_TRUE(take("mailed"));
  const auto joined = node_->people().join(link_named("mailed"), {"Ann", "ann", "handle of ann"},
                                           session_named("x"), {});
  ASSERT_TRUE(joined.ok()) << joined.error().message;
  const auto person = *node_->people().find(joined->person_id);
  EXPECT_EQ(person->email, "ann@example.org");
  EXPECT_TRUE(person->is_email_verified);
  EXPECT_EQ(node_->people()
                .join(link_named("shown"), {"Eve", "eve", "handle of eve"}, session_named("y"), {})
                .error()
                .code,
            ErrorCode::auth_link_ended);
}

// Without mail, nothing is written to the outbox, and anyone who has the link may accept.
class NoMailTest : public OnEveryEngine {};
TURNPIKE_ON_EVERY_ENGINE(NoMailTest);

TEST_P(NoMailTest, NothingIsQueued) {
  const std::string account = Accounts(node_->accounts(), {10, day_ms}).create("Acme")->id;
  ASSERT_TRUE(node_->members()
                  .invite({account, "ann@example.org", Role::admin, link_named("shown"), day_ms},
                          operator_actor())
                  .ok());
  EXPECT_TRUE(node_->mail().list(true)->empty());
  EXPECT_TRUE(node_->people()
                  .join(link_named("shown"), {"Eve", "eve", "handle"}, session_named("y"), {})
                  .ok());
}

}  // namespace
}  // namespace turnpike::identity
