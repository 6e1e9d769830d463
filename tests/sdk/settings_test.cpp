#include <turnpike/settings.h>

#include <gtest/gtest.h>

#include "support/settings.h"

namespace turnpike {
namespace {

TEST(Settings, AbsentKeysGiveTheFallback) {
  const Settings settings = map({});
  EXPECT_EQ(*settings.string("name", "x"), "x");
  EXPECT_EQ(*settings.integer("count", 7, 0, 10), 7);
  EXPECT_TRUE(*settings.boolean("flag", true));
  EXPECT_EQ(*settings.secret("key"), "");
  EXPECT_EQ(settings.find("name"), nullptr);
}

TEST(Settings, IntegersAreDecimalWholeUnquotedAndBounded) {
  for (const char* text :
       {"", "x", "1x", " 1", "1 ", "0x10", "1.0", "+1", "11", "-1", "99999999999999999999"}) {
    const auto value = map({{"n", scalar(text)}}).integer("n", 0, 0, 10);
    ASSERT_FALSE(value.ok()) << text;
    EXPECT_EQ(value.error().kind, FailureKind::invalid_settings);
    EXPECT_EQ(value.error().where, "n");
    EXPECT_EQ(value.error().message, "expected an integer from 0 to 10");
  }
  EXPECT_FALSE(map({{"n", quoted("5")}}).integer("n", 0, 0, 10).ok());
  EXPECT_EQ(*map({{"n", scalar("010")}}).integer("n", 0, 0, 10), 10);
  EXPECT_EQ(*map({{"n", scalar("0")}}).integer("n", 3, 0, 10), 0);
}

TEST(Settings, BooleansAreTrueAndFalseOnly) {
  EXPECT_TRUE(*map({{"b", scalar("true")}}).boolean("b", false));
  EXPECT_FALSE(*map({{"b", scalar("false")}}).boolean("b", true));
  for (const char* text : {"yes", "True", "1", "on", ""}) {
    EXPECT_FALSE(map({{"b", scalar(text)}}).boolean("b", false).ok()) << text;
  }
  EXPECT_FALSE(map({{"b", quoted("true")}}).boolean("b", false).ok());
}

TEST(Settings, ASecretIsReadAsASecretAndAsNothingElse) {
  const Settings settings = map({{"key", secret("hush")}, {"text", scalar("plain")}});
  EXPECT_EQ(*settings.secret("key"), "hush");
  const auto leaked = settings.string("key", "");
  ASSERT_FALSE(leaked.ok());
  EXPECT_EQ(leaked.error().message.find("hush"), std::string::npos);
  EXPECT_FALSE(settings.integer("key", 0, 0, 1).ok());
  EXPECT_FALSE(settings.boolean("key", false).ok());
  EXPECT_FALSE(settings.secret("text").ok());
}

TEST(Settings, AnUnknownKeyIsRefusedWithTheNearestKnownName) {
  const Settings settings = map({{"base_url", scalar("x")}, {"timeout_mss", scalar("1")}});
  const Done done = settings.only({"base_url", "timeout_ms", "probe"});
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().where, "timeout_mss");
  EXPECT_EQ(done.error().message, "unknown key; did you mean `timeout_ms`?");
  const Done far = map({{"zzzzzz", scalar("x")}}).only({"base_url", "probe"});
  ASSERT_FALSE(far.ok());
  EXPECT_EQ(far.error().message, "unknown key");
  EXPECT_TRUE(map({{"probe", scalar("x")}}).only({"base_url", "probe"}).ok());
  EXPECT_TRUE(Settings{}.only({"base_url"}).ok());
  EXPECT_FALSE(scalar("x").only({"base_url"}).ok());
}

TEST(Settings, EditDistanceIsTheTextbookOne) {
  EXPECT_EQ(edit_distance("", ""), 0u);
  EXPECT_EQ(edit_distance("abc", ""), 3u);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
  EXPECT_EQ(edit_distance("flaw", "lawn"), 2u);
}

}  // namespace
}  // namespace turnpike
