#include "substrate/codec/code_blob.h"

#include <gmock/gmock.h>
#include <zstd.h>

#include "plugins/substrate/vectors.h"
#include "substrate/codec/code_stream.h"
#include "substrate/codec/digest.h"

namespace turnpike::substrate {
namespace {

using ::testing::HasSubstr;

Bytes compressed(const Bytes& content, std::uint8_t kind = 0x05) {
  Bytes blob = vectors::of("52bc537646db8e00");
  blob[7] = kind;
  Bytes stream(ZSTD_compressBound(content.size()));
  stream.resize(ZSTD_compress(stream.data(), stream.size(), content.data(), content.size(), 3));
  blob.insert(blob.end(), stream.begin(), stream.end());
  return blob;
}

TEST(BlobTest, HashesAreThoseThatOthersCompute) {
  EXPECT_EQ(hex_of(examine_code(vectors::s1()).code_hash), vectors::s1_hash);
  EXPECT_EQ(hex_of(examine_code(vectors::s2()).code_hash), vectors::s2_hash);
  EXPECT_EQ(hex_of(examine_code(vectors::s3()).code_hash), vectors::s3_hash);
  EXPECT_EQ(hex_of(examine_code(vectors::s4()).code_hash), vectors::s4_hash);
  EXPECT_EQ(hex_of(examine_code(vectors::s5()).code_hash), vectors::s5_hash);
  EXPECT_EQ(hex_of(examine_code(vectors::s6()).code_hash), vectors::s6_hash);
  EXPECT_EQ(hex_of(examine_code(vectors::s8()).code_hash), vectors::s8_hash);
  EXPECT_EQ(hex_of(examine_code(vectors::of("0061736d010000000197033960037f7f")).code_hash),
            "0xab8fff60598a4f45d75b6efa49aeac0c19d29aaa7f4fba20978772eb80479737");
}

TEST(BlobTest, VersionAndContentAreRead) {
  for (const Bytes& blob : {vectors::s2(), vectors::s3(), vectors::s4()}) {
    const CodeFacts code = examine_code(blob);
    EXPECT_EQ(code.format, CodeFormat::wasm);
    EXPECT_EQ(code.is_compressed, blob.size() == 133);
    EXPECT_EQ(code.uncompressed_size, 128U);
    EXPECT_EQ(hex_of(code.uncompressed_hash.value()), vectors::s2_hash);
    ASSERT_TRUE(code.version);
    EXPECT_EQ(code.version->spec_name, "examplechain");
    EXPECT_EQ(code.version->impl_name, "parity-examplechain");
    EXPECT_EQ(code.version->spec_version, 1'000'001U);
    EXPECT_EQ(code.version->transaction_version, 26U);
    EXPECT_EQ(code.version->state_version, 1U);
  }
}

TEST(BlobTest, OneFlippedBitIsOtherCode) {
  const Hash wanted = vectors::hash(vectors::s7_hash);
  Bytes blob = vectors::s3();
  bool is_found = false;
  for (std::size_t bit = 0; bit < 8 * blob.size() && !is_found; ++bit) {
    blob[bit / 8] ^= static_cast<std::uint8_t>(1u << (bit % 8));
    const CodeFacts code = examine_code(blob);
    EXPECT_NE(hex_of(code.code_hash), vectors::s3_hash);
    is_found = code.code_hash == wanted;
    blob[bit / 8] ^= static_cast<std::uint8_t>(1u << (bit % 8));
  }
  EXPECT_TRUE(is_found) << "the vector is the blob with one bit flipped";
}

TEST(BlobTest, HeaderAloneHasNoVersion) {
  const CodeFacts code = examine_code(vectors::s8());
  EXPECT_EQ(code.version_section, VersionSection::missing);
  EXPECT_FALSE(code.version);
}

TEST(BlobTest, PrefixesThatAreNotOfCodeAreRefused) {
  Bytes proof = vectors::s3();
  proof[7] = 0x06;
  EXPECT_THAT(examine_code(proof).format_problem, HasSubstr("never of code"));
  proof[7] = 0x09;
  EXPECT_EQ(examine_code(proof).format, CodeFormat::unknown);
  EXPECT_EQ(examine_code(vectors::of("7f454c46")).format, CodeFormat::unknown);
  EXPECT_EQ(examine_code(vectors::of("50564d0001")).format, CodeFormat::pvm);
  proof[7] = 0x08;
  EXPECT_EQ(examine_code(proof).format, CodeFormat::pvm);
}

TEST(BlobTest, BombIsStoppedAtTheLimit) {
  const Bytes bomb = compressed(Bytes(60 * 1024 * 1024, 0));
  ASSERT_LT(bomb.size(), 10'000U);
  const CodeFacts code = examine_code(bomb);
  EXPECT_THAT(code.decompress_problem, HasSubstr("50 MiB"));
  EXPECT_FALSE(code.uncompressed_hash);
}

TEST(BlobTest, LimitIsExact) {
  Bytes content(uncompressed_bytes_max, 0);
  EXPECT_EQ(examine_code(compressed(content)).uncompressed_size, uncompressed_bytes_max);
  content.push_back(0);
  EXPECT_THAT(examine_code(compressed(content)).decompress_problem, HasSubstr("50 MiB"));
}

TEST(BlobTest, StreamMustBeWholeAndAlone) {
  Bytes blob = compressed(vectors::s2());
  Bytes longer = blob;
  longer.push_back(0);
  EXPECT_THAT(examine_code(longer).decompress_problem, HasSubstr("follow"));
  const Bytes twice = compressed(vectors::s2());
  longer = blob;
  longer.insert(longer.end(), twice.begin() + 8, twice.end());
  EXPECT_THAT(examine_code(longer).decompress_problem, HasSubstr("follow"));
  for (std::size_t size = 8; size < blob.size(); ++size) {
    const CodeFacts code = examine_code(ByteView(blob).first(size));
    EXPECT_TRUE(size == 8 ? !code.version : !code.decompress_problem.empty()) << size;
  }
}

TEST(BlobTest, SectionsAreBounded) {
  // A section longer than the module, a name longer than its section, a LEB128 of six bytes, and
  // others.
  for (const std::string_view tail :
       {"00ffffffff0f0161", "0002ff7f", "00808080808001", "000100", "0e00", "01"}) {
    Bytes module = vectors::s8();
    const Bytes more = vectors::of(tail);
    module.insert(module.end(), more.begin(), more.end());
    const CodeFacts code = examine_code(module);
    EXPECT_FALSE(code.version) << tail;
  }
}

TEST(BlobTest, TwoVersionsAreNone) {
  Bytes module = vectors::s2();
  const Bytes again(module.begin() + 8, module.end());
  module.insert(module.end(), again.begin(), again.end());
  const CodeFacts code = examine_code(module);
  EXPECT_EQ(code.version_section, VersionSection::malformed);
  EXPECT_FALSE(code.version);
}

TEST(BlobTest, OldRuntimesSayLess) {
  const auto whole = read_runtime_version(
      vectors::of("1c77657374656e64387061726974792d77657374656e64020000005424000000000000000d000000"
                  "00"));
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->spec_name, "westend");
  EXPECT_EQ(whole->spec_version, 9300U);
  EXPECT_EQ(whole->transaction_version, 13U);
  EXPECT_EQ(whole->state_version, 0U);
  const auto old = read_runtime_version(
      vectors::of("1c77657374656e64387061726974792d77657374656e640200000054240000000000"
                  "0000"));
  ASSERT_TRUE(old);
  EXPECT_FALSE(old->transaction_version);
  EXPECT_FALSE(read_runtime_version(vectors::of("1c776573")));
}

}  // namespace
}  // namespace turnpike::substrate
