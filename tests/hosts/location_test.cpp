#include "hosts/location.h"

#include <gtest/gtest.h>

namespace turnpike::hosts {
namespace {

TEST(LocationTest, IsAPathOfThisHostOrOfAListedOrigin) {
  const Origins origins({"https://app.example", "http://localhost:3000"});
  for (const char* text : {"/", "/a", "/a//b", "/a?b=https://evil.example#c", "/%2F%2Fevil.example",
                           "https://app.example", "https://app.example/x", "HTTPS://APP.example/x",
                           "https://app.example:443/", "http://localhost:3000/?x"}) {
    const auto location = Location::read(text, origins);
    ASSERT_TRUE(location) << text;
    EXPECT_EQ(location->text(), text);
  }
}

TEST(LocationTest, IsNothingElse) {
  const Origins origins({"https://app.example"});
  for (const char* text : {"",
                           "a",
                           "a/b",
                           "?a",
                           "#a",
                           "//evil.example",
                           "///evil.example",
                           "/\\evil.example",
                           "\\/evil.example",
                           "/\t/evil.example",
                           "\t//evil.example",
                           "/a\r\nSet-Cookie: x=1",
                           "/a b",
                           "/\xC3\xA9",
                           "https://evil.example/",
                           "http://app.example/",
                           "https://app.example:444/",
                           "https://app.example@evil.example/",
                           "https://app.example.evil.example/",
                           "https://app.example\\@evil.example/",
                           "https:app.example",
                           "https:/app.example",
                           "https:///app.example",
                           "javascript:alert(1)",
                           "data:text/html,x",
                           " /a",
                           "javascript://app.example/%0Aalert(1)"}) {
    EXPECT_FALSE(Location::read(text, origins)) << text;
  }
  EXPECT_FALSE(Location::read("https://app.example/", Origins({"*"}))) << "an open redirect";
  EXPECT_FALSE(Location::read("https://app.example/"));
}

}  // namespace
}  // namespace turnpike::hosts
