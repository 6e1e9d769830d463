#include "substrate/codec/scale.h"

#include <gtest/gtest.h>

#include "plugins/substrate/vectors.h"
#include "substrate/chain/keys.h"
#include "substrate/codec/digest.h"

namespace turnpike::substrate {
namespace {

TEST(ScaleTest, CompactIsReadAndWritten) {
  for (const std::uint32_t value : {0u, 1u, 63u, 64u, 16'383u, 16'384u, (1u << 30) - 1, 1u << 30,
                                    0xFFFF'FFFFu}) {
    const Bytes bytes = compact_of(value);
    ScaleReader reader(bytes);
    EXPECT_EQ(reader.compact(), value);
    EXPECT_TRUE(reader.rest().empty());
  }
  EXPECT_EQ(hex_of(compact_of(128)), "0x0102");
}

TEST(ScaleTest, LongerFormsAndMissingBytesAreRefused) {
  for (const std::string_view bytes :
       {"", "0100", "02ff0000", "01", "020000", "0300", "07ffffffffff", "03ffffff3f"}) {
    const Bytes held = vectors::of(bytes);
    ScaleReader reader(held);
    EXPECT_FALSE(reader.compact()) << bytes;
    EXPECT_TRUE(reader.failed());
    EXPECT_FALSE(reader.u8()) << "nothing is read after a failure";
  }
}

TEST(ScaleTest, TextIsPlainUtf8) {
  const auto text_of_bytes = [](std::string_view hex) {
    const Bytes bytes = vectors::of(hex);
    return ScaleReader(bytes).text(8);
  };
  EXPECT_EQ(text_of_bytes("08c3a4"), "\xC3\xA4");
  EXPECT_FALSE(text_of_bytes("08c328"));
  EXPECT_FALSE(text_of_bytes("040a"));
  EXPECT_FALSE(text_of_bytes("0ceda080"));
  EXPECT_FALSE(text_of_bytes("24616161616161616161"));
}

TEST(ScaleTest, HexAndBase64AreStrict) {
  EXPECT_EQ(bytes_of_hex("0XaB")->front(), 0xAB);
  EXPECT_FALSE(bytes_of_hex("0xabc"));
  EXPECT_FALSE(bytes_of_hex("zz"));
  EXPECT_FALSE(bytes_of_hex("a b"));
  EXPECT_EQ(text_of(*bytes_of_base64("aGk=")), "hi");
  EXPECT_EQ(text_of(*bytes_of_base64("aGk")), "hi");
  EXPECT_FALSE(bytes_of_base64("aGk=="));
  EXPECT_FALSE(bytes_of_base64("aG\nk="));
  EXPECT_FALSE(bytes_of_base64("aGk=aGk="));
  EXPECT_TRUE(bytes_of_base64("")->empty());
}

TEST(ScaleTest, KeysOfAParachainAreHashed) {
  EXPECT_EQ(keys::current_code_hash(1001),
            "0xcd710b30bd2eab0352ddcc26417aa194e2d1c22ba0a888147714a3487bd51c63adc7217647a32b0be903"
            "0000");
}

}  // namespace
}  // namespace turnpike::substrate
