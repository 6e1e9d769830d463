#include "hosts/query.h"

#include <gtest/gtest.h>

namespace turnpike::hosts {
namespace {

using base::ErrorCode;

ErrorCode refusal(std::string_view text) {
  auto read = read_query(text, {"limit", "cursor"});
  EXPECT_FALSE(read.ok()) << text;
  return read.ok() ? ErrorCode::gateway_internal : read.error().code;
}

TEST(FixedQueryTest, DecodesNamesAndValues) {
  const auto read = read_query("lim%69t=5%30&cursor=a%2Eb%3d%26", {"limit", "cursor"});
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->find("limit"), "50");
  EXPECT_EQ(read->find("cursor"), "a.b=&");
  EXPECT_EQ(read->find("method"), std::nullopt);
}

TEST(FixedQueryTest, KeepsPlusAndEmptyValues) {
  const auto read = read_query("limit=a+b&cursor", {"limit", "cursor"});
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->find("limit"), "a+b");
  EXPECT_EQ(read->find("cursor"), "");
  EXPECT_TRUE(read_query("", {}).ok());
  EXPECT_TRUE(read_query("&&", {}).ok());
}

TEST(FixedQueryTest, RefusesUnknownAndRepeatedNames) {
  for (const char* text :
       {"x=1", "limit=1&x", "Limit=1", "limit=1&limit=1", "limit=1&l%69mit=2", "=1", "limit[]=1"}) {
    const ErrorCode code = refusal(text);
    // Brackets are not valid characters of a query.
    EXPECT_EQ(code, std::string_view(text).find('[') == std::string_view::npos
                        ? ErrorCode::request_query_rejected
                        : ErrorCode::request_query_malformed)
        << text;
  }
}

TEST(FixedQueryTest, RefusesWhatIsNoQuery) {
  for (const char* text : {"limit=%zz", "limit=%", "limit=%4", "limit=<", "limit=\x80", "x= "}) {
    EXPECT_EQ(refusal(text), ErrorCode::request_query_malformed) << text;
  }
}

TEST(FixedQueryTest, NamesWhatItTakes) {
  const auto read = read_query("page=2", {"limit", "cursor"});
  ASSERT_FALSE(read.ok());
  ASSERT_EQ(read.error().fields.size(), 1u);
  EXPECT_EQ(read.error().fields[0].location, "query.page");
  EXPECT_EQ(read.error().fields[0].fix, "It takes: limit, cursor");
}

}  // namespace
}  // namespace turnpike::hosts
