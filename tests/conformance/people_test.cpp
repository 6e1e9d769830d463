// Conformance of PeopleStore, SessionStore, MemberStore and AuditStore.
#include <algorithm>
#include <vector>

#include "base/sources.h"
#include "conformance/engines.h"
#include "identity/accounts.h"
#include "identity/people.h"
#include "identity/sessions.h"
#include "identity/token.h"
#include "support/soft_authenticator.h"

namespace turnpike::identity {
namespace {

using base::ErrorCode;

constexpr std::int64_t minute_ms = 60'000;
const SessionLimits limits;

crypto::Sha256 digest_of(std::string_view text) { return crypto::sha256(text); }

NewSession session_with(std::string_view token,
                        SessionTransport transport = SessionTransport::cookie) {
  return {.digest = digest_of(token),
          .transport = transport,
          .method = "link",
          .strength = Strength::multi,
          .valid_ms = limits.absolute_ms,
          .step_up_ms = limits.step_up_ms};
}

class PeopleStoreTest : public OnEveryEngine {
 protected:
  std::string new_account() { return Accounts(node_->accounts(), {10, day_ms}).create("Acme")->id; }
  // A person with a sign-in link whose token is the login.
  std::string new_person(const std::string& login) {
    const auto person = node_->people().add({login, login, "handle of " + login}, std::nullopt,
                                            {digest_of(login), 60 * minute_ms}, operator_actor());
    EXPECT_TRUE(person.ok()) << person.error().message;
    return person->id;
  }
  std::string member(const std::string& account, const std::string& login, Role role) {
    const std::string id = new_person(login);
    EXPECT_TRUE(node_->members().add({account, role}, id, operator_actor()).ok());
    return id;
  }
  static Actor person(const std::string& id) {
    return {.principal = "user:" + id, .person_id = id, .address = "192.0.2.1"};
  }
  bool goes_on(std::string_view token) {
    return node_->sessions().find(digest_of(token), "", limits)->has_value();
  }
};
TURNPIKE_ON_EVERY_ENGINE(PeopleStoreTest);

constexpr ErrorCode as_asked = ErrorCode::request_timeout;  // a code that no store answers

template <class T>
ErrorCode outcome_of(const Result<T, base::Error>& result) {
  return result.ok() ? as_asked : result.error().code;
}

// Expects that `done` racers succeeded and the others were refused with `of_the_others`.
void expect_done(std::ptrdiff_t done, const std::vector<ErrorCode>& answers,
                 ErrorCode of_the_others) {
  EXPECT_EQ(std::count(answers.begin(), answers.end(), as_asked), done);
  EXPECT_EQ(std::count(answers.begin(), answers.end(), of_the_others), std::ssize(answers) - done);
}

TEST_P(PeopleStoreTest, ALinkIsUsedOnceWhoeverTries) {
  new_person("ann");
  expect_done(1, race([&](storage::Node& node, int at) {
                return outcome_of(node.people().sign_in_with_link(
                    digest_of("ann"), session_with("token" + std::to_string(at)), {}));
              }),
              ErrorCode::auth_link_ended);
  EXPECT_EQ(goes_on("token0") + goes_on("token1") + goes_on("token2"), 1);
}

TEST_P(PeopleStoreTest, ALinkEndsWithItsTime) {
  new_person("ann");
  store_->clock.move_ms(60 * minute_ms);
  EXPECT_EQ(outcome_of(node_->people().sign_in_with_link(digest_of("ann"), session_with("t"), {})),
            ErrorCode::auth_link_ended);
}

TEST_P(PeopleStoreTest, ALoginIsTakenOnceAndTheRefusedOneLeavesNothing) {
  const std::string account = new_account();
  new_person("ann");
  const auto again =
      node_->people().add({"Ann", "ann", "another handle"}, NewMembership{account, Role::owner},
                          {digest_of("another"), minute_ms}, operator_actor());
  EXPECT_EQ(outcome_of(again), ErrorCode::identity_login_taken);
  EXPECT_EQ(node_->people().list()->size(), 1u);
  EXPECT_TRUE(node_->members().members(account)->empty());
}

TEST_P(PeopleStoreTest, ASessionEndsWhenItIsIdleAndAtTheLatestAfterItsTime) {
  const std::string id = new_person("ann");
  ASSERT_TRUE(node_->sessions().add(id, session_with("idle"), person(id)).ok());
  store_->clock.move_ms(limits.idle_ms - 1);
  EXPECT_TRUE(goes_on("idle"));  // this use counts as activity
  store_->clock.move_ms(limits.idle_ms - 1);
  EXPECT_TRUE(goes_on("idle"));
  store_->clock.move_ms(limits.idle_ms);
  EXPECT_FALSE(goes_on("idle"));

  ASSERT_TRUE(node_->sessions().add(id, session_with("busy"), person(id)).ok());
  const std::int64_t step_ms = limits.idle_ms / 2;
  for (std::int64_t at_ms = step_ms; at_ms < limits.absolute_ms; at_ms += step_ms) {
    store_->clock.move_ms(step_ms);
    EXPECT_TRUE(goes_on("busy")) << at_ms;
  }
  store_->clock.move_ms(step_ms);
  EXPECT_FALSE(goes_on("busy"));
}

TEST_P(PeopleStoreTest, AStepUpLastsForItsTime) {
  const std::string id = new_person("ann");
  ASSERT_TRUE(node_->sessions().add(id, session_with("t"), person(id)).ok());
  store_->clock.move_ms(limits.step_up_ms - 1);
  EXPECT_TRUE((*node_->sessions().find(digest_of("t"), "", limits))->is_stepped_up);
  store_->clock.move_ms(1);
  EXPECT_FALSE((*node_->sessions().find(digest_of("t"), "", limits))->is_stepped_up);
}

TEST_P(PeopleStoreTest, APersonHasFiftySessionsAndTheOldestEnds) {
  const std::string id = new_person("ann");
  for (int at = 0; at < 51; ++at) {
    store_->clock.move_ms(1);
    ASSERT_TRUE(node_->sessions().add(id, session_with("t" + std::to_string(at)), person(id)).ok());
  }
  EXPECT_EQ(node_->sessions().list(id, limits)->size(), 50u);
  EXPECT_FALSE(goes_on("t0"));
  EXPECT_TRUE(goes_on("t1"));
  EXPECT_TRUE(goes_on("t50"));
}

class PasskeyStoreTest : public PeopleStoreTest {
 protected:
  Passkey new_passkey(const std::string& person_id, const std::string& credential) {
    Passkey passkey;
    passkey.person_id = person_id;
    passkey.facts.credential_id = credential;
    passkey.facts.key = support::SoftAuthenticator(crypto::PasskeyAlgorithm::es256).key();
    passkey.facts.transports = {"internal", "usb"};
    passkey.rp_id = "localhost";
    passkey.name = "Laptop";
    return passkey;
  }
  std::string begin(const std::string& person_id, const std::string& token) {
    return (*node_->sessions().add(person_id, session_with(token), person(person_id)))->id;
  }
  static RenewedSession renewed(const std::string& session_id, std::string_view token) {
    return {.session_id = session_id, .digest = digest_of(token), .method = "passkey"};
  }
  UsedCeremony ceremony(const std::string& id) const {
    return {id, store_->clock.now_ms() + 5 * minute_ms};
  }
};
TURNPIKE_ON_EVERY_ENGINE(PasskeyStoreTest);

TEST_P(PasskeyStoreTest, APasskeyIsKeptAsItIsAndRenewsTheSession) {  // S2
  const std::string id = new_person("ann");
  const std::string session = begin(id, "before");
  const Passkey wanted = new_passkey(id, std::string("\0\xFF id", 5));
  EXPECT_TRUE(node_->people().passkey_domains()->empty());
  const auto made =
      node_->people().add_passkey(ceremony("c"), wanted, renewed(session, "after"), person(id));
  ASSERT_TRUE(made.ok()) << made.error().message;
  const auto found = node_->people().find_passkey(wanted.facts.credential_id);
  ASSERT_TRUE(found.ok() && found->has_value());
  EXPECT_EQ((*found)->passkey.facts.key, wanted.facts.key);
  EXPECT_EQ(*node_->people().passkey_domains(), std::vector<std::string>{wanted.rp_id});
  EXPECT_EQ((*found)->passkey.facts.transports, wanted.facts.transports);
  EXPECT_EQ((*found)->person.webauthn_handle, "handle of ann");
  EXPECT_TRUE(goes_on("after"));
  const auto tail = node_->sessions().find(digest_of("before"), "", limits);
  ASSERT_TRUE((*tail).has_value());
  EXPECT_TRUE((*tail)->is_of_old_token);
  store_->clock.move_ms(10'000);
  EXPECT_FALSE(goes_on("before"));
  EXPECT_TRUE(goes_on("after"));
}

TEST_P(PasskeyStoreTest, ACeremonyIsAnsweredOnce) {  // S20
  const std::string id = new_person("ann");
  const std::string session = begin(id, "t");
  const auto made = node_->people().add_passkey(ceremony("first"), new_passkey(id, "cred"),
                                                renewed(session, "u"), person(id));
  ASSERT_TRUE(made.ok());
  expect_done(1, race([&](storage::Node& node, int at) {
                return outcome_of(node.people().sign_in_with_passkey(
                    ceremony("second"), made->id, {.sign_count = 1, .is_backed_up = false},
                    session_with("race" + std::to_string(at)), {}));
              }),
              ErrorCode::auth_ceremony_ended);
}

TEST_P(PasskeyStoreTest, ACredentialIsOfOnePersonAndARefusedOneUsesNothingUp) {  // S26
  const std::string ann = new_person("ann");
  const std::string bob = new_person("bob");
  const std::string of_ann = begin(ann, "ann token");
  const std::string of_bob = begin(bob, "bob token");
  ASSERT_TRUE(node_->people()
                  .add_passkey(ceremony("a"), new_passkey(ann, "cred"), renewed(of_ann, "ann2"),
                               person(ann))
                  .ok());
  EXPECT_EQ(outcome_of(node_->people().add_passkey(ceremony("b"), new_passkey(bob, "cred"),
                                                   renewed(of_bob, "bob2"), person(bob))),
            ErrorCode::auth_passkey_rejected);
  EXPECT_TRUE(node_->people()
                  .add_passkey(ceremony("b"), new_passkey(bob, "other"), renewed(of_bob, "bob2"),
                               person(bob))
                  .ok());
}

TEST_P(PasskeyStoreTest, TheLastCredentialStays) {
  const std::string id = new_person("ann");
  const std::string session = begin(id, "t");
  std::vector<std::string> passkeys;
  for (const char* name : {"one", "two", "three"}) {
    passkeys.push_back(
        node_->people()
            .add_passkey(ceremony(name), new_passkey(id, name), renewed(session, name), person(id))
            ->id);
  }
  expect_done(2, race([&](storage::Node& node, int at) {
                return outcome_of(node.people().remove_passkey(
                    id, passkeys[static_cast<std::size_t>(at)],
                    renewed(session, "gone" + std::to_string(at)), person(id)));
              }),
              ErrorCode::identity_last_credential);
  EXPECT_EQ(node_->people().passkeys(id)->size(), 1u);
}

TEST_P(PasskeyStoreTest, WhoIsDisabledSignsInNoMoreAndHasNoSession) {  // S5
  const std::string id = new_person("ann");
  const std::string session = begin(id, "t");
  const auto made = node_->people().add_passkey(ceremony("c"), new_passkey(id, "cred"),
                                                renewed(session, "u"), person(id));
  ASSERT_TRUE(node_->people().set_disabled(id, true, operator_actor()).ok());
  EXPECT_FALSE(goes_on("u"));
  EXPECT_EQ(outcome_of(node_->people().sign_in_with_passkey(
                ceremony("d"), made->id, {.sign_count = 1, .is_backed_up = false},
                session_with("v"), {})),
            ErrorCode::auth_sign_in_failed);
  EXPECT_FALSE((*node_->sessions().add(id, session_with("w"), person(id))).has_value());
  ASSERT_TRUE(node_->people().set_disabled(id, false, operator_actor()).ok());
  EXPECT_FALSE(goes_on("u"));
}

TEST_P(PeopleStoreTest, OwnersCannotAllLeave) {
  const std::string account = new_account();
  const std::string owners[] = {member(account, "ann", Role::owner),
                                member(account, "bob", Role::owner),
                                member(account, "cyd", Role::owner)};
  expect_done(2, race([&](storage::Node& node, int at) {
                return outcome_of(node.members().remove(account, owners[at], person(owners[at])));
              }),
              ErrorCode::identity_last_owner);
}

TEST_P(PeopleStoreTest, AFounderOwnsTheAccountAndHasOneStarterGrant) {
  const std::string id = new_person("ann");
  Accounts accounts(node_->accounts(), {10, day_ms});
  const auto first = accounts.create_for("First", {id, person(id)});
  const auto second = accounts.create_for("Second", {id, person(id)});
  ASSERT_TRUE(first.ok() && second.ok());
  const auto memberships = node_->members().memberships(id);
  ASSERT_EQ(memberships->size(), 2u);
  for (const Membership& one : *memberships) EXPECT_EQ(one.role, Role::owner);
  EXPECT_EQ(node_->ledger().balance(first->id)->credits, 10);
  EXPECT_EQ(node_->ledger().balance(second->id)->credits, 0);
  EXPECT_FALSE(accounts.create_for("Nobody's", {"usr_none", person("usr_none")}).ok());
  EXPECT_EQ(node_->accounts().list(std::nullopt)->size(), 2u);
}

TEST_P(PeopleStoreTest, AnOwnerWhoIsDisabledDoesNotCount) {
  const std::string account = new_account();
  const std::string ann = member(account, "ann", Role::owner);
  const std::string bob = member(account, "bob", Role::owner);
  ASSERT_TRUE(node_->people().set_disabled(bob, true, operator_actor()).ok());
  EXPECT_EQ(outcome_of(node_->members().set_role(account, ann, Role::admin, person(ann))),
            ErrorCode::identity_last_owner);
}

TEST_P(PeopleStoreTest, ARoleThatWasTakenAwayIsMissedInTheChangeItself) {  // S23
  const std::string account = new_account();
  member(account, "owner", Role::owner);
  const std::string admin = member(account, "admin", Role::admin);
  ApiKeys keys(node_->keys(), Environment::development, store_->random);
  const KeyEditor editor{person(admin), account};
  const auto key = keys.create(account, "k", editor);
  ASSERT_TRUE(key.ok());
  ASSERT_TRUE(node_->members().set_role(account, admin, Role::member, operator_actor()).ok());
  EXPECT_EQ(outcome_of(keys.create(account, "l", editor)), ErrorCode::auth_role_missing);
  EXPECT_EQ(outcome_of(keys.revoke(key->key.id, editor)), ErrorCode::auth_role_missing);
  ASSERT_TRUE(node_->members().remove(account, admin, operator_actor()).ok());
  EXPECT_EQ(outcome_of(keys.change(key->key.id, {.name = "m"}, editor)),
            ErrorCode::account_forbidden);
  EXPECT_EQ(keys.list(account)->front().name, "k");
  EXPECT_FALSE(keys.list(account)->front().revoked_at_ms);
}

TEST_P(PeopleStoreTest, AnInvitationIsAcceptedOnce) {
  const std::string account = new_account();
  member(account, "owner", Role::owner);
  const std::string guests[] = {new_person("ann"), new_person("bob"), new_person("cyd")};
  ASSERT_TRUE(
      node_->members()
          .invite({account, "", Role::admin, digest_of("invitation"), minute_ms}, operator_actor())
          .ok());
  expect_done(1, race([&](storage::Node& node, int at) {
                return outcome_of(
                    node.members().accept(digest_of("invitation"), guests[at], person(guests[at])));
              }),
              ErrorCode::auth_link_ended);
  EXPECT_EQ(node_->members().members(account)->size(), 2u);
}

TEST_P(PeopleStoreTest, AMemberWhoAcceptsLeavesTheInvitationToOthers) {
  const std::string account = new_account();
  const std::string owner = member(account, "owner", Role::owner);
  const auto accept = [&](const std::string& who) {
    return outcome_of(node_->members().accept(digest_of("invitation"), who, person(who)));
  };
  ASSERT_TRUE(
      node_->members()
          .invite({account, "", Role::member, digest_of("invitation"), minute_ms}, person(owner))
          .ok());
  EXPECT_EQ(accept(owner), ErrorCode::identity_already_member);
  EXPECT_EQ(accept(new_person("bob")), as_asked);
}

TEST_P(PeopleStoreTest, AnInvitationEndsWithItsTime) {
  const std::string account = new_account();
  ASSERT_TRUE(
      node_->members()
          .invite({account, "", Role::member, digest_of("invitation"), minute_ms}, operator_actor())
          .ok());
  store_->clock.move_ms(minute_ms);
  EXPECT_TRUE(node_->members().invitations(account)->empty());
  const std::string bob = new_person("bob");
  EXPECT_EQ(outcome_of(node_->members().accept(digest_of("invitation"), bob, person(bob))),
            ErrorCode::auth_link_ended);
}

TEST_P(PeopleStoreTest, TriesAreCountedInTheirWindow) {
  AuditStore& audit = node_->audit();
  for (int at = 0; at < 3; ++at) {
    EXPECT_EQ(*audit.throttled("key", minute_ms, 3), 0u);
    EXPECT_EQ(*audit.count_try("key", minute_ms), at + 1);
  }
  const std::uint32_t wait_seconds = *audit.throttled("key", minute_ms, 3);
  EXPECT_GT(wait_seconds, 0u);
  EXPECT_EQ(*audit.throttled("another", minute_ms, 3), 0u);
  store_->clock.move_ms(wait_seconds * 1'000);
  EXPECT_EQ(*audit.throttled("key", minute_ms, 3), 0u);
}

TEST_P(PeopleStoreTest, AuditEventsAreKeptAsLongAsTheOperatorSays) {
  AuditStore& audit = node_->audit();
  const auto count = [&] { return audit.list({.limit = 10'000})->size(); };
  constexpr std::size_t more_than_a_step = 1'001;
  const std::size_t before = count();
  for (std::size_t at = 0; at < more_than_a_step; ++at) {
    ASSERT_TRUE(audit.record({.actor = operator_actor(), .action = "old"}).ok());
  }
  store_->clock.move_ms(10 * minute_ms);
  ASSERT_TRUE(audit.record({.actor = operator_actor(), .action = "new"}).ok());
  EXPECT_EQ(*audit.sweep(11 * minute_ms), 0);
  EXPECT_EQ(*audit.sweep(10 * minute_ms), 0);
  EXPECT_EQ(count(), before + more_than_a_step + 1);
  EXPECT_EQ(*audit.sweep(10 * minute_ms - 1), static_cast<std::int64_t>(before + more_than_a_step));
  ASSERT_EQ(count(), 1u);
  EXPECT_EQ(audit.list({})->front().action, "new");
}

TEST_P(PeopleStoreTest, EventsAreFoundByWhoAndWhatAndByThePersonTheyAreAbout) {
  AuditStore& audit = node_->audit();
  const auto record = [&](const char* actor, const char* account, const char* action,
                          const char* target) {
    ASSERT_TRUE(audit
                    .record({.actor = {.principal = actor},
                             .account_id = account,
                             .action = action,
                             .target = target})
                    .ok());
  };
  record("user:usr_a", "acc_1", "key.create", "key_1");
  record("user:usr_b", "acc_1", "key.create", "key_2");
  record("user:usr_b", "acc_1", "member.role", "usr_a");
  record("user:usr_a", "acc_2", "key.create", "key_3");
  record("", "", "session.begin", "usr_a");
  const auto targets = [&](const identity::AuditQuery& query) {
    std::vector<std::string> found;
    const auto events = audit.list(query);
    for (const AuditEvent& event : *events) found.push_back(event.target);
    return found;
  };
  using Targets = std::vector<std::string>;
  EXPECT_EQ(targets({.account_id = "acc_1", .actor = "user:usr_b"}), (Targets{"usr_a", "key_2"}));
  EXPECT_EQ(targets({.account_id = "acc_1", .action = "key.create"}), (Targets{"key_2", "key_1"}));
  EXPECT_EQ(targets({.account_id = "acc_1", .actor = "user:usr_a", .action = "member.role"}),
            Targets());
  EXPECT_EQ(targets({.person_id = "usr_a"}), (Targets{"usr_a", "key_3", "usr_a", "key_1"}));
  const auto newest = audit.list({.person_id = "usr_a", .limit = 2});
  EXPECT_EQ(targets({.person_id = "usr_a", .before = newest->back().sequence, .limit = 2}),
            (Targets{"usr_a", "key_1"}));
  EXPECT_EQ(targets({.person_id = "usr_none"}), Targets());
}

TEST_P(PeopleStoreTest, WhatEndedLongAgoIsSwept) {
  const std::string id = new_person("ann");
  ASSERT_TRUE(node_->sessions().add(id, session_with("t"), person(id)).ok());
  ASSERT_TRUE(node_->sessions().sweep().ok());
  EXPECT_TRUE(goes_on("t"));
  store_->clock.move_ms(40 * day_ms);
  ASSERT_TRUE(node_->sessions().sweep().ok());
  EXPECT_FALSE(goes_on("t"));
  ASSERT_TRUE(node_->sessions().add(id, session_with("t"), person(id)).ok());  // digest is free
}

TEST_P(PeopleStoreTest, EventsAreInTheOrderOfTheirCommits) {
  const std::string account = new_account();
  const std::string owner = member(account, "owner", Role::owner);
  ApiKeys keys(node_->keys(), Environment::development, store_->random);
  for (const char* name : {"a", "b", "c"}) {
    ASSERT_TRUE(keys.create(account, name, {person(owner), account}).ok());
  }
  const auto newest = node_->audit().list({.account_id = account, .limit = 2});
  ASSERT_EQ(newest->size(), 2u);
  EXPECT_EQ(newest->front().action, "key.create");
  EXPECT_EQ(newest->front().actor.principal, "user:" + owner);
  EXPECT_EQ(newest->front().actor.address, "192.0.2.1");
  const auto rest =
      node_->audit().list({.account_id = account, .before = newest->back().sequence, .limit = 9});
  ASSERT_EQ(rest->size(), 2u);
  EXPECT_EQ(rest->back().action, "member.add");
}

}  // namespace
}  // namespace turnpike::identity
