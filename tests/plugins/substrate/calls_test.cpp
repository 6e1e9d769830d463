#include "substrate/codec/calls.h"

#include <gtest/gtest.h>

#include "plugins/substrate/vectors.h"
#include "substrate/codec/digest.h"

namespace turnpike::substrate {
namespace {

std::string hash_of_call(std::string_view hex) { return hex_of(blake2_256(vectors::of(hex))); }

const std::string c3 = "ab8fff60598a4f45d75b6efa49aeac0c19d29aaa7f4fba20978772eb80479737";

TEST(CallsTest, HashesAreThePublishedOnes) {
  EXPECT_EQ(hash_of_call("000201022a"),
            "0xae7b4ff0fe6a931a413d2954b56618b68087bc1f87bb63228f237864f65aba6a");
  EXPECT_EQ(hash_of_call("00020c01022a"),
            "0x85233004e044626a6c08e469573369536d8de9b264b08eb6611b76b80148e429");
  EXPECT_EQ(hash_of_call("0102" + c3),
            "0xe77400ab1f69d137db556bf4bc7f5c526f9805502c3042099caff8a3285c650b");
  EXPECT_EQ(hash_of_call("0102" + c3 + "01"),
            "0x0373c510c9d6c7a5e0d1fdbbbb7beba31e35ec75ebae240ef404755fb8f9aeb0");
  EXPECT_EQ(hash_of_call("0102" + c3 + "00"),
            "0x7777d63edf716de786fa3487d517348f7d22eb7ba7b10ece0e5816a56ee98b9d");
  EXPECT_EQ(hash_of_call("00004c6f70656e676f762d7375626d69742074657374"),
            "0x8821e8db19b8e34b62ee8bc618a5ed3eecb9761d7d81349b00aa5ce5dfca2534");
  EXPECT_EQ(hex_of(set_code_call_hash(Bytes(8'388'608, 0), {})),
            "0x44de98eef7227a1f55c5d1cf2b437dc87e60177dc8607538a115773b567ed0d5");
  EXPECT_EQ(hex_of(set_code_call_hash(vectors::of("01022a"), {})),
            "0x85233004e044626a6c08e469573369536d8de9b264b08eb6611b76b80148e429");
  EXPECT_EQ(hex_of(set_code_call_hash(vectors::s3(), {})),
            "0xee3f8e3ea43aa1e8eed3bce9c5abf21b9269ef92f08187394e4e5b3ca26139f8");
}

TEST(CallsTest, AuthorisationsOfReleasesAreKnownByTheirHash) {
  struct Published {
    std::string_view code_hash;
    std::string_view call_hash;
  };
  constexpr Published published[] = {
      {"0x476dbd0e3c53536d7fe5421f559b28c5a8e8b2bd73df3168bf1039e1dfd17815",
       "0xb5c484d557bc1697a4af09856cb8170d1c61b0f61d5db0c15ebe41b17bcadfac"},
      {"0xd05890cbf09d8d1462cbf22c505459a13c6afa13a5edc1bddda0a1f5c2810559",
       "0xeda109971cc6d53076ea4deabc5fab24d6740a93ddc4ad3ab2f1e17acbb17349"},
      {"0x85cbef6d0e24bf3081fdd1e484fbf0ad510292aeb7d01fa27ae59d705466fd86",
       "0x055361413e61894180c2b331b27ecfb34711aa188ae46a8d729001a1dd089d6e"},
      {"0xb7f74401c52ee8634ad28fe91e8a6b1debb802d4d2058fdda184a6f2746477f6",
       "0x319e30838e1acc9dd071261673060af687704430c45b14cdb5fc97ec561e2a12"},
      {"0xeb6927db2f65d39a7742c5f4df18665d15fa1f0bdb3946f077a9806735594409",
       "0xb0f1eef874b3f6c984de17814992eebf272fc9449b1efbad79417b3225e8b978"},
  };
  for (const Published& release : published) {
    const auto calls = calls_with(vectors::hash(release.code_hash), std::nullopt, {});
    const auto found = std::find_if(calls.begin(), calls.end(), [&](const KnownCall& call) {
      return hex_of(call.call_hash) == release.call_hash;
    });
    ASSERT_NE(found, calls.end()) << release.code_hash;
    EXPECT_EQ(found->kind, CallKind::parachain_authorize_upgrade);
  }
}

TEST(CallsTest, AuthorisationsOfTheVectorHaveTheirHashes) {
  const auto calls = calls_with(vectors::hash(vectors::s3_hash), ByteView(), {});
  EXPECT_EQ(hex_of(calls[0].call_hash),
            "0x18d18854d4ba42bcac8d2dcb45fc6373e4d66c012a6da01920f4fe2f90bb4506");
  EXPECT_EQ(hex_of(calls[1].call_hash),
            "0x0bbc5e8af2be7205ff8f339ce4cb13ad9be311dabb5074695072a6092b84a642");
}

TEST(CallsTest, CallsAreDecoded) {
  const auto decoded = [](const std::string& hex) {
    const Bytes call = vectors::of(hex);
    return decode_call(call, {});
  };
  EXPECT_EQ(decoded("0009" + c3).kind, CallKind::authorize_upgrade);
  EXPECT_EQ(decoded("0009" + c3).check_version, true);
  EXPECT_EQ(decoded("000a" + c3).check_version, false);
  EXPECT_EQ(decoded("0009" + c3 + "00").extra_bytes, 1U);
  EXPECT_EQ(decoded("00020c01022a").code_hash, blake2_256(vectors::of("01022a")));
  EXPECT_EQ(decoded("000b0c01022a").kind, CallKind::apply_authorized_upgrade);
  EXPECT_EQ(decoded("0102" + c3 + "01").check_version, true);
  EXPECT_EQ(decoded("0103" + c3).kind, CallKind::parachain_authorize_upgrade);
  EXPECT_EQ(decoded("01040c01022a").kind, CallKind::parachain_enact_authorized_upgrade);
  // Truncated, not an upgrade call, or of another pallet.
  for (const std::string hex : {"0009abcd", "000201022a", "0000046869", "0109", "00", "0509"}) {
    EXPECT_EQ(decoded(hex).kind, CallKind::unknown) << hex;
  }
}

TEST(CallsTest, PatternsAreFoundInsideOfOtherCalls) {
  const Hash hash = vectors::hash("0x" + c3);
  const Bytes wrapped = vectors::of("1a02" "0009" + c3 + "00");
  const auto matches = find_patterns(wrapped, hash, {});
  ASSERT_EQ(matches.size(), 2U);
  EXPECT_EQ(matches[0].pattern, "authorize_upgrade");
  EXPECT_EQ(matches[0].offset, 2U);
  EXPECT_EQ(matches[1].pattern, "code_hash");
  EXPECT_EQ(matches[1].offset, 4U);
}

}  // namespace
}  // namespace turnpike::substrate
