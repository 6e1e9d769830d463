#include "x402/protocol/json.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include <nlohmann/json.hpp>

#include "plugins/x402/vectors.h"

namespace turnpike::x402 {
namespace {

using std::string_literals::operator""s;

JsonText parsed(std::string text) {
  auto json = JsonText::parse(std::move(text));
  EXPECT_TRUE(json);
  return json ? std::move(*json) : JsonText();
}

// The fault of a text, or nothing if it is valid.
std::optional<JsonFault> fault_of(std::string text, const JsonLimits& limits = {}) {
  const auto json = JsonText::parse(std::move(text), limits);
  return json ? std::nullopt : std::optional(json.error());
}

TEST(JsonText, IsReadByPath) {
  const JsonText json = parsed(R"( { "a" : [ 1 , {"b": "x"} , null ] , "c" : true } )");
  EXPECT_EQ(json.text(), R"({"a":[1,{"b":"x"},null],"c":true})");
  const JsonValue root = json.root();
  EXPECT_EQ(root["a"].text(), R"([1,{"b":"x"},null])");
  EXPECT_EQ(root["c"].text(), "true");
  std::vector<std::string> items;
  for (const auto item : root["a"]) items.emplace_back(item.value.text());
  EXPECT_EQ(items, (std::vector<std::string>{"1", R"({"b":"x"})", "null"}));
  EXPECT_TRUE(root["none"]["of"]["these"].is(JsonKind::absent));
  EXPECT_TRUE(root["c"]["b"].is_missing());
  EXPECT_EQ(root["c"].begin(), root["c"].end());
  EXPECT_EQ(root["none"].begin(), root["none"].end());
}

TEST(JsonText, OutlivesAMove) {
  JsonText first = parsed(R"({"name":"value"})");
  const JsonText second = std::move(first);
  EXPECT_EQ(second.root()["name"].plain(), "value");
}

TEST(JsonText, RefusesANameThatIsThereTwiceHoweverItIsWritten) {
  EXPECT_EQ(fault_of(R"({"a":1,"b":2,"a":3})"), JsonFault::repeated_name);
  EXPECT_EQ(fault_of(R"({"a":1,"\u0061":3})"), JsonFault::repeated_name);
  EXPECT_EQ(fault_of(R"({"x":{"a":[{"a":1}]},"y":[{"k":1,"l":{},"k":{}}]})"),
            JsonFault::repeated_name);
  EXPECT_EQ(fault_of(R"({"a":{"a":[{"a":1},{"a":1}]},"b":{"a":1}})"), std::nullopt);
}

TEST(JsonText, EndsWithItsValue) {
  for (const std::string& text :
       {""s, " "s, "2 3"s, "{}{}"s, "2\0"s, "2\0 3"s, "\0"s, "\"a\0\""s}) {
    EXPECT_EQ(fault_of(text), JsonFault::syntax) << text;
  }
}

TEST(JsonText, IsBoundedInDepthValuesAndMembers) {
  const JsonLimits limits{.depth = 3, .values = 8, .members = 2};
  EXPECT_EQ(fault_of("[[[]]]", limits), std::nullopt);
  EXPECT_EQ(fault_of("[[[[]]]]", limits), JsonFault::too_deep);
  EXPECT_EQ(fault_of("[1,2,3,4,5,6,7]", limits), std::nullopt);
  EXPECT_EQ(fault_of("[1,2,3,4,5,6,7,8]", limits), JsonFault::too_many);
  EXPECT_EQ(fault_of(R"({"a":1,"b":2})", limits), std::nullopt);
  EXPECT_EQ(fault_of(R"({"a":1,"b":2,"c":3})", limits), JsonFault::too_many);
  EXPECT_EQ(fault_of(std::string(100'000, '[')), JsonFault::too_deep);
}

TEST(JsonText, RefusesWhatIsNoUtf8) {
  for (const std::string& bytes :
       {"\x80"s, "\xc0\x80"s, "\xc1\xbf"s, "\xe0\x9f\xbf"s, "\xed\xa0\x80"s, "\xf0\x8f\xbf\xbf"s,
        "\xf4\x90\x80\x80"s, "\xf5\x80\x80\x80"s, "\xc3"s, "\xe2\x82"s, "\xff"s}) {
    EXPECT_EQ(fault_of("\"" + bytes + "\""), JsonFault::not_utf8);
  }
  EXPECT_EQ(fault_of("\"\xc3\xbc\xe2\x82\xac\xf0\x9f\x98\x80\xf4\x8f\xbf\xbf\""), std::nullopt);
}

TEST(JsonValue, HasTheContentOfAStringWithAndWithoutEscapes) {
  const JsonText json = parsed(R"(["plain","\u0041\n\/\"\\\b\f\r\t","\ud83d\ude00\u20ac\u00fc"])");
  std::vector<JsonValue> items;
  for (const auto item : json.root()) items.push_back(item.value);
  EXPECT_EQ(items[0].plain(), "plain");
  EXPECT_EQ(items[1].plain(), "");
  EXPECT_EQ(items[1].string(), "A\n/\"\\\b\f\r\t");
  EXPECT_EQ(items[2].string(), "\xf0\x9f\x98\x80\xe2\x82\xac\xc3\xbc");
  EXPECT_TRUE(items[2].equals("\xf0\x9f\x98\x80\xe2\x82\xac\xc3\xbc"));
  EXPECT_FALSE(items[0].equals("plai"));
}

TEST(JsonValue, ReadsNumbers) {
  const JsonText json = parsed("[300,3e2,300.0,-1,0.5,18446744073709551616,1e999,-1e999,1e-999]");
  std::vector<JsonValue> items;
  for (const auto item : json.root()) items.push_back(item.value);
  EXPECT_EQ(items[0].natural(), 300u);
  for (std::size_t at = 1; at < 9; ++at) EXPECT_EQ(items[at].natural(), std::nullopt) << at;
  EXPECT_TRUE(json_equal(items[0], items[1]));
  EXPECT_TRUE(json_equal(items[0], items[2]));
  EXPECT_FALSE(json_equal(items[0], items[3]));
  EXPECT_EQ(items[6].number(), INFINITY);
  EXPECT_EQ(items[7].number(), -INFINITY);
  EXPECT_EQ(items[8].number(), 0);
}

TEST(JsonValue, IsEqualByContent) {
  const auto equal = [](const char* left, const char* right) {
    const JsonText a = parsed(left), b = parsed(right);
    return json_equal(a.root(), b.root());
  };
  EXPECT_TRUE(equal(R"({"a":[1,null],"b":"x"})", R"({"b":"\u0078","a":[1.0,null]})"));
  EXPECT_FALSE(equal("[1,2]", "[2,1]"));
  EXPECT_FALSE(equal("[1]", "[1,2]"));
  EXPECT_FALSE(equal(R"({"a":1})", R"({"b":1})"));
  EXPECT_FALSE(equal(R"({"a":1})", R"({"a":1,"b":1})"));
  EXPECT_FALSE(equal("true", "false"));
  EXPECT_FALSE(equal("null", "0"));
}

// Whether a text is JSON according to nlohmann-json, and its value. Empty if a number is out of its
// range.
std::optional<nlohmann::json> read_by_nlohmann(const std::string& text) {
  try {
    return nlohmann::json::parse(text);
  } catch (const nlohmann::json::out_of_range&) {
    return std::nullopt;
  } catch (const nlohmann::json::parse_error&) {
    return nlohmann::json(nlohmann::json::value_t::discarded);
  }
}

void compare(const std::string& text) {
  const auto read = read_by_nlohmann(text);
  if (!read) return;
  const nlohmann::json& theirs = *read;
  const auto ours = JsonText::parse(text);
  if (!ours) {
    // nlohmann-json accepts duplicate names and has no limits, so only these faults are comparable.
    if (ours.error() == JsonFault::syntax || ours.error() == JsonFault::not_utf8) {
      EXPECT_TRUE(theirs.is_discarded()) << text;
    }
    return;
  }
  ASSERT_FALSE(theirs.is_discarded()) << text;
  EXPECT_EQ(nlohmann::json::parse(ours->text()), theirs) << text;
  EXPECT_EQ(ours->text().find_first_of("\n\r\t"), std::string::npos);
}

TEST(JsonText, AgreesWithAnotherReaderOnTextsWithFaults) {
  const std::vector<std::string> texts = {
      R"({"a":[1,-2.5e+3,"\u00e9\ud83d\ude00",true,false,null,{}],"b c":{"":[]}} )",
      R"([0,-0,0.0,1E5,[[[]]],"\\\"\/\b\f\n\r\t",{"k":{"k":{"k":"v"}}}])", "\"\xe2\x82\xac\"",
      "[\"\\uD834\\uDD1E\"]", "3"};
  const std::string alphabet = "{}[]\",:\\u0123456789eE+-. truefalsn\n\x80\xc3\xbc\x1f";
  std::mt19937 random(3);
  for (const std::string& text : texts) {
    compare(text);
    for (int round = 0; round < 4'000; ++round) {
      std::string changed = text;
      for (std::size_t edits = 1 + random() % 3; edits > 0 && !changed.empty(); --edits) {
        const std::size_t at = random() % changed.size();
        const char c = alphabet[random() % alphabet.size()];
        switch (random() % 3) {
          case 0:
            changed[at] = c;
            break;
          case 1:
            changed.insert(at, 1, c);
            break;
          default:
            changed.erase(at, 1);
        }
      }
      compare(changed);
    }
  }
}

TEST(JsonString, IsWrittenAsRfc8785Has) {
  std::string out;
  append_json_string(out, "\xe2\x82\xac$\x0f\nA'B\"\\/\x7f\x1f"s + '\0');
  EXPECT_EQ(out, "\"\xe2\x82\xac$\\u000f\\nA'B\\\"\\\\/\x7f\\u001f\\u0000\"");
}

}  // namespace
}  // namespace turnpike::x402
