#include "text/uri.h"

#include <string>

#include <gtest/gtest.h>

namespace turnpike::text {
namespace {

// A slow and obvious implementation of the grammar.
bool is_by_grammar(std::string_view text, std::string_view also) {
  const std::string_view alphabet =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~!$&'()*+,;=:@/";
  const std::string_view hex = "0123456789abcdefABCDEF";
  std::string_view rest = text;
  while (!rest.empty()) {
    if (alphabet.find(rest[0]) != alphabet.npos || also.find(rest[0]) != also.npos) {
      rest.remove_prefix(1);
    } else if (rest.size() >= 3 && rest[0] == '%' && hex.find(rest[1]) != hex.npos &&
               hex.find(rest[2]) != hex.npos) {
      rest.remove_prefix(3);
    } else {
      return false;
    }
  }
  return true;
}

TEST(Uri, JudgesEveryByteAndEveryPairAfterAPercentSign) {
  for (int first = 0; first < 256; ++first) {
    const std::string one(1, static_cast<char>(first));
    EXPECT_EQ(query_fault(one) == std::string::npos, is_by_grammar(one, "?")) << first;
    EXPECT_EQ(path_fault(one) == std::string::npos, is_by_grammar(one, "")) << first;
    for (int second = 0; second < 256; ++second) {
      const std::string escape = {'%', static_cast<char>(first), static_cast<char>(second)};
      const bool expected = is_by_grammar(escape, "");
      ASSERT_EQ(query_fault(escape) == std::string::npos, expected) << first << ' ' << second;
      ASSERT_EQ(path_fault(escape) == std::string::npos, expected) << first << ' ' << second;
    }
  }
}

TEST(Uri, NamesTheFirstFault) {
  EXPECT_EQ(query_fault(""), std::string::npos);
  EXPECT_EQ(query_fault("a=1&a=2&b=%20%C3%a4&c=/?:@!$'()*+,;"), std::string::npos);
  EXPECT_EQ(query_fault("a=%zz"), 2u);
  EXPECT_EQ(query_fault("a=%2"), 2u);
  EXPECT_EQ(query_fault("a=%"), 2u);
  EXPECT_EQ(query_fault("a=<b>"), 2u);
  EXPECT_EQ(query_fault("a=b#c"), 3u);
  EXPECT_EQ(query_fault("a[]=1"), 1u);
  EXPECT_EQ(query_fault("\xC3\xA4"), 0u);
  EXPECT_EQ(query_fault(std::string_view("a\0b", 3)), 1u);
  EXPECT_EQ(path_fault("/a/b%2Fc:@;=/..//"), std::string::npos);
  EXPECT_EQ(path_fault("/a?b"), 2u);
  EXPECT_EQ(path_fault("/a%4"), 2u);
}

TEST(Uri, DecodesEscapesOrNothing) {
  EXPECT_EQ(percent_decoded("a%20b+%C3%A4%00"), std::string("a b+\xC3\xA4\0", 7));
  EXPECT_EQ(percent_decoded(""), "");
  for (const char* bad : {"%", "a%4", "%4G", "%%41"}) EXPECT_FALSE(percent_decoded(bad)) << bad;
}

}  // namespace
}  // namespace turnpike::text
