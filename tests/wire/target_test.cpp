#include "wire/target.h"

#include <gtest/gtest.h>

#include <string>

namespace turnpike::wire {
namespace {

TEST(Target, OriginFormIsSplitAtTheFirstQuestionMark) {
  const auto target = split_target("/a/b%2Fc?x=1?y=2");
  ASSERT_TRUE(target);
  EXPECT_EQ(target->form, TargetForm::origin);
  EXPECT_EQ(target->path, "/a/b%2Fc");
  EXPECT_TRUE(target->has_query);
  EXPECT_EQ(target->query, "x=1?y=2");

  const auto bare = split_target("/a");
  ASSERT_TRUE(bare);
  EXPECT_FALSE(bare->has_query);
  const auto empty_query = split_target("/a?");
  ASSERT_TRUE(empty_query);
  EXPECT_TRUE(empty_query->has_query);
  EXPECT_EQ(empty_query->query, "");
}

TEST(Target, AbsoluteFormLosesSchemeAndAuthority) {
  const auto target = split_target("HTTP://gateway.example:80/v1?x");
  ASSERT_TRUE(target);
  EXPECT_EQ(target->form, TargetForm::absolute);
  EXPECT_EQ(target->authority, "gateway.example:80");
  EXPECT_EQ(target->path, "/v1");
  EXPECT_EQ(target->query, "x");
  const auto no_path = split_target("https://gateway.example?x");
  ASSERT_TRUE(no_path);
  EXPECT_EQ(no_path->path, "/");
  EXPECT_EQ(no_path->query, "x");
}

TEST(Target, OtherFormsAndNone) {
  EXPECT_EQ(split_target("*")->form, TargetForm::asterisk);
  EXPECT_EQ(split_target("gateway.example:443")->form, TargetForm::authority);
  for (const char* text : {"", "a", "http://", "http:///x", "http://a b/", "http://u@h/",
                           "ftp://h/", "gateway.example:", ":443", "gateway.example:99999", "**"}) {
    EXPECT_FALSE(split_target(text)) << text;
  }
}

TEST(Target, AuthoritiesAsAHostFieldMayHold) {
  for (const char* text :
       {"a", "a:1", "127.0.0.1:8402", "[::1]", "[::1]:65535", "", "a%20b", "a:"}) {
    EXPECT_TRUE(is_valid_authority(text)) << text;
  }
  for (const char* text : {"a/b", "a b", "u@h", "a:b", "a:65536", "[::1", "[]", "[::1]x", "[g::]",
                           "a,b:1:2", "a\x7f"}) {
    EXPECT_FALSE(is_valid_authority(text)) << text;
  }
}

}  // namespace
}  // namespace turnpike::wire
