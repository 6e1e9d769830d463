#include "text/http_field.h"

#include <algorithm>
#include <cctype>
#include <string>

#include <gtest/gtest.h>

namespace turnpike::text {
namespace {

TEST(HttpField, EveryByteOfANameIsJudgedAsTheGrammarSays) {
  EXPECT_FALSE(is_field_name(""));
  for (int value = 0; value < 256; ++value) {
    const char c = static_cast<char>(value);
    const bool is_token_byte = value > 0 && value < 0x80 &&
                               (std::isalnum(value) != 0 ||
                                std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string::npos);
    EXPECT_EQ(is_field_name(std::string(1, c)), is_token_byte) << value;
    EXPECT_EQ(is_field_name("X-" + std::string(1, c) + "-Y"), is_token_byte) << value;
  }
}

// Each byte is tested at every place of a machine word, beside bytes that a carry could change.
TEST(HttpField, EveryByteOfAValueOrAUrlIsJudgedAsTheGrammarSays) {
  EXPECT_TRUE(is_field_value(""));
  for (const char beside : {' ', '!', 'x', '\t', '~', '\x80', '\xFF'}) {
    for (std::size_t length = 1; length <= 17; ++length) {
      for (std::size_t place = 0; place < length; ++place) {
        for (int value = 0; value < 256; ++value) {
          std::string text(length, beside);
          text[place] = static_cast<char>(value);
          const bool is_good = (value >= 0x20 && value != 0x7F) || value == '\t';
          ASSERT_EQ(is_field_value(text), is_good) << length << " " << place << " " << value;
          const bool is_beside_visible = length == 1 || (beside > ' ' && beside < 0x7F);
          ASSERT_EQ(is_visible_ascii(text), is_beside_visible && value > 0x20 && value < 0x7F)
              << length << " " << place << " " << value;
        }
      }
    }
  }
}

TEST(HttpField, MediaTypesAreReadWithoutParametersAndBlanks) {
  EXPECT_EQ(trimmed(" \t a b\t "), "a b");
  EXPECT_EQ(trimmed(" \t "), "");
  EXPECT_EQ(media_type_of("application/json"), "application/json");
  EXPECT_EQ(media_type_of("application/json \t; charset=utf-8; q=\"a;b\""), "application/json");
  EXPECT_EQ(media_type_of("application/json x"), "application/json x") << "which is none";
  EXPECT_EQ(media_type_of(""), "");
}

}  // namespace
}  // namespace turnpike::text
