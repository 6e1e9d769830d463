// Input of callers, and the verdicts that need no network.
#include <gtest/gtest.h>

#include "plugins/substrate/verify.h"
#include "substrate/codec/digest.h"
#include "substrate/verify/report.h"

namespace turnpike::substrate {
namespace {

using ::testing::HasSubstr;

class OfflineTest : public VerifyTest {
 protected:
  Json blob(const Bytes& code, OrderedJson expected) {
    return verify({{"code", {{"hex", hex_of(code)}}}, {"expected", std::move(expected)}});
  }
  std::string verdict(const Bytes& code, OrderedJson expected) {
    return blob(code, std::move(expected))["verdict"];
  }
};

TEST_F(OfflineTest, VectorsHaveTheirVerdicts) {
  using namespace vectors;
  EXPECT_EQ(verdict(s2(), {{"code_hash", s2_hash}, {"spec_version", 1'000'001}}), "verified");
  EXPECT_EQ(verdict(s3(), {{"code_hash", s3_hash}, {"spec_name", "examplechain"}}), "verified");
  EXPECT_EQ(verdict(s3(), {{"code_hash", s2_hash}}), "content_equal");
  EXPECT_EQ(verdict(s4(), {{"code_hash", s3_hash}, {"uncompressed_code_hash", s2_hash}}),
            "content_equal");
  EXPECT_EQ(verdict(s8(), {{"code_hash", s8_hash}}), "inconclusive");
  EXPECT_EQ(verdict(s2(), {{"code_hash", s1_hash}}), "mismatch");
  EXPECT_EQ(verdict(s2(), {{"spec_version", 1'000'000}}), "mismatch");
  EXPECT_EQ(verdict(s2(), {{"spec_name", "otherchain"}}), "mismatch");
  EXPECT_EQ(verdict(s2(), {{"transaction_version", 25}}), "inconclusive");
}

TEST_F(OfflineTest, CodeComesInBase64Too) {
  const Json reply = verify({{"code", {{"base64", "AGFzbQEAAAA="}}}});
  EXPECT_EQ(reply["code"]["code_hash"], vectors::s8_hash);
  EXPECT_EQ(reply["mode"], "blob");
  EXPECT_EQ(reply["warnings"][0]["code"], "nothing_compared");
}

TEST_F(OfflineTest, WrongFamiliesOfHashesAreNamed) {
  const Json reply = blob(vectors::s3(), {{"code_hash", hex_of(sha256(vectors::s3()))}});
  EXPECT_EQ(reply["verdict"], "mismatch");
  EXPECT_THAT(reply["summary"].get<std::string>(), HasSubstr("SHA-256"));
}

TEST_F(OfflineTest, ProposalMustBeAboutTheCode) {
  const std::string hash = std::string(vectors::s3_hash.substr(2));
  const auto ask = [&](const std::string& call, std::string_view code_hash) {
    return verify({{"proposal", {{"call", call}}}, {"expected", {{"code_hash", code_hash}}}});
  };
  const Json right = ask("0x0009" + hash, vectors::s3_hash);
  EXPECT_EQ(right["mode"], "authorization");
  EXPECT_EQ(right["verdict"], "verified");
  EXPECT_EQ(right["proposal"]["kind"], "authorize_upgrade");
  EXPECT_EQ(right["proposal"]["call_hash"],
            "0x18d18854d4ba42bcac8d2dcb45fc6373e4d66c012a6da01920f4fe2f90bb4506");
  EXPECT_EQ(ask("0x0009" + hash, vectors::s2_hash)["verdict"], "mismatch");
  const Json unchecked = ask("000A" + hash, vectors::s3_hash);
  EXPECT_EQ(status_of(unchecked, "call.kind"), "warn");
  EXPECT_EQ(unchecked["verdict"], "verified");
  const Json wrapped = ask("0x1a020009" + hash, vectors::s3_hash);
  EXPECT_EQ(wrapped["verdict"], "inconclusive");
  EXPECT_EQ(wrapped["proposal"]["matches"][0]["offset"], 2);
  EXPECT_EQ(status_of(ask("0x0009" + hash + "ff", vectors::s3_hash), "call.extra"), "warn");
}

TEST_F(OfflineTest, HashOfAPreimageIsMadeFromTheCodeHash) {
  OrderedJson input = {
      {"proposal",
       {{"preimage_hash", "0xb5c484d557bc1697a4af09856cb8170d1c61b0f61d5db0c15ebe41b17bcadfac"},
        {"kind", "parachain_authorize_upgrade"}}},
      {"expected",
       {{"code_hash", "0x476dbd0e3c53536d7fe5421f559b28c5a8e8b2bd73df3168bf1039e1dfd17815"}}}};
  EXPECT_EQ(verify(input)["verdict"], "verified");
  input["expected"]["code_hash"] = vectors::s2_hash;
  EXPECT_EQ(verify(input)["verdict"], "inconclusive");
}

TEST_F(OfflineTest, BlobInsideOfACallIsHashed) {
  Bytes call = {0x00, 0x02};
  for (const std::uint8_t byte : {0x15, 0x02}) call.push_back(byte);  // 133 bytes
  const Bytes code = vectors::s3();
  call.insert(call.end(), code.begin(), code.end());
  const Json reply = verify({{"proposal", {{"call", hex_of(call)}, {"kind", "set_code"}}},
                             {"code", {{"hex", hex_of(code)}}}});
  EXPECT_EQ(reply["verdict"], "verified");
  EXPECT_EQ(reply["proposal"]["call_hash"], reply["code"]["set_code_call_hash"]);
}

TEST_F(OfflineTest, WhatIsNotGivenIsUnknown) {
  const Json reply = verify({{"expected", {{"code_hash", vectors::s2_hash}, {"spec_version", 1}}}});
  EXPECT_EQ(reply["verdict"], "inconclusive");
  EXPECT_EQ(status_of(reply, "code.hash"), "unknown");
  EXPECT_EQ(status_of(reply, "version.spec_version"), "unknown");
}

TEST_F(OfflineTest, WrongInputIsTold) {
  const std::pair<std::string_view, std::string_view> wrong[] = {
      {"", "JSON"},
      {"[]", "object"},
      {"{}", "at least one"},
      {R"({"expected":{},"mode":"guess"})", "/mode"},
      {R"({"expected":{"code_hash":"0x12"}})", "/expected/code_hash"},
      {R"({"expected":{"spec_version":4294967296}})", "/expected/spec_version"},
      {R"({"expected":{"spec_version":-1}})", "/expected/spec_version"},
      {R"({"expected":{"spec_version":1},"url":"http://127.0.0.1"})", "/url"},
      {R"({"expected":{"spec_version":1},"expected":{}})", "twice"},
      {R"({"expected":{"spec_version":1},"mode":"live"})", "/chain"},
      {R"({"expected":{"spec_version":1},"mode":"live","chain":"polkadot"})", "none is configured"},
      {R"({"code":{"hex":"0x00","base64":"AA=="}})", "/code"},
      {R"({"code":{"base64":"A"}})", "/code/base64"},
      {R"({"code":{"hex":"0x0"}})", "/code/hex"},
      {R"({"proposal":{}})", "/proposal"},
      {R"({"proposal":{"call":"0x00","kind":"x"}})", "/proposal/kind"},
      {R"({"expected":{"spec_version":1},"min_assurance":6})", "/min_assurance"},
      {R"({"expected":{"spec_version":1},"at":{"tag":"best","block_number":1}})", "/at"},
      {R"({"code":{"hex":"0x00"},"system_pallet_index":256})", "/system_pallet_index"},
  };
  for (const auto& [body, told] : wrong) {
    const Json reply = verify_text(std::string(body));
    EXPECT_EQ(status_, 400) << body;
    EXPECT_THAT(reply["error"]["message"].get<std::string>(), HasSubstr(std::string(told))) << body;
  }
}

TEST_F(OfflineTest, BlobsAreTakenUpToTheirLimit) {
  std::string hex(2 * code_bytes_max, '0');
  EXPECT_EQ(verify({{"code", {{"hex", hex}}}})["code"]["size"], code_bytes_max);
  EXPECT_EQ(status_, 200);
  verify({{"code", {{"hex", hex + "00"}}}});
  EXPECT_EQ(status_, 400);
  std::string base64((code_bytes_max + 2) / 3 * 4, 'A');
  verify({{"code", {{"base64", base64}}}});  // one or two bytes too long
  EXPECT_EQ(status_, 400);
}

TEST_F(OfflineTest, TextNamesWhatFailedAndWarns) {
  const Json reply = blob(vectors::s2(), {{"code_hash", vectors::s1_hash}});
  const std::string text = text_of_reply(reply.dump());
  EXPECT_THAT(text, HasSubstr("Mismatch"));
  EXPECT_THAT(text, HasSubstr("\nfail code.hash: "));
  EXPECT_EQ(text_of_reply("{}"), "");
}

}  // namespace
}  // namespace turnpike::substrate
