#include "notices/signature.h"

#include <gtest/gtest.h>

#include "support/stores.h"
#include "text/encoding.h"

namespace turnpike::notices {
namespace {

constexpr std::string_view id = "evt_0000000000000000000001";
constexpr std::int64_t sent_at_s = 1'790'000'000;
constexpr std::string_view body =
    R"({"type":"endpoint.test","timestamp":"2026-09-21T14:13:20.000Z","data":{}})";

std::string secret_of_bytes(char first) {
  std::string secret;
  for (char at = 0; at < 32; ++at) secret += static_cast<char>(first + at);
  return secret;
}

// The signature that the official client computes (tests/webhooks/verify.mjs, `sign`).
TEST(Signature, IsThatOfTheOfficialClient) {
  const std::string secret = secret_of_bytes(0);
  ASSERT_EQ(secret_text(secret), "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=");
  const std::string_view secrets[] = {secret};
  EXPECT_EQ(signature_of(id, sent_at_s, body, secrets),
            "v1,tlc/Q21sD0+zOEDJnYskw/y0Kx3ygSwGIYOceZySzV0=");
}

TEST(Signature, OfTwoSecretsAreTwoDividedByABlank) {
  const std::string fresh = secret_of_bytes(32);
  const std::string old = secret_of_bytes(0);
  const std::string_view both[] = {fresh, old};
  const std::string_view first[] = {fresh};
  EXPECT_EQ(signature_of(id, sent_at_s, body, both),
            signature_of(id, sent_at_s, body, first) +
                " v1,tlc/Q21sD0+zOEDJnYskw/y0Kx3ygSwGIYOceZySzV0=");
}

TEST(Signature, DependsOnIdTimeAndBody) {
  const std::string secret = secret_of_bytes(0);
  const std::string_view secrets[] = {secret};
  const std::string one = signature_of(id, sent_at_s, body, secrets);
  EXPECT_NE(one, signature_of("evt_2", sent_at_s, body, secrets));
  EXPECT_NE(one, signature_of(id, sent_at_s + 1, body, secrets));
  EXPECT_NE(one, signature_of(id, sent_at_s, "{}", secrets));
}

TEST(Secrets, AreRandomAndLongEnough) {
  support::SeededRandom random(7);
  const std::string one = new_secret(random);
  const std::string other = new_secret(random);
  EXPECT_NE(one, other);
  EXPECT_GE(one.size(), 24u);
  EXPECT_LE(one.size(), 64u);
  EXPECT_EQ(text::from_base64(secret_text(one).substr(secret_prefix.size())), one);
}

}  // namespace
}  // namespace turnpike::notices
