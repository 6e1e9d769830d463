// Conformance of ExternalIdentityStore.
#include <algorithm>
#include <vector>

#include "conformance/engines.h"
#include "identity/external_identity.h"

namespace turnpike::identity {
namespace {

using base::ErrorCode;

class ExternalIdentityStoreTest : public OnEveryEngine {
 protected:
  static constexpr ErrorCode as_asked = ErrorCode::request_timeout;  // a code that no store answers
  static constexpr std::int64_t minute_ms = 60'000;
  const SessionLimits limits{};

  template <class T>
  static ErrorCode outcome_of(const Result<T, base::Error>& result) {
    return result.ok() ? as_asked : result.error().code;
  }

  std::string new_person(const std::string& login) {
    const auto person =
        node_->people().add({login, login, "handle of " + login}, std::nullopt,
                            {crypto::sha256(login), 60 * minute_ms}, operator_actor());
    EXPECT_TRUE(person.ok()) << person.error().message;
    return person->id;
  }
  // A person with a valid session whose token is `token`.
  Actor signed_in(const std::string& person_id, const std::string& token) {
    const auto session = node_->sessions().add(person_id, session_with(token), operator_actor());
    return {.principal = "user:" + person_id,
            .person_id = person_id,
            .session_id = (*session)->id,
            .address = "192.0.2.1"};
  }
  [[nodiscard]] NewSession session_with(std::string_view token) const {
    return {.digest = crypto::sha256(token),
            .method = "oidc",
            .strength = Strength::single,
            .valid_ms = limits.absolute_ms};
  }
  [[nodiscard]] RenewedSession renewed(const Actor& actor, std::string_view token) const {
    return {.session_id = actor.session_id,
            .digest = crypto::sha256(token),
            .step_up_ms = limits.step_up_ms};
  }
  // Each proof has its own ceremony, as each round trip of a browser has.
  ProvedIdentity proved(const std::string& subject, const std::string& issuer = "https://acme") {
    return {.ceremony = {"ceremony " + std::to_string(++ceremonies_),
                         store_->clock.now_ms() + 5 * minute_ms},
            .issuer = issuer,
            .subject = subject,
            .provider = "acme",
            .email = subject + "@acme.example"};
  }
  Newcomer newcomer(const std::string& login) {
    return {{login, login, "handle " + std::to_string(++handles_)}, "acme-" + login};
  }
  ExternalIdentityStore& identities() { return node_->external_identities(); }
  std::optional<FoundSession> session(std::string_view token) {
    return *node_->sessions().find(crypto::sha256(token), "", limits);
  }
  bool has_event(std::string_view action, AuditOutcome outcome = AuditOutcome::done) {
    const auto events = node_->audit().list({});
    return std::any_of(events->begin(), events->end(), [&](const AuditEvent& event) {
      return event.action == action && event.outcome == outcome;
    });
  }

  int ceremonies_ = 0;
  int handles_ = 0;
};
TURNPIKE_ON_EVERY_ENGINE(ExternalIdentityStoreTest);

TEST_P(ExternalIdentityStoreTest, NobodyHasAnIdentityUntilItIsLinked) {
  EXPECT_FALSE(identities().sign_in(proved("s"), std::nullopt, session_with("t"), {})->has_value());
  const std::string id = new_person("ann");
  const Actor ann = signed_in(id, "old");
  const auto linked = identities().link(proved("s"), renewed(ann, "new"), ann);
  ASSERT_TRUE(linked.ok()) << linked.error().message;
  EXPECT_EQ(linked->person_id, id);
  EXPECT_TRUE(has_event("identity.link"));
  EXPECT_TRUE(session("new")->is_stepped_up);  // S2
  EXPECT_TRUE(session("old")->is_of_old_token);

  store_->clock.move_ms(minute_ms);
  auto again = proved("s");
  again.email = "other@acme.example";
  const auto begun = identities().sign_in(again, std::nullopt, session_with("t"), {});
  ASSERT_TRUE(begun.ok() && begun->has_value());
  EXPECT_EQ((*begun)->person_id, id);
  EXPECT_EQ((*begun)->session.method, "oidc");
  EXPECT_EQ((*begun)->session.strength, Strength::single);
  EXPECT_FALSE(session("t")->is_stepped_up);  // S22
  const auto listed = identities().list(id);
  ASSERT_EQ(listed->size(), 1u);
  EXPECT_EQ(listed->front().issuer, "https://acme");
  EXPECT_EQ(listed->front().subject, "s");
  EXPECT_EQ(listed->front().email, "other@acme.example");
  EXPECT_EQ(listed->front().last_used_at_ms, listed->front().linked_at_ms + minute_ms);
}

TEST_P(ExternalIdentityStoreTest, APersonIsIssuerAndSubjectAndNoAddress) {  // S21
  const auto made = identities().sign_in(proved("s"), newcomer("ann"), session_with("a"), {});
  ASSERT_TRUE(made.ok() && made->has_value());
  // Neither the same subject of another issuer nor the same address with another subject matches.
  for (auto other : {proved("s", "https://other"), proved("t")}) {
    other.email = "s@acme.example";
    EXPECT_FALSE(identities().sign_in(other, std::nullopt, session_with("b"), {})->has_value());
  }
}

TEST_P(ExternalIdentityStoreTest, ANewcomerIsMadeOnceWithALoginThatIsFree) {
  new_person("ann");
  const auto made = identities().sign_in(proved("s"), newcomer("ann"), session_with("a"), {});
  ASSERT_TRUE(made.ok() && made->has_value());
  const auto person = node_->people().find((*made)->person_id);
  EXPECT_EQ((*person)->login, "acme-ann");
  EXPECT_FALSE((*person)->is_email_verified);
  EXPECT_TRUE(has_event("person.create"));
  const auto again = identities().sign_in(proved("s"), newcomer("ann"), session_with("b"), {});
  EXPECT_EQ((*again)->person_id, (*made)->person_id);
  // Both logins are taken, so no person is created.
  EXPECT_EQ(outcome_of(identities().sign_in(proved("t"), newcomer("ann"), session_with("c"), {})),
            ErrorCode::identity_login_taken);
  EXPECT_EQ(node_->people().list()->size(), 2u);
}

TEST_P(ExternalIdentityStoreTest, ACeremonyIsUsedOnceWhateverItIsFor) {  // S20
  const Actor ann = signed_in(new_person("ann"), "old");
  const ProvedIdentity proof = proved("s");
  ASSERT_TRUE(identities().link(proof, renewed(ann, "new"), ann).ok());
  EXPECT_EQ(outcome_of(identities().link(proof, renewed(ann, "x"), ann)),
            ErrorCode::auth_ceremony_ended);
  EXPECT_EQ(outcome_of(identities().sign_in(proof, std::nullopt, session_with("x"), {})),
            ErrorCode::auth_ceremony_ended);
  EXPECT_EQ(outcome_of(identities().step_up(proof, renewed(ann, "x"), ann)),
            ErrorCode::auth_ceremony_ended);
  EXPECT_FALSE(session("x").has_value());
}

TEST_P(ExternalIdentityStoreTest, AnIdentityHasOnePerson) {
  const Actor ann = signed_in(new_person("ann"), "ann");
  const Actor bob = signed_in(new_person("bob"), "bob");
  ASSERT_TRUE(identities().link(proved("s"), renewed(ann, "ann2"), ann).ok());
  EXPECT_EQ(outcome_of(identities().link(proved("s"), renewed(bob, "bob2"), bob)),
            ErrorCode::identity_already_linked);
  EXPECT_FALSE(session("bob2").has_value());
  EXPECT_TRUE(identities().list(bob.person_id)->empty());
}

TEST_P(ExternalIdentityStoreTest, AStepUpIsOfOnesOwnIdentityAlone) {  // S22
  const Actor ann = signed_in(new_person("ann"), "ann");
  const Actor bob = signed_in(new_person("bob"), "bob");
  ASSERT_TRUE(
      identities()
          .link(proved("s"), {.session_id = ann.session_id, .digest = crypto::sha256("a2")}, ann)
          .ok());
  EXPECT_EQ(outcome_of(identities().step_up(proved("s"), renewed(bob, "bob2"), bob)),
            ErrorCode::auth_sign_in_failed);
  EXPECT_FALSE(session("bob")->is_stepped_up);
  EXPECT_FALSE(session("a2")->is_stepped_up);
  ASSERT_TRUE(identities().step_up(proved("s"), renewed(ann, "a3"), ann).ok());
  EXPECT_TRUE(session("a3")->is_stepped_up);
  EXPECT_TRUE(has_event("session.step_up"));
}

TEST_P(ExternalIdentityStoreTest, TheLastCredentialStays) {
  const Actor ann = signed_in(new_person("ann"), "t0");
  const auto first = identities().link(proved("s"), renewed(ann, "t1"), ann);
  EXPECT_EQ(outcome_of(identities().unlink(ann.person_id, first->id, renewed(ann, "t2"), ann)),
            ErrorCode::identity_last_credential);
  const auto second = identities().link(proved("t"), renewed(ann, "t3"), ann);
  EXPECT_FALSE(identities().unlink("usr_other", second->id, renewed(ann, "t4"), ann).ok());
  EXPECT_TRUE(*identities().unlink(ann.person_id, first->id, renewed(ann, "t5"), ann));
  EXPECT_TRUE(session("t5").has_value());
  EXPECT_TRUE(has_event("identity.unlink"));
  EXPECT_FALSE(*identities().unlink(ann.person_id, first->id, renewed(ann, "t6"), ann));
  EXPECT_FALSE(identities().sign_in(proved("s"), std::nullopt, session_with("x"), {})->has_value());
}

TEST_P(ExternalIdentityStoreTest, APersonHasSoManyCredentialsAndNoMore) {
  const Actor ann = signed_in(new_person("ann"), "t0");
  std::string first;
  for (int at = 1; at <= 50; ++at) {
    const std::string token = "t" + std::to_string(at);
    const auto linked = identities().link(proved(token), renewed(ann, token), ann);
    ASSERT_TRUE(linked.ok()) << at << linked.error().message;
    if (at == 1) first = linked->id;
  }
  EXPECT_EQ(outcome_of(identities().link(proved("more"), renewed(ann, "m1"), ann)),
            ErrorCode::identity_too_many_credentials);
  Passkey passkey;
  passkey.person_id = ann.person_id;
  EXPECT_EQ(
      outcome_of(node_->people().add_passkey({"a passkey's", store_->clock.now_ms() + minute_ms},
                                             passkey, renewed(ann, "m2"), ann)),
      ErrorCode::identity_too_many_credentials);
  EXPECT_TRUE(*identities().unlink(ann.person_id, first, renewed(ann, "m3"), ann));
  EXPECT_TRUE(identities().link(proved("more"), renewed(ann, "m4"), ann).ok());
}

TEST_P(ExternalIdentityStoreTest, ADisabledPersonDoesNotComeIn) {  // S5
  const auto made = identities().sign_in(proved("s"), newcomer("ann"), session_with("a"), {});
  ASSERT_TRUE(node_->people().set_disabled((*made)->person_id, true, operator_actor()).ok());
  EXPECT_EQ(outcome_of(identities().sign_in(proved("s"), newcomer("ann"), session_with("b"), {})),
            ErrorCode::auth_sign_in_failed);
}

TEST_P(ExternalIdentityStoreTest, OfSeveralWhoComeAtOnceOneIsMadeAndAllAreTheSame) {
  for (int round = 0; round < 10; ++round) {
    const std::string subject = "s" + std::to_string(round);
    const ProvedIdentity proofs[] = {proved(subject), proved(subject), proved(subject)};
    const Newcomer newcomers[] = {newcomer(subject), newcomer(subject), newcomer(subject)};
    const auto people = race([&](storage::Node& node, int at) {
      const auto begun = node.external_identities().sign_in(
          proofs[at], newcomers[at], session_with(subject + std::to_string(at)), {});
      if (!begun.ok()) return begun.error().message;
      return begun->has_value() ? (*begun)->person_id : std::string("nobody");
    });
    EXPECT_TRUE(people[0].starts_with("usr_")) << people[0];
    EXPECT_EQ(people, std::vector(3, people[0]));
    EXPECT_EQ(node_->people().list()->size(), static_cast<std::size_t>(round) + 1);
  }
}

TEST_P(ExternalIdentityStoreTest, OfCallbacksWithOneStateOneBeginsASession) {  // S20
  const Actor ann = signed_in(new_person("ann"), "old");
  ASSERT_TRUE(identities().link(proved("s"), renewed(ann, "new"), ann).ok());
  const ProvedIdentity proof = proved("s");
  const auto answers = race([&](storage::Node& node, int at) {
    return outcome_of(node.external_identities().sign_in(
        proof, std::nullopt, session_with("t" + std::to_string(at)), {}));
  });
  EXPECT_EQ(std::count(answers.begin(), answers.end(), as_asked), 1);
  EXPECT_EQ(std::count(answers.begin(), answers.end(), ErrorCode::auth_ceremony_ended), 2);
  EXPECT_EQ(session("t0").has_value() + session("t1").has_value() + session("t2").has_value(), 1);
}

TEST_P(ExternalIdentityStoreTest, OfThoseThatAreUnlinkedAtOnceOneStays) {
  const Actor ann = signed_in(new_person("ann"), "t0");
  const std::string ids[] = {identities().link(proved("s"), renewed(ann, "t1"), ann)->id,
                             identities().link(proved("t"), renewed(ann, "t2"), ann)->id,
                             identities().link(proved("u"), renewed(ann, "t3"), ann)->id};
  race([&](storage::Node& node, int at) {
    return outcome_of(
        node.external_identities().unlink(ann.person_id, ids[at], renewed(ann, "v"), ann));
  });
  EXPECT_EQ(identities().list(ann.person_id)->size(), 1u);
}

}  // namespace
}  // namespace turnpike::identity
