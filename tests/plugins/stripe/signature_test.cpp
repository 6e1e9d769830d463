#include "stripe/signature.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace turnpike::stripe {
namespace {

// Stripe's library, Node's crypto and `openssl dgst -hmac` compute the same signature.
const std::string body =
    R"({"id":"evt_1","object":"event","type":"checkout.session.completed","api_version":"2026-10-28.endive","created":1790000000,"livemode":false,"data":{"object":{"id":"cs_test_1","object":"checkout.session"}}})";
const std::vector<std::string> secrets = {"whsec_test_secret"};
const std::string right = "2a8dfdf27c3d461cee39abd2117550900a30a6fb5d116acc7a138fb0ee8f08b9";
const std::string wrong = "3a8dfdf27c3d461cee39abd2117550900a30a6fb5d116acc7a138fb0ee8f08b9";
constexpr std::int64_t sent_s = 1'790'000'000;

SignatureFault check(const std::string& header, std::int64_t now_s = sent_s) {
  return check_signature(header, body, secrets, now_s);
}
const std::string good = "t=1790000000,v1=" + right;

TEST(Signature, IsThatOfStripesLibrary) {
  ASSERT_EQ(body.size(), 204U);
  EXPECT_EQ(signature_of("whsec_test_secret", "1790000000", body), right);
  EXPECT_EQ(check(good), SignatureFault::none);
}

TEST(Signature, IsGoodForFiveMinutes) {
  EXPECT_EQ(check(good, sent_s + 300), SignatureFault::none);
  EXPECT_EQ(check(good, sent_s + 301), SignatureFault::late);
  EXPECT_EQ(check(good, sent_s - 300), SignatureFault::none);
  EXPECT_EQ(check(good, sent_s - 301), SignatureFault::early);
}

TEST(Signature, AnyV1OfAnySecretWillDo) {
  EXPECT_EQ(check("t=1790000000,v1=" + wrong + ",v1=" + right), SignatureFault::none);
  EXPECT_EQ(check("t=1790000000,v0=" + wrong + ",v1=" + right + ",v1=" + wrong),
            SignatureFault::none);
  EXPECT_EQ(check("v1=" + right + ",t=1790000000,x=y"), SignatureFault::none);
  const std::vector<std::string> rolled = {"whsec_new", "whsec_test_secret"};
  EXPECT_EQ(check_signature(good, body, rolled, sent_s), SignatureFault::none);
}

TEST(Signature, NothingElseWillDo) {
  EXPECT_EQ(check("t=1790000000,v1=" + wrong), SignatureFault::no_match);
  EXPECT_EQ(check("t=1790000001,v1=" + right), SignatureFault::no_match);
  EXPECT_EQ(
      check("t=1790000000,v1=2A8DFDF27C3D461CEE39ABD2117550900A30A6FB5D116ACC7A138FB0EE8F08B9"),
      SignatureFault::no_match);
  EXPECT_EQ(check("t=1790000000,v1=" + right.substr(1)), SignatureFault::no_match);
  EXPECT_EQ(check("t=1790000000,v1=" + right + " "), SignatureFault::no_match);
  EXPECT_EQ(check("t=1790000000,v1="), SignatureFault::no_match);
  EXPECT_EQ(check_signature(good, body + " ", secrets, sent_s), SignatureFault::no_match);
  EXPECT_EQ(check_signature(good, "", secrets, sent_s), SignatureFault::no_match);
  EXPECT_EQ(check_signature(good, body, {}, sent_s), SignatureFault::no_match);
  const std::vector<std::string> with_line_end = {"whsec_test_secret\n"};
  EXPECT_EQ(check_signature(good, body, with_line_end, sent_s), SignatureFault::no_match);
}

TEST(Signature, HeadersOfAnotherFormAreNone) {
  for (const std::string& header :
       {std::string(), std::string("t=1790000000"), "v1=" + right, "t=1790000000,v0=" + right,
        "t=1790000000, v1=" + right,  // the space belongs to the name
        "t=,v1=" + right, "t=+1790000000,v1=" + right, "t=-1790000000,v1=" + right,
        "t=1790000000abc,v1=" + right, "t= 1790000000,v1=" + right, "t=0x6AB12680,v1=" + right,
        "t=1790000000.0,v1=" + right, "t=1790000000000,v1=" + right,
        "t=1790000000,t=1790000000,v1=" + right, right, std::string(",,,"), std::string("=,=")}) {
    EXPECT_EQ(check(header), SignatureFault::malformed) << header;
  }
}

TEST(Signature, HeadersHaveBounds) {
  std::string full = "t=1790000000";
  for (int count = 0; count < 15; ++count) full += ",v1=" + wrong;
  EXPECT_EQ(check(full + ",v1=" + right), SignatureFault::none);
  EXPECT_EQ(check(full + ",v1=" + wrong + ",v1=" + right), SignatureFault::malformed);
  const std::string padded = good + ",x=";
  EXPECT_EQ(check(padded + std::string(signature_bytes_max - padded.size(), 'x')),
            SignatureFault::none);
  EXPECT_EQ(check(padded + std::string(signature_bytes_max - padded.size() + 1, 'x')),
            SignatureFault::malformed);
}

TEST(Signature, EveryFaultHasItsText) {
  for (const auto fault : {SignatureFault::none, SignatureFault::malformed, SignatureFault::late,
                           SignatureFault::early, SignatureFault::no_match}) {
    EXPECT_FALSE(text_of(fault).empty());
  }
}

}  // namespace
}  // namespace turnpike::stripe
