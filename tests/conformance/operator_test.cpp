// Conformance of OperatorStore, tested through Operators.
#include "conformance/engines.h"
#include "identity/operators.h"
#include "identity/token.h"

namespace turnpike::identity {
namespace {

class OperatorPort : public OnEveryEngine {
 protected:
  Operators operators(Environment environment = Environment::development) {
    return {node_->operators(), environment, store_->clock, store_->random};
  }
  CreatedOperator made() {
    auto created = operators().create("Ops", {Authority::usage_correct});
    EXPECT_TRUE(created.ok());
    return *std::move(created);
  }
};
TURNPIKE_ON_EVERY_ENGINE(OperatorPort);

TEST_P(OperatorPort, ACredentialIsKnownByItsTokenAlone) {
  const CreatedOperator created = made();
  EXPECT_TRUE(created.secret.starts_with("turnpike_op_v1_dev_"));
  EXPECT_EQ(created.credential.prefix, created.secret.substr(0, token_prefix_bytes));
  const auto known = operators().authenticate(created.secret);
  ASSERT_TRUE(known.ok());
  EXPECT_EQ((*known)->kind, PrincipalKind::operator_credential);
  EXPECT_EQ((*known)->id, created.credential.id);
  EXPECT_TRUE((*known)->authorities.has(Authority::usage_correct));
  const std::string another =
      make_token(Environment::development, store_->random, TokenKind::operator_credential);
  EXPECT_EQ(operators().authenticate(another).error().code,
            base::ErrorCode::auth_credential_invalid);
}

TEST_P(OperatorPort, ApiKeysAndOtherEnvironmentsAreNoOperators) {
  const CreatedOperator created = made();
  const std::string key = make_token(Environment::development, store_->random);
  EXPECT_EQ(operators().authenticate(key).error().code, base::ErrorCode::auth_credential_invalid);
  EXPECT_EQ(operators(Environment::production).authenticate(created.secret).error().code,
            base::ErrorCode::auth_wrong_environment);
  EXPECT_FALSE(token_environment(created.secret).has_value()) << "nor are operators API keys";
}

TEST_P(OperatorPort, ARevocationHoldsAtOnceOnEveryNode) {
  const CreatedOperator created = made();
  const auto other = store_->open(storage::Role::gateway, "other");
  Operators elsewhere(other->operators(), Environment::development, store_->clock, store_->random);
  ASSERT_TRUE(elsewhere.authenticate(created.secret).ok());
  const auto revoked = node_->operators().revoke(created.credential.id);
  ASSERT_TRUE(revoked.ok() && revoked->has_value());
  EXPECT_EQ((*revoked)->revoked_at_ms, store_->clock.now_ms());
  EXPECT_EQ(elsewhere.authenticate(created.secret).error().code,
            base::ErrorCode::auth_credential_invalid);
  store_->clock.move_ms(1'000);
  EXPECT_EQ((*node_->operators().revoke(created.credential.id))->revoked_at_ms,
            (*revoked)->revoked_at_ms)
      << "revoking again changes nothing";
  EXPECT_FALSE(node_->operators().revoke("opr_none")->has_value());
}

TEST_P(OperatorPort, LastUseIsWrittenAtMostOnceAMinute) {
  const CreatedOperator created = made();
  const auto last_used = [&] { return node_->operators().list()->front().last_used_at_ms; };
  EXPECT_FALSE(last_used().has_value());
  const std::int64_t first_ms = store_->clock.now_ms();
  ASSERT_TRUE(operators().authenticate(created.secret).ok());
  EXPECT_EQ(last_used(), first_ms);
  store_->clock.move_ms(59'999);
  ASSERT_TRUE(operators().authenticate(created.secret).ok());
  EXPECT_EQ(last_used(), first_ms);
  store_->clock.move_ms(1);
  ASSERT_TRUE(operators().authenticate(created.secret).ok());
  EXPECT_EQ(last_used(), first_ms + 60'000);
}

TEST_P(OperatorPort, NamesAndAuthoritiesAreNeeded) {
  const auto refused = [&](std::string_view name, Authorities authorities) {
    return operators().create(name, authorities).error().code;
  };
  EXPECT_EQ(refused("", {Authority::usage_correct}), base::ErrorCode::request_malformed);
  EXPECT_EQ(refused("a\nb", {Authority::usage_correct}), base::ErrorCode::request_malformed);
  EXPECT_EQ(refused("Ops", {}), base::ErrorCode::request_malformed);
  EXPECT_TRUE(node_->operators().list()->empty());
}

TEST(Authorities, AreNamedExactly) {
  for (const Authority each : all_authorities) EXPECT_EQ(authority(name_of(each)), each);
  for (const char* name : {"", "usage", "usage.", "usage.correct ", "Usage.correct", "*"}) {
    EXPECT_FALSE(authority(name).has_value()) << name;
  }
}

}  // namespace
}  // namespace turnpike::identity
