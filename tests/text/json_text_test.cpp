// Regression: the JSON library treats a NUL byte as the end of its input.
#include "text/json_text.h"

#include <string>

#include <gtest/gtest.h>

namespace turnpike::text {
namespace {

using std::string_literals::operator""s;

class CountingReader final : public nlohmann::json_sax<nlohmann::json> {
 public:
  int values = 0;
  int errors = 0;
  bool null() override { return ++values > 0; }
  bool boolean(bool) override { return ++values > 0; }
  bool number_integer(number_integer_t) override { return ++values > 0; }
  bool number_unsigned(number_unsigned_t) override { return ++values > 0; }
  bool number_float(number_float_t, const string_t&) override { return ++values > 0; }
  bool string(string_t&) override { return ++values > 0; }
  bool binary(binary_t&) override { return ++values > 0; }
  bool start_object(std::size_t) override { return ++values > 0; }
  bool key(string_t&) override { return true; }
  bool end_object() override { return true; }
  bool start_array(std::size_t) override { return ++values > 0; }
  bool end_array() override { return true; }
  bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception&) override {
    ++errors;
    return false;
  }
};

TEST(JsonTextTest, ANulByteIsNoJsonWhereverItStands) {
  for (const std::string& text : {"{}\0"s, "{}\0garbage{"s, "\0{}"s, "\0"s, "{\0}"s, "7\0"s,
                                  "{\"a\":\0 1}"s, "\"a\0b\""s, "[1,2]\0\0\0"s}) {
    EXPECT_TRUE(parse_json(text).is_discarded()) << text;
    CountingReader reader;
    EXPECT_FALSE(read_json(text, reader)) << text;
    EXPECT_EQ(reader.errors, 1) << text;
  }
}

TEST(JsonTextTest, JsonIsReadAsAWhole) {
  EXPECT_EQ(parse_json(R"( {"a":[1,"\u0000"]} )"), (nlohmann::json{{"a", {1, "\0"s}}}));
  CountingReader reader;
  EXPECT_TRUE(read_json(R"({"a":[1,"\u0000"]})", reader));
  EXPECT_EQ(reader.values, 4);
  for (const char* text : {"", "{", "{} {}", "{}x"}) {
    EXPECT_TRUE(parse_json(text).is_discarded()) << text;
  }
}

}  // namespace
}  // namespace turnpike::text
