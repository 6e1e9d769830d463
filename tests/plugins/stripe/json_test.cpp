#include "stripe/json.h"

#include <gtest/gtest.h>

namespace turnpike::stripe {
namespace {

TEST(StripeJson, IsJsonAsAWholeOrNotAtAll) {
  for (const std::string text : {"", "{", "{}x", "{'a':1}", "\"\xff\"", "[1,]", "nul"}) {
    EXPECT_FALSE(read_json(text)) << text;
  }
  EXPECT_FALSE(read_json(std::string_view("{}\0{}", 5)));
  EXPECT_TRUE(read_json(R"({"a":[1,"[[[\"[[["]})"));
  const auto nested = [](int depth) {
    return std::string(static_cast<std::size_t>(depth), '[') +
           std::string(static_cast<std::size_t>(depth), ']');
  };
  EXPECT_TRUE(read_json(nested(json_depth_max)));
  EXPECT_FALSE(read_json(nested(json_depth_max + 1)));
  EXPECT_FALSE(read_json(std::string(1'000'000, '[')));
}

TEST(StripeJson, ValuesThatAreNotThereAreAbsent) {
  const auto json = read_json(
      R"({"a":{"b":[{"id":"x_1"},"y_2",7]},"none":null,"big":9223372036854775807,
          "bigger":9223372036854775808,"real":1.0,"text":"t","yes":true,"no":false,"bad":"a/b"})");
  ASSERT_TRUE(json);
  const JsonValue root(*json);
  EXPECT_EQ(root["a"]["b"].size(), 3U);
  EXPECT_EQ(root["a"]["b"].at(0).id(), "x_1");
  EXPECT_EQ(root["a"]["b"].at(1).id(), "y_2");
  EXPECT_EQ(root["a"]["b"].at(2).id(), "");
  EXPECT_EQ(root["a"]["b"].at(2).integer(), 7);
  EXPECT_TRUE(root["a"]["b"].at(3).is_absent());
  EXPECT_TRUE(root["none"].is_absent());
  EXPECT_TRUE(root["x"]["y"].at(0)["z"].is_absent());
  EXPECT_EQ(root["big"].integer(), INT64_MAX);
  EXPECT_FALSE(root["bigger"].integer());
  EXPECT_FALSE(root["real"].integer());  // amounts are integers
  EXPECT_FALSE(root["text"].integer());
  EXPECT_TRUE(root["text"].is("t"));
  EXPECT_FALSE(root["a"].is(""));
  EXPECT_TRUE(root["yes"].is_true());
  EXPECT_FALSE(root["no"].is_true());
  EXPECT_EQ(root["bad"].id(), "");
}

TEST(StripeJson, WordsAndIdsHaveTheirForm) {
  EXPECT_TRUE(is_id(std::string(255, 'a')));
  for (const std::string& text : {std::string(), std::string(256, 'a'), std::string("a-b"),
                                 std::string("a b"), std::string("../x"), std::string("a\n")}) {
    EXPECT_FALSE(is_id(text)) << text;
  }
  EXPECT_EQ(word("card_declined", "x"), "card_declined");
  EXPECT_EQ(word(std::string(60, 'a'), "x"), std::string(60, 'a'));
  for (const std::string& text :
       {std::string(), std::string(61, 'a'), std::string("Card"), std::string("a b")}) {
    EXPECT_EQ(word(text, "x"), "x") << text;
  }
}

}  // namespace
}  // namespace turnpike::stripe
