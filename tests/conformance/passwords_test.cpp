// Conformance of PasswordStore and RecoveryCodeStore, tested through Passwords and RecoveryCodes.
#include <algorithm>
#include <thread>
#include <vector>

#include "conformance/engines.h"
#include "identity/passwords.h"
#include "identity/people.h"
#include "identity/recovery_codes.h"
#include "support/soft_authenticator.h"

namespace turnpike::identity {
namespace {

using base::Error;
using base::ErrorCode;

constexpr crypto::PasswordCost cheap{1, 8'192};
constexpr ErrorCode done_code = ErrorCode::request_timeout;  // never answered here
const std::string good = "rivers carry seven lamps";
const std::string other = "seven lamps carry rivers";
const std::string nobody_knows;  // the device token of a browser without a cookie

template <class T>
ErrorCode code_of(const Result<T, Error>& result) {
  return result.ok() ? done_code : result.error().code;
}

NewSession session_named(const std::string& token) {
  return {.digest = crypto::sha256(token), .method = "password"};
}

// The objects that apply the rules on one node.
struct Rules {
  Rules(storage::Node& node, Random& random, crypto::PasswordCost cost = cheap)
      : sessions(node.sessions(), {}, random),
        tries(node.audit(), password_tries),
        code_tries(node.audit()),
        passwords({node.passwords(), node.people(), tries, sessions, random},
                  {.is_enabled = true, .cost = cost, .site_name = "Turnpike"}),
        codes({node.recovery_codes(), code_tries, sessions, random}) {}

  Sessions sessions;
  Tries tries;
  Tries code_tries;
  Passwords passwords;
  RecoveryCodes codes;
};

class PasswordTest : public OnEveryEngine {
 protected:
  void SetUp() override {
    OnEveryEngine::SetUp();
    if (node_) rules_ = std::make_unique<Rules>(*node_, store_->random);
  }

  std::string new_person(const std::string& login) {
    const auto person = node_->people().add({"Ann of " + login, login, "handle of " + login},
                                            std::nullopt, {crypto::sha256(login), 60'000},
                                            operator_actor());
    EXPECT_TRUE(person.ok()) << person.error().message;
    return person->id;
  }
  // Each stranger has another address, so the limit per source plays no part.
  Actor stranger() {
    const int source = ++sources_;
    return {.principal = {}, .address = "192.0." + std::to_string(source / 250) + "." +
                       std::to_string(source % 250)};
  }
  // The person, in a session that began with a link.
  Actor enrolling(const std::string& id) {
    const std::string token = "session" + std::to_string(++sources_);
    const auto session = node_->sessions().add(id,
                                               {.digest = crypto::sha256(token),
                                                .method = "link",
                                                .valid_ms = 3'600'000},
                                               {});
    return {.principal = "user:" + id,
            .person_id = id,
            .session_id = (*session)->id,
            .address = "198.51.100.1"};
  }
  std::string person_with_password(const std::string& login) {
    const std::string id = new_person(login);
    const auto set = rules_->passwords.set({.wanted = good}, Standing::enrolling, nobody_knows,
                                           enrolling(id));
    EXPECT_TRUE(set.ok()) << set.error().message;
    return id;
  }
  void add_passkey(const std::string& id) {
    Passkey passkey;
    passkey.person_id = id;
    passkey.facts.credential_id = "credential of " + id;
    passkey.facts.key = support::SoftAuthenticator(crypto::PasskeyAlgorithm::es256).key();
    passkey.rp_id = "localhost";
    passkey.name = "Laptop";
    const Actor person = enrolling(id);
    EXPECT_TRUE(node_->people()
                    .add_passkey({"ceremony of " + id, store_->clock.now_ms() + 60'000}, passkey,
                                 {.session_id = person.session_id, .digest = crypto::sha256(id)},
                                 person)
                    .ok());
  }
  Result<PasswordSession, Error> sign_in(const std::string& login, const std::string& password,
                                         const std::string& device = nobody_knows) {
    return rules_->passwords.sign_in(login, password, device, stranger());
  }
  // The answer to one try, and the seconds until the next one is allowed.
  std::pair<ErrorCode, std::uint32_t> try_once(const std::string& login,
                                               const std::string& password = "wrong") {
    const auto answer = sign_in(login, password);
    return {code_of(answer), answer.ok() ? 0 : answer.error().retry_after_seconds};
  }
  // Fails that many tries, with the longest wait before each.
  void fail_times(const std::string& login, int failures) {
    for (int at = 0; at < failures; ++at) {
      store_->clock.move_ms(15 * 60'000);
      ASSERT_EQ(try_once(login).first, ErrorCode::auth_sign_in_failed) << at;
    }
  }
  // Runs `work` on two nodes at once; returns both results, sorted.
  template <class F>
  std::vector<ErrorCode> race(F&& work) {
    const auto second = store_->open(storage::Role::gateway, "other");
    ErrorCode answers[2];
    std::thread left([&] { answers[0] = work(*node_, 0); });
    std::thread right([&] { answers[1] = work(*second, 1); });
    left.join();
    right.join();
    std::sort(std::begin(answers), std::end(answers));
    return {answers[0], answers[1]};
  }
  static std::vector<ErrorCode> sorted(ErrorCode one, ErrorCode two) {
    return {std::min(one, two), std::max(one, two)};
  }

  std::unique_ptr<Rules> rules_;
  int sources_ = 0;
};
TURNPIKE_ON_EVERY_ENGINE(PasswordTest);

TEST_P(PasswordTest, SignsInWithOneFactorWhichIsAFreshProof) {
  const std::string id = person_with_password("ann");
  const auto signed_in = sign_in("Ann", good);
  ASSERT_TRUE(signed_in.ok()) << signed_in.error().message;
  EXPECT_EQ(signed_in->signed_in.person_id, id);
  EXPECT_EQ(signed_in->device.size(), 32u);
  const auto found =
      node_->sessions().find(crypto::sha256(signed_in->signed_in.token), "", SessionLimits());
  ASSERT_TRUE((*found).has_value());
  EXPECT_EQ((*found)->session.method, "password");
  EXPECT_EQ((*found)->session.strength, Strength::single);
  EXPECT_TRUE((*found)->is_stepped_up);
}

TEST_P(PasswordTest, TheNextTryWaitsTwiceAsLongEachTime) {  // S15
  person_with_password("ann");
  for (int at = 0; at < 4; ++at) {
    EXPECT_EQ(try_once("ann").first, ErrorCode::auth_sign_in_failed);
  }
  for (std::uint32_t seconds = 1, at = 0; at < 14; ++at) {
    EXPECT_EQ(try_once("ann").first, ErrorCode::auth_sign_in_failed) << at;
    // A try that comes too early reveals nothing, even with the right password.
    EXPECT_EQ(try_once("ann", good), std::pair(ErrorCode::auth_throttled, seconds));
    store_->clock.move_ms(seconds * 1'000 - 1);
    EXPECT_EQ(try_once("ann", good), std::pair(ErrorCode::auth_throttled, 1u));
    store_->clock.move_ms(1);
    seconds = std::min(seconds * 2, 900u);
  }
  EXPECT_EQ(try_once("ann", good).first, done_code);
  EXPECT_EQ(try_once("ann").first, ErrorCode::auth_sign_in_failed);
  EXPECT_EQ(try_once("ann", good).first, done_code);  // the success cleared the count
}

TEST_P(PasswordTest, ALoginOfNobodyIsAnsweredAlike) {  // S16
  person_with_password("known");
  new_person("passkeys");  // a person without a password
  const std::string disabled = person_with_password("disabled");
  ASSERT_TRUE(node_->people().set_disabled(disabled, true, operator_actor()).ok());
  for (int at = 0; at < 12; ++at) {
    const auto known = try_once("known");
    for (const char* const login : {"unknown", "passkeys", "no login at all!"}) {
      EXPECT_EQ(try_once(login), known) << login << ", try " << at;
    }
    EXPECT_EQ(try_once("disabled", good), known) << at;
    if (at % 2 == 1) store_->clock.move_ms(known.second * 1'000);
  }
}

TEST_P(PasswordTest, OfTwoTriesAtOnceTheSecondIsJudgedByTheFirst) {
  person_with_password("ann");
  fail_times("ann", 5);
  store_->clock.move_ms(1'000);
  const std::string hash = *node_->passwords().begin_try({.login = "ann"});
  // Both tries were admitted before either was counted.
  EXPECT_EQ(race([&](storage::Node& node, int at) {
              const std::string name = "race" + std::to_string(at);
              return code_of(node.passwords().sign_in({.login = "ann"}, {.hash = hash},
                                                      {crypto::sha256(name), day_ms},
                                                      session_named(name), {}));
            }),
            sorted(ErrorCode::auth_sign_in_failed, ErrorCode::auth_throttled));
  store_->clock.move_ms(60'000);
  EXPECT_EQ(race([&](storage::Node& node, int at) {
              const std::string name = "race" + std::to_string(at);
              return code_of(node.passwords().sign_in({.login = "nobody"}, {},
                                                      {crypto::sha256(name), day_ms},
                                                      session_named(name), {}));
            }),
            sorted(ErrorCode::auth_sign_in_failed, ErrorCode::auth_sign_in_failed));
}

TEST_P(PasswordTest, AKnownBrowserCountsApart) {
  person_with_password("ann");
  const std::string laptop = sign_in("ann", good)->device;
  EXPECT_EQ(sign_in("ann", good, laptop)->device, laptop);
  fail_times("ann", 7);
  EXPECT_EQ(try_once("ann", good).first, ErrorCode::auth_throttled);
  ASSERT_TRUE(sign_in("ann", good, laptop).ok());
  EXPECT_EQ(try_once("ann", good).first, done_code);  // the success cleared the strangers' failures

  for (int at = 0; at < 5; ++at) {
    EXPECT_EQ(code_of(sign_in("ann", "wrong", laptop)), ErrorCode::auth_sign_in_failed);
  }
  EXPECT_EQ(code_of(sign_in("ann", good, laptop)), ErrorCode::auth_throttled);
  EXPECT_EQ(try_once("ann", good).first, done_code);
  // A browser is known only for the persons who signed in with it.
  person_with_password("bob");
  fail_times("bob", 7);
  EXPECT_EQ(code_of(sign_in("bob", good, laptop)), ErrorCode::auth_throttled);
  const std::string invented(32, 'a');
  EXPECT_EQ(code_of(sign_in("bob", good, invented)), ErrorCode::auth_throttled);
}

TEST_P(PasswordTest, AfterAHundredFailuresOnlyKnownBrowsersMayTry) {
  person_with_password("ann");
  const std::string laptop = sign_in("ann", good)->device;
  fail_times("ann", 100);
  fail_times("nobody", 100);
  store_->clock.move_ms(20 * 60'000);
  EXPECT_EQ(try_once("ann", good).first, ErrorCode::auth_throttled);
  EXPECT_EQ(try_once("nobody", good).first, ErrorCode::auth_throttled);
  EXPECT_EQ(code_of(sign_in("ann", good, laptop)), done_code);
  EXPECT_EQ(try_once("ann", good).first, done_code);
}

TEST_P(PasswordTest, ABrowserIsForgottenAfterAYear) {
  person_with_password("ann");
  const std::string laptop = sign_in("ann", good)->device;
  store_->clock.move_ms(Passwords::device_ms);
  for (int at = 0; at < 5; ++at) EXPECT_FALSE(sign_in("ann", "wrong", laptop).ok());
  EXPECT_EQ(try_once("ann", good).first, ErrorCode::auth_throttled);  // counted for the person
  ASSERT_TRUE(node_->sessions().sweep().ok());
  store_->clock.move_ms(1'000);
  EXPECT_EQ(code_of(sign_in("ann", good, laptop)), done_code);
}

TEST_P(PasswordTest, OneSourceMayFailThirtyTimesInTenMinutes) {
  const Actor ours{.principal = {}, .address = "2001:db8:1:2::1"};
  const Actor neighbour{.principal = {}, .address = "2001:db8:1:2:ffff::7"};
  const Actor elsewhere{.principal = {}, .address = "2001:db8:1:3::1"};
  for (int at = 0; at < 30; ++at) {
    const auto answer = rules_->passwords.sign_in("nobody" + std::to_string(at), "wrong", "", ours);
    ASSERT_EQ(code_of(answer), ErrorCode::auth_sign_in_failed) << at;
  }
  person_with_password("ann");
  EXPECT_EQ(code_of(rules_->passwords.sign_in("ann", good, "", neighbour)),
            ErrorCode::auth_throttled);
  EXPECT_EQ(code_of(rules_->passwords.sign_in("ann", good, "", elsewhere)), done_code);
  store_->clock.move_ms(10 * 60'000);
  EXPECT_EQ(code_of(rules_->passwords.sign_in("ann", good, "", neighbour)), done_code);
}

TEST_P(PasswordTest, AChangeTakesTheOldOneAndRenewsTheSession) {  // S2, S6, S14
  const std::string id = person_with_password("ann");
  const auto signed_in = sign_in("ann", good);
  const auto elsewhere = sign_in("ann", good);
  const Actor ann{.principal = "user:" + id,
                  .person_id = id,
                  .session_id = signed_in->signed_in.session_id,
                  .address = "198.51.100.2"};
  const auto change = [&](const std::optional<std::string>& current, bool ends_others = false) {
    return rules_->passwords.set({current, other, ends_others}, Standing::stepped_up, "", ann);
  };
  EXPECT_EQ(code_of(change(std::nullopt)), ErrorCode::request_body_rejected);
  EXPECT_EQ(code_of(change("wrong")), ErrorCode::auth_sign_in_failed);
  const auto changed = change(good, true);
  ASSERT_TRUE(changed.ok()) << changed.error().message;
  const auto found = [&](const std::string& token) {
    return *node_->sessions().find(crypto::sha256(token), "", SessionLimits());
  };
  ASSERT_TRUE(found(signed_in->signed_in.token).has_value());
  EXPECT_TRUE(found(signed_in->signed_in.token)->is_of_old_token);
  EXPECT_FALSE(found(changed->signed_in.token)->is_of_old_token);
  EXPECT_FALSE(found(elsewhere->signed_in.token).has_value());
  EXPECT_EQ(try_once("ann", good).first, ErrorCode::auth_sign_in_failed);
  EXPECT_EQ(try_once("ann", other).first, done_code);
}

TEST_P(PasswordTest, WhoForgotItSetsAnotherInASessionThatEnrols) {
  const std::string id = person_with_password("ann");
  const Actor ann = enrolling(id);
  ASSERT_TRUE(rules_->passwords.set({.wanted = other}, Standing::enrolling, "", ann).ok());
  EXPECT_EQ(try_once("ann", other).first, done_code);
  const auto sessions = *node_->sessions().list(id, SessionLimits());
  const auto own = std::find_if(sessions.begin(), sessions.end(),
                                [&](const Session& one) { return one.id == ann.session_id; });
  ASSERT_NE(own, sessions.end());
  EXPECT_EQ(own->strength, Strength::single);  // the session now rests on the password
}

TEST_P(PasswordTest, AFirstPasswordIsSetOnce) {
  const std::string id = new_person("ann");
  const Actor actors[] = {enrolling(id), enrolling(id)};
  EXPECT_EQ(race([&](storage::Node& node, int at) {
              const std::string name = "race" + std::to_string(at);
              return code_of(node.passwords().set(
                  {.person_id = id}, {.hash = name}, {crypto::sha256(name), day_ms},
                  {.session_id = actors[at].session_id, .digest = crypto::sha256(name)},
                  actors[at]));
            }),
            sorted(done_code, ErrorCode::auth_sign_in_failed));
}

TEST_P(PasswordTest, SaysWhyAPasswordIsNotTaken) {  // S14
  const std::string id = new_person("ann.smith");
  const Actor ann = enrolling(id);
  const auto set = [&](const std::string& wanted) {
    return code_of(rules_->passwords.set({.wanted = wanted}, Standing::enrolling, "", ann));
  };
  const std::string fourteen = "k7 fjord plumb";
  ASSERT_EQ(fourteen.size(), 14u);
  EXPECT_EQ(set(fourteen), ErrorCode::identity_password_rejected);
  EXPECT_EQ(set(fourteen + "e"), done_code);
  std::string longest;
  for (int at = 0; longest.size() < 256; ++at) longest += std::to_string(at * at) + "rivers ";
  longest.resize(256);
  EXPECT_EQ(set(longest), done_code);
  EXPECT_EQ(try_once("ann.smith", longest).first, done_code);
  EXPECT_EQ(set(longest + "x"), ErrorCode::identity_password_rejected);
  EXPECT_EQ(try_once("ann.smith", longest + "x").first, ErrorCode::auth_sign_in_failed);
  for (const char* const weak :
       {"passwordpassword", "ann.smith@Turnpike", "turnpiketurnpike", "123456789012345"}) {
    EXPECT_EQ(set(weak), ErrorCode::identity_password_rejected) << weak;
  }
  const auto why =
      rules_->passwords.set({.wanted = "short"}, Standing::enrolling, "", ann).error();
  ASSERT_EQ(why.fields.size(), 1u);
  EXPECT_EQ(why.fields[0].location, "/newPassword");
  EXPECT_NE(why.fields[0].fix.find("15"), std::string::npos);
}

TEST_P(PasswordTest, IsHashedAnewAtTheCostOfToday) {
  person_with_password("ann");
  Rules dearer(*node_, store_->random, {2, 16'384});
  const std::string before = *node_->passwords().begin_try({.login = "ann"});
  ASSERT_TRUE(dearer.passwords.sign_in("ann", good, "", stranger()).ok());
  const std::string after = *node_->passwords().begin_try({.login = "ann"});
  EXPECT_TRUE(crypto::needs_rehash(before, {2, 16'384}));
  EXPECT_FALSE(crypto::needs_rehash(after, {2, 16'384}));
  EXPECT_EQ(code_of(dearer.passwords.sign_in("ann", good, "", stranger())), done_code);
  EXPECT_EQ(*node_->passwords().begin_try({.login = "ann"}), after);
}

TEST_P(PasswordTest, ProvesAnewWhoOneIs) {  // S7
  const std::string id = person_with_password("ann");
  const auto signed_in = sign_in("ann", good);
  const Actor ann{.principal = "user:" + id,
                  .person_id = id,
                  .session_id = signed_in->signed_in.session_id,
                  .address = "198.51.100.2"};
  store_->clock.move_ms(SessionLimits().step_up_ms);
  EXPECT_EQ(code_of(rules_->passwords.step_up("wrong", "", ann)), ErrorCode::auth_sign_in_failed);
  const auto proved = rules_->passwords.step_up(good, signed_in->device, ann);
  ASSERT_TRUE(proved.ok()) << proved.error().message;
  EXPECT_TRUE((*node_->sessions().find(crypto::sha256(proved->signed_in.token), "",
                                       SessionLimits()))
                  ->is_stepped_up);
  const Actor bob = enrolling(new_person("bob"));
  EXPECT_EQ(code_of(rules_->passwords.step_up("", "", bob)), ErrorCode::auth_sign_in_failed);
}

TEST_P(PasswordTest, TheLastCredentialStays) {
  const std::string id = person_with_password("ann");
  EXPECT_EQ(code_of(rules_->passwords.remove(enrolling(id))), ErrorCode::identity_last_credential);
  add_passkey(id);
  const std::string passkey = node_->people().passkeys(id)->front().id;
  const Actor actors[] = {enrolling(id), enrolling(id)};
  EXPECT_EQ(race([&](storage::Node& node, int at) {
              const RenewedSession session{.session_id = actors[at].session_id,
                                           .digest = crypto::sha256(actors[at].session_id)};
              return at == 0 ? code_of(node.passwords().remove(id, session, actors[at]))
                             : code_of(node.people().remove_passkey(id, passkey, session,
                                                                    actors[at]));
            }),
            sorted(done_code, ErrorCode::identity_last_credential));
}

// A credential for a disabled way of signing in does not count as a remaining credential.
TEST_P(PasswordTest, OnlyCredentialsThatLetInAreCounted) {
  const std::string id = person_with_password("ann");
  add_passkey(id);
  const identity::Passkey passkey = node_->people().passkeys(id)->front();
  const auto opened_with = [&](const storage::SignInWays& ways) {
    storage::Settings settings = store_->settings();
    settings.sign_in = ways;
    return *storage::Node::open(settings, storage::Role::tool,
                                {.clock = store_->clock, .random = store_->random});
  };
  const auto session_of = [](const Actor& actor) {
    return RenewedSession{.session_id = actor.session_id,
                          .digest = crypto::sha256(actor.session_id)};
  };
  const auto without_passwords = opened_with({.takes_passwords = false});
  const Actor ann = enrolling(id);
  EXPECT_EQ(code_of(without_passwords->people().remove_passkey(id, passkey.id, session_of(ann),
                                                               ann)),
            ErrorCode::identity_last_credential);
  EXPECT_EQ(node_->people().passkeys(id)->size(), 1u);  // nothing was removed
  const auto elsewhere = opened_with({.former_passkey_domains = {passkey.rp_id}});
  EXPECT_EQ(code_of(elsewhere->passwords().remove(id, session_of(ann), ann)),
            ErrorCode::identity_last_credential);
  EXPECT_EQ(code_of(without_passwords->passwords().remove(id, session_of(ann), ann)), done_code);
}

TEST_P(PasswordTest, WithoutOneThereIsNothingToRemove) {
  const std::string id = new_person("ann");
  EXPECT_EQ(code_of(rules_->passwords.remove(enrolling(id))), ErrorCode::request_not_found);
  EXPECT_FALSE(node_->passwords().credentials(id)->has_password);
}

TEST_P(PasswordTest, LeavesNoSecretInTheAuditLog) {  // S25
  person_with_password("ann");
  ASSERT_TRUE(sign_in("ann", good).ok());
  EXPECT_FALSE(sign_in("ann", "wrong but mine").ok());
  bool has_refusal = false;
  const auto events = *node_->audit().list({});
  for (const AuditEvent& event : events) {
    has_refusal = has_refusal || (event.outcome == AuditOutcome::refused &&
                                  event.method == "password");
    const std::string text = event.detail + event.target + event.actor.principal;
    EXPECT_EQ(text.find(good), std::string::npos);
    EXPECT_EQ(text.find("wrong but mine"), std::string::npos);
  }
  EXPECT_TRUE(has_refusal);
}

TEST_P(PasswordTest, ARecoveryCodeLetsInOnceToEnrol) {  // S18
  const std::string id = new_person("ann");
  new_person("bob");
  const auto made = rules_->codes.create(enrolling(id));
  ASSERT_TRUE(made.ok()) << made.error().message;
  ASSERT_EQ(made->codes.size(), 8u);
  EXPECT_EQ(node_->passwords().credentials(id)->recovery_codes, 8);
  const auto use = [&](storage::Node& node, const std::string& login, const std::string& code) {
    const Actor somebody{.principal = {}, .address = "::1"};
    return code_of(Rules(node, store_->random).codes.sign_in(login, code, somebody));
  };
  EXPECT_EQ(use(*node_, "bob", made->codes[0]), ErrorCode::auth_sign_in_failed);
  EXPECT_EQ(use(*node_, "nobody", made->codes[0]), ErrorCode::auth_sign_in_failed);
  EXPECT_EQ(race([&](storage::Node& node, int) { return use(node, "Ann", made->codes[0]); }),
            sorted(done_code, ErrorCode::auth_sign_in_failed));
  EXPECT_EQ(node_->passwords().credentials(id)->recovery_codes, 7);
  EXPECT_EQ(node_->sessions().list(id, SessionLimits())->front().strength, Strength::enrol);

  const auto anew = rules_->codes.create(enrolling(id));
  EXPECT_EQ(use(*node_, "ann", made->codes[1]), ErrorCode::auth_sign_in_failed);
  EXPECT_EQ(use(*node_, "ann", anew->codes[1]), done_code);
  ASSERT_TRUE(node_->people().set_disabled(id, true, operator_actor()).ok());
  EXPECT_EQ(use(*node_, "ann", anew->codes[2]), ErrorCode::auth_sign_in_failed);
  ASSERT_TRUE(node_->people().set_disabled(id, false, operator_actor()).ok());
  EXPECT_EQ(use(*node_, "ann", anew->codes[2]), done_code);  // the refusal did not use up the code
}

TEST_P(PasswordTest, GuessesAtRecoveryCodesWait) {  // S15
  const std::string id = new_person("ann");
  const auto made = rules_->codes.create(enrolling(id));
  const Actor guesser{.principal = {}, .address = "203.0.113.9"};
  for (int at = 0; at < 20; ++at) {
    ASSERT_EQ(code_of(rules_->codes.sign_in("ann", "guess", guesser)),
              ErrorCode::auth_sign_in_failed);
  }
  EXPECT_EQ(code_of(rules_->codes.sign_in("ann", made->codes[0], guesser)),
            ErrorCode::auth_throttled);
  EXPECT_EQ(code_of(rules_->codes.sign_in("ann", made->codes[0], stranger())), done_code);
}

TEST_P(PasswordTest, WhereTheyAreOffNoneIsTaken) {
  const std::string id = person_with_password("ann");
  Passwords off({node_->passwords(), node_->people(), rules_->tries, rules_->sessions,
                 store_->random},
                {.is_enabled = false, .cost = cheap});
  EXPECT_EQ(code_of(off.sign_in("ann", good, "", stranger())), ErrorCode::auth_method_disabled);
  EXPECT_EQ(code_of(off.step_up(good, "", enrolling(id))), ErrorCode::auth_method_disabled);
  EXPECT_EQ(code_of(off.set({.wanted = other}, Standing::enrolling, "", enrolling(id))),
            ErrorCode::auth_method_disabled);
  EXPECT_TRUE(step_up_methods(*off.credentials(id), off).empty());
  EXPECT_EQ(step_up_methods(*off.credentials(id), rules_->passwords).size(), 1u);
}

}  // namespace
}  // namespace turnpike::identity
