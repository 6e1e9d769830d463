#include "catalog/page_request.h"

#include <gtest/gtest.h>

namespace turnpike::catalog {
namespace {

using base::ErrorCode;

ErrorCode refusal(const PageParameters& parameters) {
  auto read = read_page_request(parameters);
  EXPECT_FALSE(read.ok());
  return read.ok() ? ErrorCode::gateway_internal : read.error().code;
}

TEST(PageRequestTest, DefaultsToFiftyOfEverything) {
  const auto read = read_page_request({});
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->limit, 50u);
  EXPECT_TRUE(read->cursor.empty());
  EXPECT_TRUE(read->provider_key.empty());
  EXPECT_FALSE(read->method);
}

TEST(PageRequestTest, LimitGoesFromOneToAThousand) {
  for (const auto& [text, value] :
       {std::pair{"1", 1u}, {"50", 50u}, {"999", 999u}, {"1000", 1000u}}) {
    const auto read = read_page_request({.limit = text});
    ASSERT_TRUE(read.ok()) << text;
    EXPECT_EQ(read->limit, value);
  }
  for (const char* text : {"", "0", "1001", "-1", "+1", "1.0", "01", "1e2", " 1", "1 ", "ten",
                           "4294967297", "99999999999999999999"}) {
    EXPECT_EQ(refusal({.limit = text}), ErrorCode::catalog_limit_invalid) << text;
  }
}

TEST(PageRequestTest, MethodIsExact) {
  EXPECT_EQ(read_page_request({.method = "GET"})->method, Method::get);
  EXPECT_EQ(read_page_request({.method = "POST"})->method, Method::post);
  for (const char* text : {"", "get", "Get", "HEAD", "PUT", "GET "}) {
    EXPECT_EQ(refusal({.method = text}), ErrorCode::catalog_filter_invalid) << text;
  }
}

TEST(PageRequestTest, ProviderKeyIsBounded) {
  EXPECT_TRUE(read_page_request({.provider_key = std::string(128, 'a')}).ok());
  EXPECT_EQ(refusal({.provider_key = std::string(129, 'a')}), ErrorCode::catalog_filter_invalid);
  EXPECT_EQ(refusal({.provider_key = ""}), ErrorCode::catalog_filter_invalid);
}

TEST(PageRequestTest, ASearchIsAFewWords) {
  EXPECT_EQ(read_page_request({.q = " A  few\nWORDS "})->search, "a few words");
  EXPECT_EQ(read_page_request({.q = ""})->search, "");
  EXPECT_EQ(read_page_request({.q = "\xC3\x9C"})->search, "\xC3\x9C");
  EXPECT_TRUE(read_page_request({.q = std::string(200, 'a')}).ok());
  EXPECT_EQ(refusal({.q = std::string(201, 'a')}), ErrorCode::catalog_filter_invalid);
  EXPECT_TRUE(read_page_request({.q = "1 2 3 4 5 6 7 8"}).ok());
  EXPECT_EQ(refusal({.q = "1 2 3 4 5 6 7 8 9"}), ErrorCode::catalog_filter_invalid);
  EXPECT_EQ(refusal({.q = "\xFF"}), ErrorCode::catalog_filter_invalid);
}

TEST(PageRequestTest, AnEmptyCursorIsNoCursor) {
  EXPECT_EQ(refusal({.cursor = ""}), ErrorCode::catalog_cursor_invalid);
}

}  // namespace
}  // namespace turnpike::catalog
