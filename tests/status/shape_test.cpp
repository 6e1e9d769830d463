// Learned shapes: what is expected after a while, which changes alarm, and which never do.
#include "status/shape.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "text/json_text.h"

namespace turnpike::status {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::int64_t one_minute_ms = 60'000;

class ShapeTest : public ::testing::Test {
 protected:
  // Returns the difference that this look finds. The next look is `step_ms` later.
  std::string look(const std::string& body, std::int64_t step_ms = 5 * one_minute_ms) {
    std::string difference = shape_.look(body, now_ms_);
    now_ms_ += step_ms;
    return difference;
  }
  // Makes the looks that learning needs; none of them may alarm.
  void learn(const std::string& body, std::uint32_t looks = Shape::looks_to_learn) {
    for (std::uint32_t at = 0; at < looks; ++at) ASSERT_EQ(look(body), "");
  }

  Shape shape_{"1 sha256:1"};
  std::int64_t now_ms_ = 1'763'706'540'000;
};

TEST_F(ShapeTest, WhatWasTheSameForAWhileIsExpected) {
  const std::string body = R"({"data":[{"id":"a","votes":3}],"next":"n","total":7})";
  learn(body);
  EXPECT_EQ(look(body), "");
  EXPECT_EQ(look(R"({"data":[{"id":1,"votes":3}],"next":"n","total":7})"),
            "/data/*/id was string, is number");
  EXPECT_EQ(look(R"({"data":[{"id":"a"}],"next":"n","total":7})"),
            "/data/*/votes was number, is missing");
  EXPECT_EQ(look(R"({"data":[{"id":"a","votes":3},{"id":"b"}],"next":"n","total":7})"),
            "/data/*/votes was number, is missing")
      << "in one of its elements";
  EXPECT_EQ(look(R"({"data":{},"next":null,"total":7})"),
            "/data was array, is object, and 1 more");
  EXPECT_EQ(look("[]"), "the reply was object, is array");
  EXPECT_EQ(look("{"), "the reply is no JSON");
  EXPECT_EQ(look(body), "") << "it has changed back";
}

TEST_F(ShapeTest, AnAlarmStaysUntilTheChangeIsTakenBackOrAccepted) {
  learn(R"({"id":"a"})");
  for (int at = 0; at < 100; ++at) ASSERT_EQ(look(R"({"id":1})"), "/id was string, is number");
}

TEST_F(ShapeTest, NothingIsExpectedBeforeItWasSeenOftenAndLongEnough) {
  learn(R"({"id":"a"})", Shape::looks_to_learn - 1);
  EXPECT_EQ(look(R"({"id":1})"), "") << "one look too few";
  Shape hasty("1 sha256:1");
  for (std::uint32_t at = 0; at < 2 * Shape::looks_to_learn; ++at) {
    ASSERT_EQ(hasty.look(R"({"id":"a"})", now_ms_), "");
  }
  EXPECT_EQ(hasty.learned(now_ms_), 0u);
  EXPECT_EQ(hasty.look(R"({"id":1})", now_ms_ + Shape::learning_ms - 1), "");
  EXPECT_EQ(shape_.learned(now_ms_), 1u) << "the whole alone: /id has had two kinds";
}

TEST_F(ShapeTest, WhatWasAbsentOrNullIsOptional) {
  for (std::uint32_t at = 0; at < 2 * Shape::looks_to_learn; ++at) {
    ASSERT_EQ(look(at % 2 == 0 ? R"({"id":"a","ends_at":5,"by":"x"})"
                               : R"({"id":"a","ends_at":null})"),
              "");
  }
  EXPECT_EQ(look(R"({"id":"a"})"), "");
  EXPECT_EQ(look(R"({"id":"a","ends_at":null,"by":null})"), "");
  EXPECT_EQ(look(R"({"id":"a","ends_at":"x","by":"x"})"), "/ends_at was number, is string")
      << "but if it is there, it is of its kind";
  EXPECT_EQ(look(R"({"id":null})"), "/id was string, is null") << "which it never was";
}

TEST_F(ShapeTest, OptionalInOneElementIsOptional) {
  learn(R"({"data":[{"id":"a","url":"u"},{"id":"b"}]})");
  EXPECT_EQ(look(R"({"data":[{"id":"a"}]})"), "");
  EXPECT_EQ(look(R"({"data":[]})"), "") << "no element, nothing missing";
  EXPECT_EQ(look(R"({"data":[{"url":"u"}]})"), "/data/*/id was string, is missing");
}

TEST_F(ShapeTest, WhatIsOfSeveralKindsIsNotJudged) {
  for (std::uint32_t at = 0; at < 2 * Shape::looks_to_learn; ++at) {
    ASSERT_EQ(look(at % 2 == 0 ? R"({"value":"a"})" : R"({"value":1})"), "");
  }
  EXPECT_EQ(look(R"({"value":[]})"), "");
  learn(R"({"list":["a",1]})");
  EXPECT_EQ(look(R"({"list":[{}]})"), "");
}

TEST_F(ShapeTest, ANewMemberAlarmsNobodyAndIsOptional) {
  learn(R"({"id":"a"})");
  learn(R"({"id":"a","extra":1})");
  EXPECT_EQ(look(R"({"id":"a"})"), "");
  EXPECT_EQ(look(R"({"id":"a","extra":"x"})"), "/extra was number, is string");
}

// Names that are data would publish values.
TEST_F(ShapeTest, NamesThatAreNoWordsAreNeverTold) {
  learn(R"({"users":{"bob@example.org":{"age":3},"0xab12":{"age":4},"id-20251121":{"age":5}}})");
  EXPECT_THAT(shape_.canonical(), Not(HasSubstr("bob")));
  EXPECT_THAT(shape_.canonical(), Not(HasSubstr("0xab12")));
  EXPECT_THAT(shape_.canonical(), Not(HasSubstr("2025112")));
  EXPECT_EQ(look(R"({"users":{"eve@example.org":{"age":"x"}}})"),
            "/users/*/age was number, is string");
  EXPECT_EQ(look(R"({"users":{}})"), "");
  EXPECT_EQ(look(R"({"users":{"a/b~c":{"age":1}}})"), "");
}

TEST_F(ShapeTest, KeepsWithinItsBounds) {
  std::string crowd = "{";
  for (std::size_t at = 0; at <= Shape::members_max; ++at) {
    crowd += (at == 0 ? "\"" : ",\"") + std::string("m") + char('a' + at % 26) +
             char('a' + at / 26) + "\":1";
  }
  learn(crowd + "}");
  EXPECT_EQ(shape_.learned(now_ms_), 1u) << "an object with too many members is a dictionary";
  EXPECT_EQ(look(R"({"maa":"x"})"), "");

  Shape wide("1");
  std::string body = "{";
  for (int outer = 0; outer < 20; ++outer) {
    body += (outer == 0 ? "\"o" : ",\"o") + std::string(1, char('a' + outer)) + "\":{";
    for (int inner = 0; inner < 20; ++inner) {
      body += (inner == 0 ? "\"i" : ",\"i") + std::string(1, char('a' + inner)) + "\":1";
    }
    body += "}";
  }
  for (std::uint32_t at = 0; at < Shape::looks_to_learn; ++at) {
    ASSERT_EQ(wide.look(body + "}", now_ms_ + at * 5 * one_minute_ms), "");
  }
  EXPECT_EQ(wide.learned(now_ms_ + 100 * one_minute_ms), Shape::pointers_max);
  // In a reply that is itself too wide, a pointer that was not read may still be present.
  EXPECT_EQ(wide.look(R"({"zz":)" + body + "},\"oa\":{}}", now_ms_ + 100 * one_minute_ms), "");
  EXPECT_EQ(wide.look(R"({"oa":{}})", now_ms_ + 100 * one_minute_ms),
            "/oa/ia was number, is missing, and 31 more");

  Shape deep("1");
  std::string nested = "1";
  for (int level = 0; level < 50; ++level) nested = "{\"a\":" + nested + "}";
  for (std::uint32_t at = 0; at < Shape::looks_to_learn; ++at) {
    ASSERT_EQ(deep.look(nested, now_ms_ + at * 5 * one_minute_ms), "");
  }
  EXPECT_EQ(deep.learned(now_ms_ + 100 * one_minute_ms), Shape::depth_max + 1);
  const std::string hostile(200'000, '[');
  EXPECT_EQ(deep.look(hostile + std::string(200'000, ']'), now_ms_ + 100 * one_minute_ms),
            "the reply was object, is array");
}

TEST_F(ShapeTest, IsKeptAsItIs) {
  EXPECT_FALSE(shape_.take_changed());
  for (std::uint32_t at = 0; at < Shape::looks_to_learn; ++at) {
    ASSERT_EQ(look(at == 0 ? R"({"id":"a","by":null,"tags":[]})" : R"({"id":"a","tags":["x"]})"),
              "");
    EXPECT_TRUE(shape_.take_changed()) << at;
  }
  ASSERT_EQ(look(R"({"id":"a","tags":["x"]})"), "");
  EXPECT_TRUE(shape_.take_changed()) << "of an element, which one look had not";
  ASSERT_EQ(look(R"({"id":"a","tags":["x"]})"), "");
  EXPECT_FALSE(shape_.take_changed()) << "so it need not be written again";
  ASSERT_NE(look(R"({"id":1,"tags":["x"]})"), "");
  EXPECT_FALSE(shape_.take_changed()) << "an alarm is not learned from";

  auto read = Shape::read(shape_.canonical());
  ASSERT_TRUE(read.ok()) << read.error();
  EXPECT_EQ(read->basis(), "1 sha256:1");
  EXPECT_EQ(read->canonical(), shape_.canonical());
  EXPECT_FALSE(read->take_changed());
  EXPECT_EQ(read->look(R"({"id":1,"tags":["x"]})", now_ms_), "/id was string, is number");
  EXPECT_FALSE(text::parse_json(shape_.canonical()).is_discarded());
}

TEST_F(ShapeTest, WhatIsNoKeptShapeIsRefused) {
  for (const char* text :
       {"", "{", "[]", "{}", R"({"basis":1,"members":[]})", R"({"basis":"1","members":{}})",
        R"({"basis":"1","members":[{}]})",
        R"({"basis":"1","members":[{"pointer":"/a","kinds":[],"looks":-1,"since_ms":0}]})",
        R"({"basis":"1","members":[{"pointer":"/a","kinds":1,"looks":1,"since_ms":0}]})"}) {
    EXPECT_FALSE(Shape::read(text).ok()) << text;
  }
}

TEST(ShapeBasis, FollowsTheRevisionAndWhatIsExpected) {
  registry::Expectation expect;
  expect.hash = "sha256:1";
  const std::string basis = Shape::basis_of(expect, 3);
  EXPECT_NE(basis, Shape::basis_of(expect, 4));
  expect.hash = "sha256:2";
  EXPECT_NE(basis, Shape::basis_of(expect, 3));
}

}  // namespace
}  // namespace turnpike::status
