// Conformance of GrantStore: single use of codes and requests, what ends a grant and its tokens,
// and how both expire.
#include <algorithm>
#include <vector>

#include "base/sources.h"
#include "conformance/engines.h"
#include "identity/accounts.h"
#include "oauth/grant_store.h"

namespace turnpike::oauth {
namespace {

using base::ErrorCode;
using identity::Actor;
using identity::Role;

constexpr std::int64_t minute_ms = 60'000;
constexpr std::int64_t hour_ms = 60 * minute_ms;
constexpr ErrorCode done_as_asked = ErrorCode::request_timeout;  // a code that no store answers

template <class T>
ErrorCode answer_of(const Result<T, base::Error>& result) {
  return result.ok() ? done_as_asked : result.error().code;
}

class GrantStoreTest : public OnEveryEngine {
 protected:
  void SetUp() override {
    OnEveryEngine::SetUp();
    if (IsSkipped()) return;
    account_ = account_with(100);
    person_ = new_person("ann", account_, Role::owner);
    ASSERT_TRUE(node_->grants().add_client(client("cli_a")).ok());
  }
  static Client client(const std::string& id) {
    Client made;
    made.id = id;
    made.metadata = {"Program", {"https://a.example/cb"}, ""};
    return made;
  }
  std::string new_person(const std::string& login, const std::string& account, Role role) {
    const auto made = node_->people().add(
        {login, login, "handle of " + login}, identity::NewMembership{account, role},
        {crypto::sha256(login), hour_ms}, identity::operator_actor());
    EXPECT_TRUE(made.ok());
    return made->id;
  }
  static Actor actor(const std::string& person_id) {
    return {.principal = "user:" + person_id, .person_id = person_id};
  }
  Result<Grant, base::Error> approve(const std::string& code, const std::string& person,
                                     storage::Node& node, const std::string& request = "") {
    return node.grants().approve(
        {request.empty() ? "request of " + code : request, store_->clock.now_ms() + hour_ms},
        {.client_id = "cli_a",
         .redirect_uri = "https://a.example/cb",
         .person_id = person,
         .account_id = account_,
         .caps = {5, std::nullopt},
         .valid_ms = 180 * day_ms,
         .code = crypto::sha256(code),
         .challenge = "challenge",
         .code_valid_ms = minute_ms},
        actor(person));
  }
  static NewTokens tokens(const std::string& name) {
    return {crypto::sha256("at " + name), hour_ms, crypto::sha256("rt " + name), 30 * day_ms};
  }
  static Result<std::int64_t, base::Error> redeem(storage::Node& node, const std::string& code,
                                                  const std::string& name,
                                                  std::string_view challenge = "challenge") {
    return node.grants().redeem(
        {crypto::sha256(code), "cli_a", std::string_view("https://a.example/cb"), challenge},
        tokens(name));
  }
  static Result<Refreshed, base::Error> refresh(storage::Node& node, const std::string& old_name,
                                                const std::string& name) {
    return node.grants().refresh({crypto::sha256("rt " + old_name), "cli_a", "sealed " + name},
                                 tokens(name));
  }
  // A grant whose first tokens have this name.
  Grant granted(const std::string& name) {
    auto grant = approve("code " + name, person_, *node_);
    EXPECT_TRUE(grant.ok()) << grant.error().message;
    EXPECT_TRUE(redeem(*node_, "code " + name, name).ok());
    return *std::move(grant);
  }
  bool lives(const std::string& name) {
    const auto found = node_->grants().find_access(crypto::sha256("at " + name));
    EXPECT_TRUE(found.ok());
    return found->has_value();
  }
  // The number of account-wide changes that nodes are told of while `work` runs.
  template <class F>
  std::size_t changes_by(F&& work) {
    const std::int64_t last = *node_->keys().last_change();
    work();
    const auto changes = *node_->keys().changes_after(last);
    return static_cast<std::size_t>(
        std::count_if(changes.begin(), changes.end(), [&](const identity::KeyChange& change) {
          return change.account_id == account_ && !change.digest;
        }));
  }
  void expect_one(const std::vector<ErrorCode>& answers, ErrorCode of_the_others) {
    EXPECT_EQ(std::count(answers.begin(), answers.end(), done_as_asked), 1);
    EXPECT_EQ(std::count(answers.begin(), answers.end(), of_the_others), std::ssize(answers) - 1);
  }

  std::string account_;
  std::string person_;
};
TURNPIKE_ON_EVERY_ENGINE(GrantStoreTest);

TEST_P(GrantStoreTest, AClientThatRegistersAgainIsTheSame) {  // O24
  const auto first = node_->grants().find_client("cli_a");
  ASSERT_TRUE(first->has_value());
  store_->clock.move_ms(minute_ms);
  const auto again = node_->grants().add_client(client("cli_a"));
  EXPECT_EQ(again->created_at_ms, (*first)->created_at_ms);
  EXPECT_EQ(again->metadata.redirect_uris, std::vector<std::string>{"https://a.example/cb"});
  EXPECT_EQ(node_->grants().clients("")->size(), 1u);
  EXPECT_TRUE(node_->grants().clients("cli_a")->empty());
}

TEST_P(GrantStoreTest, ClientsThatNobodyGrantedAnythingGo) {  // O24
  ASSERT_TRUE(node_->grants().add_client(client("cli_unused")).ok());
  granted("one");
  store_->clock.move_ms(GrantStore::client_unused_ms + 1);
  ASSERT_TRUE(node_->grants().sweep().ok());
  EXPECT_FALSE(node_->grants().find_client("cli_unused")->has_value());
  EXPECT_TRUE(node_->grants().find_client("cli_a")->has_value()) << "one with a grant never goes";
}

TEST_P(GrantStoreTest, ADocumentIsBelievedForAWhile) {  // O25
  const std::string id = "https://app.example/client.json";
  GrantStore& grants = node_->grants();
  const auto found = [&] { return **grants.find_client(id); };
  ASSERT_TRUE(grants.keep_document(id, {"App", {"https://a.example/cb"}, ""}, 5 * minute_ms).ok());
  EXPECT_EQ(found().kind, ClientKind::document);
  EXPECT_EQ((*grants.find_client("cli_a"))->kind, ClientKind::registered);
  store_->clock.move_ms(5 * minute_ms - 1);
  EXPECT_FALSE(found().is_stale);
  store_->clock.move_ms(1);
  EXPECT_TRUE(found().is_stale);
  EXPECT_FALSE((*grants.find_client("cli_a"))->is_stale);
  const std::int64_t created_at_ms = found().created_at_ms;
  ASSERT_TRUE(*grants.set_blocked(id, true, identity::operator_actor()));
  ASSERT_TRUE(
      grants.keep_document(id, {"New", {"https://b.example/cb"}, "https://b.example/"}, day_ms)
          .ok());
  EXPECT_FALSE(found().is_stale);
  EXPECT_EQ(found().metadata.name, "New");
  EXPECT_EQ(found().metadata.uri, "https://b.example/");
  EXPECT_EQ(found().metadata.redirect_uris, std::vector<std::string>{"https://b.example/cb"});
  EXPECT_EQ(found().created_at_ms, created_at_ms);
  EXPECT_TRUE(found().is_blocked) << "what it says of itself does not unblock it";
  EXPECT_EQ(grants.clients("")->size(), 2u);
  EXPECT_TRUE((*grants.clients("cli_a"))[0].is_blocked);
}

TEST_P(GrantStoreTest, ADocumentOfNobodyGoesOnceItIsOld) {  // O24, O25
  const std::string id = "https://app.example/client.json";
  GrantStore& grants = node_->grants();
  ASSERT_TRUE(grants.keep_document(id, {"App", {"https://a.example/cb"}, ""}, minute_ms).ok());
  store_->clock.move_ms(GrantStore::client_unused_ms);
  ASSERT_TRUE(grants.keep_document(id, {"App", {"https://a.example/cb"}, ""}, hour_ms).ok());
  store_->clock.move_ms(hour_ms);
  ASSERT_TRUE(grants.sweep().ok());
  EXPECT_TRUE(grants.find_client(id)->has_value()) << "it was fetched an hour ago";
  store_->clock.move_ms(1);
  ASSERT_TRUE(grants.sweep().ok());
  EXPECT_FALSE(grants.find_client(id)->has_value());
}

TEST_P(GrantStoreTest, ARequestIsDecidedOnce) {  // O13
  expect_one(race([&](storage::Node& node, int at) {
               return answer_of(approve("code" + std::to_string(at), person_, node, "request"));
             }),
             ErrorCode::oauth_request_ended);
  EXPECT_EQ(answer_of(node_->grants().deny({"request", store_->clock.now_ms() + hour_ms}, "cli_a",
                                           actor(person_))),
            ErrorCode::oauth_request_ended);
  EXPECT_EQ(node_->grants().grants(person_, "")->size(), 1u);
}

TEST_P(GrantStoreTest, OnlyWhoMayMakeKeysGivesAccess) {  // S23
  const std::string member = new_person("bob", account_, Role::member);
  EXPECT_EQ(answer_of(approve("code", member, *node_)), ErrorCode::auth_role_missing);
  ASSERT_TRUE(node_->people().set_disabled(person_, true, identity::operator_actor()).ok());
  EXPECT_EQ(answer_of(approve("other", person_, *node_)), ErrorCode::auth_session_ended);
  ASSERT_TRUE(node_->people().set_disabled(person_, false, identity::operator_actor()).ok());
  ASSERT_TRUE(*node_->grants().set_blocked("cli_a", true, identity::operator_actor()));
  EXPECT_EQ(answer_of(approve("third", person_, *node_)), ErrorCode::oauth_invalid_client);
  ASSERT_TRUE(*node_->grants().set_blocked("cli_a", false, identity::operator_actor()));
  EXPECT_EQ(answer_of(approve("third", person_, *node_)), done_as_asked)
      << "a refusal uses nothing up";
}

TEST_P(GrantStoreTest, ACodeIsExchangedOnceWhoeverTries) {  // O7
  ASSERT_TRUE(approve("code", person_, *node_).ok());
  expect_one(race([&](storage::Node& node, int at) {
               return answer_of(redeem(node, "code", std::to_string(at)));
             }),
             ErrorCode::oauth_invalid_grant);
  EXPECT_EQ(lives("0") + lives("1") + lives("2"), 1);
}

TEST_P(GrantStoreTest, ACodeIsWorthNothingAfterAMinute) {  // O7
  ASSERT_TRUE(approve("code", person_, *node_).ok());
  store_->clock.move_ms(minute_ms);
  EXPECT_EQ(answer_of(redeem(*node_, "code", "late")), ErrorCode::oauth_invalid_grant);
}

TEST_P(GrantStoreTest, AReplayThatIsRightEndsTheGrantAndAWrongOneDoesNot) {  // O8
  granted("one");
  store_->clock.move_ms(GrantStore::code_replay_ms);
  EXPECT_EQ(answer_of(redeem(*node_, "code one", "x")), ErrorCode::oauth_invalid_grant);
  EXPECT_TRUE(lives("one")) << "so soon it is a client that got no answer";
  store_->clock.move_ms(1);
  EXPECT_EQ(answer_of(redeem(*node_, "code one", "x", "wrong")), ErrorCode::oauth_invalid_grant);
  EXPECT_TRUE(lives("one")) << "whoever has no verifier ends nothing";
  EXPECT_EQ(changes_by([&] {
              EXPECT_EQ(answer_of(redeem(*node_, "code one", "x")), ErrorCode::oauth_invalid_grant);
            }),
            1u);
  EXPECT_FALSE(lives("one"));
  EXPECT_EQ(answer_of(refresh(*node_, "one", "two")), ErrorCode::oauth_invalid_grant);
}

TEST_P(GrantStoreTest, ARefreshTokenHasOneSuccessor) {  // O17
  granted("one");
  std::string successors[3];
  const auto answers = race([&](storage::Node& node, int at) {
    const auto refreshed = refresh(node, "one", std::to_string(at));
    if (refreshed.ok()) successors[at] = refreshed->sealed_successor;
    return answer_of(refreshed);
  });
  EXPECT_EQ(answers, std::vector(3, done_as_asked));
  // One racer made the successor; the others received what that one sealed.
  int maker = 0;
  while (maker < 2 && !successors[maker].empty()) ++maker;
  for (int at = 0; at < 3; ++at) {
    EXPECT_EQ(successors[at], at == maker ? "" : "sealed " + std::to_string(maker)) << at;
    EXPECT_TRUE(lives(std::to_string(at))) << at;
  }
}

TEST_P(GrantStoreTest, AnOldRefreshTokenIsGoodForAMinuteAndThenATheft) {  // O17
  granted("one");
  ASSERT_TRUE(refresh(*node_, "one", "two").ok());
  store_->clock.move_ms(GrantStore::refresh_grace_ms);
  EXPECT_EQ(refresh(*node_, "one", "three")->sealed_successor, "sealed two");
  store_->clock.move_ms(1);
  EXPECT_EQ(answer_of(refresh(*node_, "one", "four")), ErrorCode::oauth_invalid_grant);
  EXPECT_FALSE(lives("two"));
  EXPECT_EQ(answer_of(refresh(*node_, "two", "five")), ErrorCode::oauth_invalid_grant);
}

TEST_P(GrantStoreTest, AfterItsSuccessorWasUsedATokenIsATheftAtOnce) {  // O17
  granted("one");
  ASSERT_TRUE(refresh(*node_, "one", "two").ok());
  ASSERT_TRUE(refresh(*node_, "two", "three").ok());
  EXPECT_EQ(answer_of(refresh(*node_, "one", "four")), ErrorCode::oauth_invalid_grant);
  EXPECT_FALSE(lives("three"));
}

TEST_P(GrantStoreTest, TimeEndsTokensAndGrants) {  // O18
  const Grant grant = granted("one");
  store_->clock.move_ms(hour_ms - 1);
  EXPECT_TRUE(lives("one"));
  store_->clock.move_ms(1);
  EXPECT_FALSE(lives("one"));
  for (int month = 0; month < 6; ++month) {  // used every 29 days
    store_->clock.move_ms(29 * day_ms);
    const std::string old_name = month == 0 ? "one" : std::to_string(month);
    ASSERT_TRUE(refresh(*node_, old_name, std::to_string(month + 1)).ok()) << month;
  }
  EXPECT_EQ(node_->grants().grants(person_, "")->size(), 1u);
  store_->clock.move_ms(grant.expires_at_ms - store_->clock.now_ms());
  EXPECT_EQ(answer_of(refresh(*node_, "6", "7")), ErrorCode::oauth_invalid_grant);
  EXPECT_TRUE(node_->grants().grants(person_, "")->empty());
}

TEST_P(GrantStoreTest, AGrantThatIsNotUsedForAMonthEnds) {  // O18
  granted("one");
  store_->clock.move_ms(30 * day_ms);
  EXPECT_EQ(answer_of(refresh(*node_, "one", "two")), ErrorCode::oauth_invalid_grant);
  ASSERT_TRUE(node_->grants().sweep().ok());
  EXPECT_EQ(node_->grants().grants(person_, "")->size(), 1u) << "not while it could be under way";
  store_->clock.move_ms(hour_ms);
  ASSERT_TRUE(node_->grants().sweep().ok());
  EXPECT_TRUE(node_->grants().grants(person_, "")->empty());
}

TEST_P(GrantStoreTest, WhatEndsAPersonsRightEndsTheirGrants) {  // O22, S5
  const std::string second = new_person("bob", account_, Role::owner);
  const auto members = [&]() -> identity::MemberStore& { return node_->members(); };
  granted("one");
  EXPECT_EQ(changes_by([&] {
              ASSERT_TRUE(members().set_role(account_, person_, Role::member, actor(second)).ok());
            }),
            1u);
  EXPECT_FALSE(lives("one"));
  ASSERT_TRUE(members().set_role(account_, person_, Role::admin, actor(second)).ok());
  granted("two");
  EXPECT_EQ(
      changes_by([&] { ASSERT_TRUE(members().remove(account_, person_, actor(second)).ok()); }),
      1u);
  EXPECT_FALSE(lives("two"));
  ASSERT_TRUE(members().add({account_, Role::admin}, person_, actor(second)).ok());
  granted("three");
  EXPECT_EQ(
      changes_by([&] {
        ASSERT_TRUE(node_->people().set_disabled(person_, true, identity::operator_actor()).ok());
      }),
      1u);
  EXPECT_FALSE(lives("three"));
}

TEST_P(GrantStoreTest, WhoMayEndAGrant) {  // O21
  const Grant one = granted("one");
  const std::string member = new_person("bob", account_, Role::member);
  const std::string admin = new_person("eve", account_, Role::admin);
  const std::string other = account_with(0);
  GrantStore& grants = node_->grants();
  EXPECT_EQ(answer_of(grants.revoke(one.id, "", account_, actor(member))),
            ErrorCode::auth_role_missing);
  EXPECT_FALSE(*grants.revoke(one.id, member, "", actor(member)));
  EXPECT_FALSE(*grants.revoke(one.id, "", other, actor(admin)));
  EXPECT_TRUE(lives("one"));
  EXPECT_TRUE(*grants.revoke(one.id, "", account_, actor(admin)));
  EXPECT_FALSE(lives("one"));
  EXPECT_FALSE(*grants.revoke(one.id, "", account_, actor(admin))) << "it has ended";
  const Grant two = granted("two");
  EXPECT_TRUE(*grants.revoke(two.id, person_, "", actor(person_)));
  granted("three");
  EXPECT_EQ(changes_by([&] {
              ASSERT_TRUE(*grants.set_blocked("cli_a", true, identity::operator_actor()));
            }),
            1u);
  EXPECT_FALSE(lives("three"));
}

TEST_P(GrantStoreTest, AClientEndsItsOwnTokensAlone) {  // O21
  granted("one");
  GrantStore& grants = node_->grants();
  ASSERT_TRUE(grants.revoke_token(crypto::sha256("at one"), "cli_other").ok());
  ASSERT_TRUE(grants.revoke_token(crypto::sha256("nobody's"), "cli_a").ok());
  EXPECT_TRUE(lives("one"));
  const std::int64_t last = *node_->keys().last_change();
  ASSERT_TRUE(grants.revoke_token(crypto::sha256("at one"), "cli_a").ok());
  const auto changes = *node_->keys().changes_after(last);
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0].digest, crypto::sha256("at one"));
  EXPECT_FALSE(lives("one"));
  ASSERT_TRUE(refresh(*node_, "one", "two").ok()) << "the grant goes on";
  ASSERT_TRUE(grants.revoke_token(crypto::sha256("rt two"), "cli_a").ok());
  EXPECT_FALSE(lives("two"));
  EXPECT_TRUE(grants.grants(person_, "")->empty());
}

TEST_P(GrantStoreTest, ATokenIsWhatItsGrantAndAccountAre) {  // O20, O22
  const Grant grant = granted("one");
  const auto found = *node_->grants().find_access(crypto::sha256("at one"));
  EXPECT_EQ(found->id, grant.id);
  EXPECT_EQ(found->account_id, account_);
  EXPECT_EQ(found->caps.per_day, 5);
  EXPECT_EQ(found->expires_at_ms, store_->clock.now_ms() + hour_ms);
  EXPECT_FALSE(node_->grants().find_access(crypto::sha256("rt one"))->has_value());
  EXPECT_FALSE(node_->grants().find_access(crypto::sha256("code one"))->has_value());
  ASSERT_TRUE(node_->accounts().set_status(account_, identity::AccountStatus::suspended).ok());
  EXPECT_EQ((*node_->grants().find_access(crypto::sha256("at one")))->account_status,
            identity::AccountStatus::suspended);
}

TEST_P(GrantStoreTest, TheNameOfAClientOutlivesItsGrant) {
  const Grant first = granted("a");
  const Grant second = granted("b");
  ASSERT_TRUE(*node_->grants().revoke(first.id, person_, "", actor(person_)));
  const std::vector<std::string> ids = {first.id, second.id, "ogr_none", "key_1"};
  const auto names = node_->grants().client_names(account_, ids);
  ASSERT_TRUE(names.ok());
  EXPECT_EQ(*names,
            (std::map<std::string, std::string>{{first.id, "Program"}, {second.id, "Program"}}));
  EXPECT_TRUE(node_->grants().client_names("acc_other", ids)->empty());
}

TEST_P(GrantStoreTest, CapsAndUsesAreKept) {
  const Grant grant = granted("one");
  GrantStore& grants = node_->grants();
  EXPECT_EQ(changes_by([&] {
              const auto capped = grants.set_caps(grant.id, person_, {7, 70}, actor(person_));
              ASSERT_TRUE(capped.ok() && capped->has_value());
            }),
            1u);
  EXPECT_FALSE(grants.set_caps(grant.id, "usr_other", {}, actor(person_))->has_value());
  const identity::KeyUse uses[] = {{grant.id, 1'000}, {"key_none", 5}};
  ASSERT_TRUE(node_->keys().record_uses(uses).ok());
  const auto listed = *grants.grants("", account_);
  ASSERT_EQ(listed.size(), 1u);
  EXPECT_EQ(listed[0].caps.per_month, 70);
  EXPECT_EQ(listed[0].last_used_at_ms, 1'000);
  EXPECT_EQ(listed[0].client_name, "Program");
}

}  // namespace
}  // namespace turnpike::oauth
