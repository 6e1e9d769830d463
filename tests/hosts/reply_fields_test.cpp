#include "hosts/reply_fields.h"

#include <string>

#include <gtest/gtest.h>

namespace turnpike::hosts {
namespace {

std::string value_of(const ReplyFields& fields, std::string_view name) {
  for (const HeaderField& field : fields.view()) {
    if (field.name == name) return std::string(field.value);
  }
  return "absent";
}

TEST(ReplyFieldsTest, WritesNumbersAndTimings) {
  ReplyFields fields;
  fields.add_number("A", 0);
  fields.add_number("B", 18'446'744'073'709'551'615u);
  fields.add_timing(1'234, 0);
  EXPECT_EQ(value_of(fields, "A"), "0");
  EXPECT_EQ(value_of(fields, "B"), "18446744073709551615");
  EXPECT_EQ(value_of(fields, "Server-Timing"), "gateway;dur=1.234");
}

TEST(ReplyFieldsTest, TimingsAreMillisecondsOfBothParts) {
  ReplyFields fields;
  fields.add_timing(7, 4'294'967'295u);
  EXPECT_EQ(value_of(fields, "Server-Timing"), "gateway;dur=0.007, upstream;dur=4294967.295");
}

TEST(ReplyFieldsTest, HoldsAnyNumberOfFieldsInOrder) {
  std::vector<std::string> names;
  for (int at = 0; at < 200; ++at) names.push_back("N" + std::to_string(at));
  ReplyFields fields;
  for (std::size_t at = 0; at < names.size(); ++at) {
    fields.add(names[at], "v");
    ASSERT_EQ(fields.view().size(), at + 1);
  }
  for (std::size_t at = 0; at < names.size(); ++at) EXPECT_EQ(fields.view()[at].name, names[at]);
}

TEST(ReplyFieldsTest, FindsNamesInAnyCase) {
  ReplyFields fields;
  fields.add("cache-control", "no-store");
  EXPECT_TRUE(fields.has("Cache-Control"));
  EXPECT_FALSE(fields.has("Cache-Controls"));
}

}  // namespace
}  // namespace turnpike::hosts
