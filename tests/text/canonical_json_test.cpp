// Vectors: RFC 8785 section 3.2.2 to 3.2.4 and appendix B.
#include "text/canonical_json.h"

#include <bit>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace turnpike::text {
namespace {

using nlohmann::json;

std::string text_of(const json& value) { return canonical_json(value).value_or("refused"); }

TEST(CanonicalJson, WritesTheExampleOfTheRfc) {
  const json value = json::parse(R"({
    "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
    "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
    "literals": [null, true, false]})");
  EXPECT_EQ(text_of(value),
            "{\"literals\":[null,true,false],"
            "\"numbers\":[333333333.3333333,1e+30,4.5,0.002,1e-27],"
            "\"string\":\"\xE2\x82\xAC$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"}");
}

TEST(CanonicalJson, OrdersKeysByUtf16CodeUnits) {
  const json value = json::parse(R"({
    "\u20ac": "Euro Sign", "\r": "Carriage Return", "\ufb33": "Hebrew Letter Dalet With Dagesh",
    "1": "One", "\ud83d\ude00": "Emoji: Grinning Face", "\u0080": "Control",
    "\u00f6": "Latin Small Letter O With Diaeresis"})");
  EXPECT_EQ(text_of(value),
            "{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\xC2\x80\":\"Control\","
            "\"\xC3\xB6\":\"Latin Small Letter O With Diaeresis\","
            "\"\xE2\x82\xAC\":\"Euro Sign\",\"\xF0\x9F\x98\x80\":\"Emoji: Grinning Face\","
            "\"\xEF\xAC\xB3\":\"Hebrew Letter Dalet With Dagesh\"}");
}

TEST(CanonicalJson, WritesNumbersAsAppendixB) {
  struct Vector {
    std::uint64_t bits;
    const char* text;
  };
  const Vector vectors[] = {{0x0000000000000000, "0"},
                            {0x8000000000000000, "0"},
                            {0x0000000000000001, "5e-324"},
                            {0x8000000000000001, "-5e-324"},
                            {0x7fefffffffffffff, "1.7976931348623157e+308"},
                            {0xffefffffffffffff, "-1.7976931348623157e+308"},
                            {0x4340000000000000, "9007199254740992"},
                            {0xc340000000000000, "-9007199254740992"},
                            {0x4430000000000000, "295147905179352830000"},
                            {0x44b52d02c7e14af5, "9.999999999999997e+22"},
                            {0x44b52d02c7e14af6, "1e+23"},
                            {0x44b52d02c7e14af7, "1.0000000000000001e+23"},
                            {0x444b1ae4d6e2ef4e, "999999999999999700000"},
                            {0x444b1ae4d6e2ef4f, "999999999999999900000"},
                            {0x444b1ae4d6e2ef50, "1e+21"},
                            {0x3eb0c6f7a0b5ed8c, "9.999999999999997e-7"},
                            {0x3eb0c6f7a0b5ed8d, "0.000001"},
                            {0x41b3de4355555553, "333333333.3333332"},
                            {0x41b3de4355555554, "333333333.33333325"},
                            {0x41b3de4355555555, "333333333.3333333"},
                            {0x41b3de4355555556, "333333333.3333334"},
                            {0x41b3de4355555557, "333333333.33333343"},
                            {0xbecbf647612f3696, "-0.0000033333333333333333"},
                            {0x43143ff3c1cb0959, "1424953923781206.2"}};
  for (const Vector& vector : vectors) {
    EXPECT_EQ(text_of(json(std::bit_cast<double>(vector.bits))), vector.text);
  }
}

TEST(CanonicalJson, RefusesWhatHasNoCanonicalForm) {
  EXPECT_FALSE(canonical_json(json(std::numeric_limits<double>::infinity())));
  EXPECT_FALSE(canonical_json(json(std::numeric_limits<double>::quiet_NaN())));
  EXPECT_FALSE(canonical_json(json("\xff")));
  EXPECT_FALSE(canonical_json(json{{"\xed\xa0\x80", 1}}));
  EXPECT_FALSE(canonical_json(json(std::int64_t{9007199254740993})));
  EXPECT_FALSE(canonical_json(json(std::numeric_limits<std::int64_t>::max())));
  EXPECT_FALSE(canonical_json(json(std::numeric_limits<std::uint64_t>::max())));
  EXPECT_FALSE(canonical_json(json::binary({1, 2})));
}

TEST(CanonicalJson, WritesIntegersThatDoublesHold) {
  EXPECT_EQ(text_of(json(std::int64_t{9007199254740991})), "9007199254740991");
  EXPECT_EQ(text_of(json(std::numeric_limits<std::int64_t>::min())), "-9223372036854776000");
  EXPECT_EQ(text_of(json(std::uint64_t{1} << 63)), "9223372036854776000");
  EXPECT_EQ(text_of(json(-1)), "-1");
}

TEST(CanonicalJson, BoundsTheDepth) {
  json deepest = json::array();
  for (int level = 0; level < canonical_json_depth_max; ++level) {
    json outer = json::array();
    outer.push_back(std::move(deepest));
    deepest = std::move(outer);
  }
  EXPECT_TRUE(canonical_json(deepest));
  json deeper = json::array();
  deeper.push_back(std::move(deepest));
  EXPECT_FALSE(canonical_json(deeper));
}

TEST(CanonicalJson, KnowsUtf8) {
  for (const char* good : {"", "a", "\xC2\x80", "\xE0\xA0\x80", "\xED\x9F\xBF", "\xEE\x80\x80",
                           "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBF"}) {
    EXPECT_TRUE(is_utf8(good)) << good;
  }
  for (const char* bad :
       {"\x80", "\xC0\x80", "\xC1\xBF", "\xE0\x9F\xBF", "\xED\xA0\x80", "\xC2", "\xE2\x82",
        "\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xF0\x90\x80", "\xC2\x41"}) {
    EXPECT_FALSE(is_utf8(bad));
  }
}

}  // namespace
}  // namespace turnpike::text
