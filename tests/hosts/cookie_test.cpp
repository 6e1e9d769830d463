#include "hosts/cookie.h"

#include <stdexcept>

#include <gtest/gtest.h>

namespace turnpike::hosts {
namespace {

const Cookie session({.name = "__Host-s"});

// The result of reading one Cookie field: the value, "(none)" or "(refused)".
std::string read(std::string_view field_value) {
  const HeaderField fields[] = {{"X", "__Host-s=x"}, {"cookie", field_value}};
  const auto found = session.read(fields);
  if (!found.ok()) return "(refused)";
  return std::string(found->value_or("(none)"));
}

TEST(CookieTest, IsFoundAmongOthersByItsExactName) {
  EXPECT_EQ(read("__Host-s=abc"), "abc");
  EXPECT_EQ(read("a=1; __Host-s=abc; b=2"), "abc");
  EXPECT_EQ(read("__Host-s="), "");
  EXPECT_EQ(read("__Host-s=a=b"), "a=b");
  EXPECT_EQ(read("a=1;__Host-s=abc"), "abc");
  for (const char* other : {"", "a=1", "__host-s=abc", "__Host-ss=abc", "s=abc", "__Host-s",
                            "=__Host-s=abc", "a=__Host-s=abc", "; ;=; "}) {
    EXPECT_EQ(read(other), "(none)") << other;
  }
}

// Programs on other ports of the host also set cookies.
TEST(CookieTest, OthersMayLookAsTheyLike) {
  EXPECT_EQ(read("x={\"a\": [1, 2]}; __Host-s=abc; \x80\xFF=,"), "abc");
}

TEST(CookieTest, TwiceOrOutOfFormIsRefused) {
  for (const char* bad : {"__Host-s=a; __Host-s=a", "__Host-s=a; x=1; __Host-s=b", "__Host-s=\"a\"",
                          "__Host-s=a b", "__Host-s=a,b", "__Host-s=a\\b", "__Host-s=\xC3\xA9"}) {
    EXPECT_EQ(read(bad), "(refused)") << bad;
  }
  const HeaderField fields[] = {{"Cookie", "__Host-s=a"}, {"Cookie", "__Host-s=b"}};
  EXPECT_EQ(session.read(fields).error().code, base::ErrorCode::request_malformed);
}

TEST(CookieTest, IsSetWithItsAttributes) {
  EXPECT_EQ(session.set("token"), "__Host-s=token; Path=/; Secure; HttpOnly; SameSite=Lax");
  EXPECT_EQ(session.clear(), "__Host-s=; Path=/; Max-Age=0; Secure; HttpOnly; SameSite=Lax");
  const Cookie theme({.name = "theme",
                      .is_secure = false,
                      .is_for_scripts = true,
                      .same_site = SameSite::strict,
                      .path = "/a"});
  EXPECT_EQ(theme.set("dark", 60), "theme=dark; Path=/a; Max-Age=60; SameSite=Strict");
}

TEST(CookieTest, AValueAddsNoAttribute) {
  EXPECT_EQ(session.set("a; Domain=evil.example\r\nX: 1", 1),
            "__Host-s=a%3B%20Domain%3Devil.example%0D%0AX%3A%201; Path=/; Max-Age=1; Secure; "
            "HttpOnly; SameSite=Lax");
}

TEST(CookieTest, FactsThatABrowserWouldRefuseEndTheStart) {
  const CookieFacts bad[] = {{.name = ""},
                             {.name = "a b"},
                             {.name = "a=b"},
                             {.name = "__Host-s", .is_secure = false},
                             {.name = "__host-s", .is_secure = false},
                             {.name = "__Host-s", .path = "/a"},
                             {.name = "__Secure-s", .is_secure = false},
                             {.name = "s", .is_secure = false, .same_site = SameSite::none},
                             {.name = "s", .path = "a"},
                             {.name = "s", .path = ""},
                             {.name = "s", .path = "/; Domain=evil.example"},
                             {.name = "s", .path = "/\r\n"}};
  for (const CookieFacts& facts : bad) {
    EXPECT_THROW(Cookie{facts}, std::invalid_argument) << facts.name << " " << facts.path;
  }
  EXPECT_NO_THROW(Cookie({.name = "__Secure-s", .path = "/a"}));
}

}  // namespace
}  // namespace turnpike::hosts
