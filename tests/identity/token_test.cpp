#include "identity/token.h"

#include <gtest/gtest.h>

#include "support/stores.h"

namespace turnpike::identity {
namespace {

TEST(Token, HasTheDocumentedForm) {
  support::SeededRandom random(1);
  const std::string token = make_token(Environment::production, random);
  EXPECT_EQ(token.size(), 15u + 4 + 43 + 6);
  EXPECT_TRUE(token.starts_with("turnpike_sk_v1_prd_"));
  EXPECT_EQ(token_environment(token), Environment::production);
}

TEST(Token, EveryEnvironmentIsTold) {
  support::SeededRandom random(2);
  for (const Environment each :
       {Environment::development, Environment::staging, Environment::production}) {
    EXPECT_EQ(token_environment(make_token(each, random)), each);
  }
}

// An independent checksum: zlib computes the CRC-32 0x943DFC23 for the 62 characters before it.
TEST(Token, ChecksumIsTheCommonCrc32) {
  const std::string body = "turnpike_sk_v1_dev_" + std::string(43, '0');
  EXPECT_EQ(token_environment(body + "2iJZmF"), Environment::development);
}

TEST(Token, AnyChangedCharacterIsRefused) {
  support::SeededRandom random(3);
  const std::string token = make_token(Environment::development, random);
  for (std::size_t at = 0; at < token.size(); ++at) {
    std::string changed = token;
    changed[at] = changed[at] == 'a' ? 'b' : 'a';
    EXPECT_FALSE(token_environment(changed).has_value()) << at;
  }
}

TEST(Token, OtherFormsAreRefused) {
  support::SeededRandom random(4);
  const std::string token = make_token(Environment::development, random);
  EXPECT_FALSE(token_environment("").has_value());
  EXPECT_FALSE(token_environment(token.substr(1)).has_value());
  EXPECT_FALSE(token_environment(token + "a").has_value());
  EXPECT_FALSE(token_environment(" " + token).has_value());
  EXPECT_FALSE(token_environment(std::string(token.size(), '\0')).has_value());
  std::string access = token;
  access.replace(9, 2, "at");  // reserved for access tokens
  EXPECT_FALSE(token_environment(access).has_value());
}

TEST(Token, KindsAreNotTakenForEachOther) {
  support::SeededRandom random(2);
  const std::string key = make_token(Environment::staging, random);
  const std::string credential =
      make_token(Environment::staging, random, TokenKind::operator_credential);
  EXPECT_TRUE(credential.starts_with("turnpike_op_v1_stg_")) << credential;
  EXPECT_EQ(token_environment(credential, TokenKind::operator_credential), Environment::staging);
  EXPECT_FALSE(token_environment(credential).has_value());
  EXPECT_FALSE(token_environment(key, TokenKind::operator_credential).has_value());
  std::string renamed = key;
  renamed.replace(9, 2, "op");  // the checksum covers the kind
  EXPECT_FALSE(token_environment(renamed, TokenKind::operator_credential).has_value());
}

}  // namespace
}  // namespace turnpike::identity
