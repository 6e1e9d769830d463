#include "catalog/cursor.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "crypto/digest.h"
#include "text/encoding.h"

namespace turnpike::catalog {
namespace {

using base::ErrorCode;
using nlohmann::json;

const std::string key = "0123456789abcdef0123456789abcdef";
const std::string after = "route-00112233445566778899aabbccddeeff";

// Signs any content as a node does.
std::string signed_cursor(const json& content) {
  const std::string payload = content.dump();
  const crypto::Sha256 mac = crypto::hmac_sha256(key, "turnpike capability cursor\n" + payload);
  return text::base64url(payload) + "." +
         text::base64url({reinterpret_cast<const char*>(mac.data()), mac.size()});
}

class CursorTest : public testing::Test {
 protected:
  const std::string filter = filter_digest("govdata", "GET");
  const CursorBinding binding{"gen_1", public_projection, filter};
  const std::string cursor = make_cursor(binding, after, key);

  ErrorCode refusal(const std::string& text, const CursorBinding& now) const {
    auto read = read_cursor(text, now, key);
    EXPECT_FALSE(read.ok()) << text;
    return read.ok() ? ErrorCode::gateway_internal : read.error().code;
  }
  ErrorCode refusal(const std::string& text) const { return refusal(text, binding); }
};

TEST_F(CursorTest, LeadsBackToWhereThePageEnded) {
  const auto read = read_cursor(cursor, binding, key);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(*read, after);
}

TEST_F(CursorTest, IsCanonicalJsonOfVersionFive) {
  const auto payload = text::from_base64url(cursor.substr(0, cursor.find('.')));
  ASSERT_TRUE(payload);
  EXPECT_EQ(*payload, R"({"after":")" + after + R"(","filter":")" + filter +
                          R"(","generation":"gen_1","projection":"public.v5","v":5})");
}

TEST_F(CursorTest, EveryAlteredCharacterIsRefused) {
  for (std::size_t at = 0; at < cursor.size(); ++at) {
    for (const char other : {'A', 'b', '7', '-', '.', '=', ' ', '\0', '\xff'}) {
      if (cursor[at] == other) continue;
      std::string altered = cursor;
      altered[at] = other;
      ASSERT_EQ(refusal(altered), ErrorCode::catalog_cursor_invalid) << at << " " << int(other);
    }
  }
}

TEST_F(CursorTest, EveryTruncationAndExtensionIsRefused) {
  for (std::size_t length = 0; length < cursor.size(); ++length) {
    ASSERT_EQ(refusal(cursor.substr(0, length)), ErrorCode::catalog_cursor_invalid) << length;
  }
  EXPECT_EQ(refusal(cursor + "A"), ErrorCode::catalog_cursor_invalid);
  EXPECT_EQ(refusal(cursor + "." + cursor), ErrorCode::catalog_cursor_invalid);
  EXPECT_EQ(refusal(std::string(100'000, 'A')), ErrorCode::catalog_cursor_invalid);
}

TEST_F(CursorTest, AnotherKeyIsRefused) {
  const std::string foreign = make_cursor(binding, after, "another key of another service.....");
  EXPECT_EQ(refusal(foreign), ErrorCode::catalog_cursor_invalid);
}

TEST_F(CursorTest, AnotherFilterIsRefusedAsABadRequest) {
  for (const auto& [provider, method] :
       {std::pair{"", ""}, {"govdata", ""}, {"", "GET"}, {"govdata", "POST"}, {"other", "GET"}}) {
    const std::string other = filter_digest(provider, method);
    EXPECT_EQ(refusal(cursor, {"gen_1", public_projection, other}),
              ErrorCode::catalog_cursor_invalid)
        << provider << " " << method;
  }
}

TEST_F(CursorTest, AnotherGenerationOrProjectionRestartsPaging) {
  EXPECT_EQ(refusal(cursor, {"gen_2", public_projection, filter}), ErrorCode::catalog_cursor_stale);
  EXPECT_EQ(refusal(cursor, {"gen_1", "public.v6", filter}), ErrorCode::catalog_cursor_stale);
}

TEST_F(CursorTest, VersionThreeIsReadWithoutProjection) {
  const json content = {{"v", 3}, {"generation", "gen_1"}, {"after", after}};
  const auto read = read_cursor(signed_cursor(content), binding, key);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(*read, after);
  EXPECT_EQ(refusal(signed_cursor(content), {"gen_2", public_projection, filter}),
            ErrorCode::catalog_cursor_stale);

  json filtered = content;
  filtered["filter"] = filter;
  EXPECT_TRUE(read_cursor(signed_cursor(filtered), binding, key).ok());
  filtered["filter"] = filter_digest("other", "");
  EXPECT_EQ(refusal(signed_cursor(filtered)), ErrorCode::catalog_cursor_invalid);
}

TEST_F(CursorTest, VersionFourIsReadWithoutFilter) {
  json content = {{"v", 4}, {"generation", "gen_1"}, {"projection", "public.v5"}, {"after", after}};
  EXPECT_TRUE(read_cursor(signed_cursor(content), binding, key).ok());
  content["projection"] = "public.v4";
  EXPECT_EQ(refusal(signed_cursor(content)), ErrorCode::catalog_cursor_stale);
  content.erase("projection");
  EXPECT_EQ(refusal(signed_cursor(content)), ErrorCode::catalog_cursor_invalid);
}

TEST_F(CursorTest, SignedContentOfAnotherShapeIsRefused) {
  const json whole = {{"v", 5},
                      {"generation", "gen_1"},
                      {"projection", "public.v5"},
                      {"filter", filter},
                      {"after", after}};
  ASSERT_TRUE(read_cursor(signed_cursor(whole), binding, key).ok());
  for (const auto& [name, value] : whole.items()) {
    json without = whole;
    without.erase(name);
    EXPECT_EQ(refusal(signed_cursor(without)), ErrorCode::catalog_cursor_invalid) << name;
    json other_type = whole;
    other_type[name] = json::array();
    EXPECT_EQ(refusal(signed_cursor(other_type)), ErrorCode::catalog_cursor_invalid) << name;
  }
  for (const int version : {-1, 0, 2, 6}) {
    json other = whole;
    other["v"] = version;
    EXPECT_EQ(refusal(signed_cursor(other)), ErrorCode::catalog_cursor_invalid) << version;
  }
  EXPECT_EQ(refusal(signed_cursor(json::array({1, 2}))), ErrorCode::catalog_cursor_invalid);
}

TEST_F(CursorTest, RefusalsSayWhatToDo) {
  const auto stale = read_cursor(cursor, {"gen_2", public_projection, filter}, key);
  ASSERT_FALSE(stale.ok());
  EXPECT_EQ(base::info_of(stale.error().code).advice, base::Advice::restart_paging);
  ASSERT_EQ(stale.error().fields.size(), 1u);
  EXPECT_EQ(stale.error().fields[0].location, "query.cursor");
}

}  // namespace
}  // namespace turnpike::catalog
