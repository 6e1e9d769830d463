#include "x402/protocol/encoding.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "plugins/x402/vectors.h"
#include "x402/protocol/digest.h"

namespace turnpike::x402 {
namespace {

using std::string_literals::operator""s;

std::string random_bytes(std::mt19937& random, std::size_t bytes) {
  std::string text(bytes, '\0');
  for (char& byte : text) byte = static_cast<char>(random());
  return text;
}

TEST(Base64, HasTheVectorsOfRfc4648) {
  const std::vector<std::pair<std::string, std::string>> cases = {{"", ""},
                                                                  {"f", "Zg=="},
                                                                  {"fo", "Zm8="},
                                                                  {"foo", "Zm9v"},
                                                                  {"foob", "Zm9vYg=="},
                                                                  {"fooba", "Zm9vYmE="},
                                                                  {"foobar", "Zm9vYmFy"}};
  for (const auto& [bytes, text] : cases) {
    EXPECT_EQ(base64_encode(bytes), text);
    EXPECT_EQ(base64_decode(text, 100), bytes);
    const std::string unpadded = text.substr(0, text.find('='));
    EXPECT_EQ(base64url_encode(bytes), unpadded);
    EXPECT_EQ(base64url_decode(unpadded, 100), bytes);
  }
  EXPECT_EQ(base64_encode("\xfb\xff\xbf"), "+/+/");
  EXPECT_EQ(base64url_encode("\xfb\xff\xbf"), "-_-_");
}

TEST(Base64, TakesOneTextForEachValue) {
  for (const char* text : {"Zg", "Zg=", "Zg===", "Zg====", "=",
                           "==", "====", "Z===", "Zh==", "Zm9=", "Zm8=Zm8=", " Zm9v", "Zm9v\n",
                           "Zm 9v", "Zm9v=", "-_-_", "Zm9\x80"}) {
    EXPECT_EQ(base64_decode(text, 100), std::nullopt) << text;
  }
  for (const char* text : {"Zg==", "Zh", "Z", "Zm9", "+/+/", "Zm8 ", "Zm9vY"}) {
    EXPECT_EQ(base64url_decode(text, 100), std::nullopt) << text;
  }
}

TEST(Base64, IsBounded) {
  EXPECT_TRUE(base64_decode("Zm9v", 3));
  EXPECT_FALSE(base64_decode("Zm9v", 2));
  EXPECT_TRUE(base64url_decode("Zm9vYg", 4));
  EXPECT_FALSE(base64url_decode("Zm9vYg", 3));
}

TEST(Base64, GivesBackWhatWasWritten) {
  std::mt19937 random(1);
  for (std::size_t bytes = 0; bytes < 200; ++bytes) {
    const std::string value = random_bytes(random, bytes);
    EXPECT_EQ(base64_decode(base64_encode(value), bytes), value);
    EXPECT_EQ(base64url_decode(base64url_encode(value), bytes), value);
    EXPECT_EQ(hex_decode(hex_encode(value), bytes), value);
    EXPECT_EQ(base58_decode(base58_encode(value), bytes), value);
  }
}

TEST(Base64, ReadsTheHeadersOfTheVectors) {
  TURNPIKE_VECTORS(file, "headers.json");
  for (const auto& example : file["cases"]) {
    const auto text = base64_decode(example["value"].get<std::string>(), 16 * 1024);
    ASSERT_TRUE(text);
    EXPECT_EQ(nlohmann::json::parse(*text), example["json"]);
    EXPECT_EQ(base64_encode(*text), example["value"]);
  }
}

TEST(Hex, TakesDigitsOfEitherCaseBehindItsPrefix) {
  EXPECT_EQ(hex_decode("0x00fFAb", 3), "\x00\xff\xab"s);
  EXPECT_EQ(hex_decode("0x", 3), "");
  for (const char* text : {"", "0", "00", "00ff", "0X00", "0x0", "0x0g", "0x 0", "0x00000000"}) {
    EXPECT_EQ(hex_decode(text, 3), std::nullopt) << text;
  }
}

TEST(Uint256, IsDigitsWithoutALeadingZeroUpToTheLargest) {
  const std::string largest =
      "115792089237316195423570985008687907853269984665640564039457584007913129639935";
  std::string past = largest;
  past.back() = '6';
  Word ones;
  ones.fill(0xFF);
  EXPECT_EQ(parse_uint256(largest), ones);
  EXPECT_EQ(parse_uint256("0"), Word{});
  EXPECT_EQ(parse_uint256("256"), word_of(256));
  EXPECT_EQ(parse_uint256("18446744073709551615"), word_of(~std::uint64_t{0}));
  // 10^18 + 10^9 and 10^27: chunks of nine digits that are full, empty and full again.
  EXPECT_EQ(parse_uint256("1000000001000000000"), word_of(1'000'000'001'000'000'000));
  Word ten_to_27{};
  ASSERT_TRUE(
      hex_decode_exactly("0x" + std::string(41, '0') + "33b2e3c9fd0803ce8000000", ten_to_27));
  EXPECT_EQ(parse_uint256("1000000000000000000000000000"), ten_to_27);
  for (const std::string& text :
       {""s, "00"s, "01"s, "-1"s, "+1"s, "1.0"s, "1e3"s, "0x3e8"s, " 1"s, "1 "s, "1\0"s,
        "\xd9\xa1"s /* an Arabic digit */, past, largest + "0", std::string(1000, '9')}) {
    EXPECT_EQ(parse_uint256(text), std::nullopt) << text;
  }
}

TEST(Uint256, MeetsTheNativeNumbersWhereTheyReach) {
  std::mt19937_64 random(2);
  for (int round = 0; round < 2'000; ++round) {
    const std::uint64_t value = random() >> (random() % 64);
    const auto word = parse_uint256(std::to_string(value));
    ASSERT_TRUE(word);
    EXPECT_EQ(*word, word_of(value));
    EXPECT_EQ(saturated_uint64(*word), value);
    EXPECT_EQ(parse_uint64(std::to_string(value)), value);
  }
  EXPECT_EQ(parse_uint64("18446744073709551616"), std::nullopt);
  const auto above = parse_uint256("18446744073709551616");
  EXPECT_EQ(saturated_uint64(*above), std::numeric_limits<std::uint64_t>::max());
}

TEST(Address, TakesTheChecksumOfEip55AndLowerCase) {
  // The examples of EIP-55.
  for (const std::string& text : {"0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"s,
                                  "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359"s,
                                  "0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB"s,
                                  "0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb"s,
                                  "0x52908400098527886E0F7030069857D2E4169EE7"s}) {
    const auto address = parse_address(text);
    ASSERT_TRUE(address) << text;
    EXPECT_EQ(checksum_address(*address), text);
    EXPECT_EQ(parse_address(hex_encode(bytes_of(*address))), address);
  }
  for (const std::string& text :
       {"0x5AAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"s,
        "0x5AAEB6053F3E94C9B9A09F33669435E7EF1BEAED"s, "5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"s,
        "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAe"s,
        "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed0"s, ""s}) {
    EXPECT_EQ(parse_address(text), std::nullopt) << text;
  }
}

TEST(Base58, KeepsLeadingZerosAndTakesItsAlphabetOnly) {
  EXPECT_EQ(base58_decode("1112", 4), "\0\0\0\1"s);
  EXPECT_EQ(base58_encode("\0\0\0\1"s), "1112");
  EXPECT_EQ(base58_encode("Hello World!"), "2NEpo7TZRRrLZSi2U");
  const auto mint = base58_decode("EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v", 32);
  ASSERT_TRUE(mint);
  EXPECT_EQ(mint->size(), 32u);
  for (const char* text : {"0", "O", "I", "l", " 1", "1111\n"}) {
    EXPECT_EQ(base58_decode(text, 100), std::nullopt) << text;
  }
  EXPECT_EQ(base58_decode(std::string(33, '1'), 32), std::nullopt);
  EXPECT_EQ(base58_decode(std::string(1000, 'z'), 32), std::nullopt);
}

TEST(Digest, HasThePublishedValues) {
  // FIPS 180-4, RFC 4231 case 2, and the Keccak-256 of nothing, the code hash of Ethereum accounts
  // without code.
  EXPECT_EQ(hex_encode(bytes_of(sha256("abc"))),
            "0xba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256({"a", "", "bc"}), sha256("abc"));
  EXPECT_EQ(hex_encode(bytes_of(hmac_sha256("Jefe", {"what do ya want ", "for nothing?"}))),
            "0x5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(hex_encode(bytes_of(keccak256(""))),
            "0xc5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470");
  EXPECT_TRUE(equal_in_constant_time("ab", "ab"));
  EXPECT_FALSE(equal_in_constant_time("ab", "ac"));
  EXPECT_FALSE(equal_in_constant_time("ab", "abc"));
  EXPECT_TRUE(equal_in_constant_time("", ""));
}

}  // namespace
}  // namespace turnpike::x402
