// The reader of the Bearer credential, which all hosts share.
#include "identity/bearer.h"

#include <vector>

#include <gtest/gtest.h>

namespace turnpike::identity {
namespace {

struct Case {
  std::string_view value;
  Authorization form;
  std::string_view token;
};

TEST(BearerTest, TheSchemeIsOfAnyCaseAndOneOrMoreSpacesFollow) {
  const Case cases[] = {
      {"Bearer abc", Authorization::bearer, "abc"},
      {"bearer abc", Authorization::bearer, "abc"},
      {"Bearer  abc", Authorization::bearer, "abc"},
      {"BEARER   a-._~+/9==", Authorization::bearer, "a-._~+/9=="},
      {"Bearer", Authorization::malformed, ""},
      {"Bearer ", Authorization::malformed, ""},
      {"Bearer a b", Authorization::malformed, ""},
      {"Bearer a=b", Authorization::malformed, ""},
      {"Bearer ==", Authorization::malformed, ""},
      {"Bearer a,b", Authorization::malformed, ""},
      {"Bearer\tabc", Authorization::malformed, ""},
      {"", Authorization::malformed, ""},
      {" Bearer a", Authorization::malformed, ""},
      {"(x) abc", Authorization::malformed, ""},
      {"Basic dXNlcjpwYXNz", Authorization::other_scheme, ""},
      {"Bearerabc", Authorization::other_scheme, ""},
  };
  for (const Case& one : cases) {
    const HeaderField field{"AuthoriZation", one.value};
    const Bearer read = read_bearer({&field, 1});
    EXPECT_EQ(read.form, one.form) << one.value;
    EXPECT_EQ(read.token, one.token) << one.value;
  }
}

TEST(BearerTest, TheFieldComesOnce) {
  const std::vector<HeaderField> none = {{"Accept", "Bearer a"}};
  EXPECT_EQ(read_bearer(none).form, Authorization::none);
  const std::vector<HeaderField> twice = {{"Authorization", "Bearer a"}, {"authorization", "x"}};
  EXPECT_EQ(read_bearer(twice).form, Authorization::repeated);
  EXPECT_EQ(read_bearer(twice).token, "");
}

}  // namespace
}  // namespace turnpike::identity
