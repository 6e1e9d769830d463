#include "hosts/cors.h"

#include <map>
#include <string>

#include <gtest/gtest.h>

namespace turnpike::hosts {
namespace {

using FieldMap = std::map<std::string, std::string>;

constexpr CorsHeaders headers = {"X-Request-Id, ETag", "Authorization, Content-Type"};

FieldMap reply_fields(const Cors& cors, std::string_view origin) {
  ReplyFields fields;
  cors.add_reply_fields(origin, fields);
  FieldMap map;
  for (const HeaderField& field : fields.view()) map.emplace(field.name, field.value);
  return map;
}

FieldMap preflight_fields(const Cors& cors, std::string_view origin) {
  ReplyFields fields;
  cors.add_preflight_fields(origin, "GET, POST, OPTIONS", fields);
  FieldMap map;
  for (const HeaderField& field : fields.view()) map.emplace(field.name, field.value);
  return map;
}

TEST(CorsTest, AllOrigins) {
  const Cors cors(Origins({"*"}), headers);
  const FieldMap reply = reply_fields(cors, "https://app.example");
  EXPECT_EQ(reply.at("Access-Control-Allow-Origin"), "*");
  EXPECT_NE(reply.at("Access-Control-Expose-Headers").find("X-Request-Id"), std::string::npos);
  EXPECT_EQ(reply.count("Access-Control-Allow-Credentials"), 0u);
  EXPECT_TRUE(reply_fields(cors, "").empty()) << "not a request of a browser's page";
}

TEST(CorsTest, NamedOriginsAloneAreAllowed) {
  const Cors cors(Origins({"https://app.example", "https://two.example"}), headers);
  EXPECT_EQ(reply_fields(cors, "https://two.example").at("Access-Control-Allow-Origin"),
            "https://two.example");
  for (const char* other : {"https://evil.example", "http://app.example", "https://app.example:1",
                            "https://app.example.evil", "null", ""}) {
    const FieldMap reply = reply_fields(cors, other);
    EXPECT_EQ(reply.count("Access-Control-Allow-Origin"), 0u) << other;
    EXPECT_EQ(reply.at("Vary"), "Origin") << "caches must keep the answers apart";
  }
}

TEST(CorsTest, PagesOfThisMachineAreAllowedWhereThatIsSaid) {
  const Cors cors(Origins({}, Origins::Loopback::always), headers);
  EXPECT_EQ(reply_fields(cors, "http://localhost:6274").at("Access-Control-Allow-Origin"),
            "http://localhost:6274");
  const FieldMap reply = reply_fields(cors, "https://evil.example");
  EXPECT_EQ(reply.count("Access-Control-Allow-Origin"), 0u);
  EXPECT_EQ(reply.at("Vary"), "Origin");
}

TEST(CorsTest, NoOriginsMeansNoFields) {
  EXPECT_TRUE(reply_fields(Cors(Origins({}), headers), "https://app.example").empty());
  EXPECT_TRUE(preflight_fields(Cors(Origins({}), headers), "https://app.example").empty());
}

TEST(CorsTest, PreflightNamesMethodsAndHeaders) {
  const FieldMap reply = preflight_fields(Cors(Origins({"*"}), headers), "https://app.example");
  EXPECT_EQ(reply.at("Access-Control-Allow-Methods"), "GET, POST, OPTIONS");
  EXPECT_EQ(reply.at("Access-Control-Allow-Headers"), headers.requested);
}

}  // namespace
}  // namespace turnpike::hosts
