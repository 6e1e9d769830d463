#include "base/strict_object.h"

#include <gtest/gtest.h>

namespace turnpike::base {
namespace {

struct Read {
  std::string reason;
  std::size_t kind = 0;
  std::int64_t credits = 0;
  std::string reference;
  std::vector<std::string> problems;  // "location: problem"
};

Read read(std::string_view json) {
  StrictObject body(json, {"reason", "kind", "credits", "reference"});
  constexpr std::string_view kinds[] = {"refund", "void"};
  Read read;
  read.kind = body.one_of("kind", kinds);
  read.credits = body.units("credits", 1'000);
  read.reason = body.text("reason", {1, 5});
  read.reference = body.text_or("reference", {1, 5}, "none");
  for (const FieldProblem& problem : body.problems()) {
    read.problems.push_back(problem.location + ": " + problem.problem);
    EXPECT_FALSE(problem.fix.empty());
  }
  return read;
}

using Problems = std::vector<std::string>;

TEST(StrictObject, ReadsWhatIsInOrder) {
  const Read whole = read(R"({"reason":"slow","kind":"void","credits":"12","reference":"T-1"})");
  EXPECT_EQ(whole.problems, Problems{});
  EXPECT_EQ(whole.reason, "slow");
  EXPECT_EQ(whole.kind, 1u);
  EXPECT_EQ(whole.credits, 12);
  EXPECT_EQ(whole.reference, "T-1");
  EXPECT_EQ(read(R"({"reason":"slow","kind":"void","credits":"12"})").reference, "none");
}

TEST(StrictObject, TellsEveryProblemAtOnceByItsPointer) {
  EXPECT_EQ(read(R"({"kind":"gift","credits":7,"a/b~c":1,"reference":null})").problems,
            (Problems{"/a~1b~0c: it is not known", "/kind: it is none of those allowed",
                      "/credits: it is not a string", "/reason: it is missing",
                      "/reference: it is not a string"}));
}

TEST(StrictObject, RefusesAMemberThatComesTwice) {
  EXPECT_EQ(read(R"({"reason":"a","kind":"void","credits":"1","reason":"a"})").problems,
            Problems{"/reason: it is here more than once"});
  EXPECT_EQ(read("{\"reason\":\"a\",\"kind\":\"void\",\"credits\":\"1\",\"re\\u0061son\":\"a\"}")
                .problems,
            Problems{"/reason: it is here more than once"})
      << "also when it is spelt otherwise";
}

TEST(StrictObject, NestedValuesAreWrongTypesWhateverTheyHold) {
  EXPECT_EQ(
      read(R"({"reason":{"reason":"a","reason":"b"},"kind":["void"],"credits":"1"})").problems,
      (Problems{"/kind: it is not a string", "/reason: it is not a string"}));
}

TEST(StrictObject, WhatIsNoObjectIsOneProblem) {
  for (const char* json :
       {"", " ", "{", "nul", "{\"reason\":\"a\"", "{} {}", "{\"a\":1,}", "{\"reason\":\"\xFF\"}"}) {
    EXPECT_EQ(read(json).problems, Problems{": it is not JSON"}) << json;
  }
  for (const char* json : {"null", "1", "\"text\"", "[]", "[{\"reason\":\"a\"}]", "[\"a\"]"}) {
    EXPECT_EQ(read(json).problems, Problems{": it is not a JSON object"}) << json;
  }
  EXPECT_EQ(read(std::string(100'000, '[')).problems, Problems{": it is not JSON"});
}

TEST(StrictObject, UnitsAreCanonicalWholeNumbers) {
  const auto credits = [](const std::string& text) {
    return read(R"({"reason":"a","kind":"void","credits":")" + text + "\"}").credits;
  };
  EXPECT_EQ(credits("1"), 1);
  EXPECT_EQ(credits("1000"), 1'000);
  for (const char* text :
       {"", "0", "01", "+1", "-1", " 1", "1 ", "1.0", "1e2", "1001", "99999999999999999999", "١"}) {
    EXPECT_EQ(credits(text), 0) << text;
  }
}

TEST(StrictObject, LengthsCountCharactersAtTheBoundAndOnePast) {
  const auto problems = [](const std::string& reason) {
    return read(R"({"kind":"void","credits":"1","reason":")" + reason + "\"}").problems;
  };
  EXPECT_EQ(problems("äöüßé"), Problems{});
  EXPECT_EQ(problems("äöüßéx"), Problems{"/reason: it has 6 characters"});
  EXPECT_EQ(problems(""), Problems{"/reason: it has 0 characters"});
  EXPECT_EQ(problems("a\\u0000"), Problems{"/reason: it holds a control character"});
  EXPECT_EQ(problems("a\\n"), Problems{"/reason: it holds a control character"});
}

}  // namespace
}  // namespace turnpike::base
