#include "hosts/form.h"

#include <gtest/gtest.h>

namespace turnpike::hosts {
namespace {

std::string value_of(std::string_view body, std::string_view name) {
  const auto form = read_form(body, 8);
  if (!form.ok()) return "(refused)";
  return form->find(name).value_or("(none)");
}

TEST(FormTest, DecodesNamesAndValues) {
  EXPECT_EQ(value_of("a=1&b=2", "b"), "2");
  EXPECT_EQ(value_of("a+b=c+d", "a b"), "c d");
  EXPECT_EQ(value_of("a=%2B%26%3d%25", "a"), "+&=%");
  EXPECT_EQ(value_of("a=%C3%A9", "a"), "é");
  EXPECT_EQ(value_of("a=b=c", "a"), "b=c");
  EXPECT_EQ(value_of("a", "a"), "");
  EXPECT_EQ(value_of("a=", "a"), "");
  EXPECT_EQ(value_of("=v", ""), "v");
  EXPECT_EQ(value_of("&&a=1&", "a"), "1");
  EXPECT_EQ(value_of("", "a"), "(none)");
  EXPECT_EQ(value_of("A=1", "a"), "(none)");
}

TEST(FormTest, RefusesWhatCouldBeReadInTwoWays) {
  for (const char* bad : {"a=1&a=1", "a=1&%61=2", "a+b=1&a%20b=2", "a=%", "a=%4", "a=%4G", "a=%C3",
                          "a=%FF", "%ED%A0%80=1", "a=\xFF"}) {
    EXPECT_EQ(value_of(bad, "a"), "(refused)") << bad;
    EXPECT_EQ(read_form(bad, 8).error().code, base::ErrorCode::request_body_rejected);
  }
}

TEST(FormTest, CountsFields) {
  EXPECT_EQ(read_form("a=1&b=2", 2)->size(), 2u);
  EXPECT_FALSE(read_form("a=1&b=2&c=3", 2).ok());
  EXPECT_FALSE(read_form("a=1", 0).ok());
}

}  // namespace
}  // namespace turnpike::hosts
