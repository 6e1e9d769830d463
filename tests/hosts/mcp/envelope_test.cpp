#include "hosts/mcp/envelope.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace turnpike::hosts::mcp {
namespace {

using Fields = std::vector<HeaderField>;

const Json full_meta = {{version_key, "2026-07-28"}, {capabilities_key, Json::object()}};

Message message(std::string method, Json params = Json::object()) {
  return {"1", std::move(method), std::move(params)};
}

Message modern(std::string method = "tools/list", Json params = Json::object()) {
  params["_meta"] = full_meta;
  return message(std::move(method), std::move(params));
}

Fields headers_of(std::string_view method) {
  return {{"Content-Type", "application/json"},
          {"MCP-Protocol-Version", "2026-07-28"},
          {"mcp-method", method}};
}

void expect_refused(const Message& asked, const Fields& fields, RpcCode code) {
  const auto era = read_envelope(asked, fields);
  ASSERT_FALSE(era.ok());
  EXPECT_EQ(era.error().code, code) << era.error().message;
  EXPECT_EQ(era.error().http_status, 400);
}

TEST(EnvelopeTest, MetaDecidesTheEra) {
  const auto era = read_envelope(modern(), headers_of("tools/list"));
  ASSERT_TRUE(era.ok()) << era.error().message;
  EXPECT_EQ(*era, Era::modern);
}

TEST(EnvelopeTest, ParamsAreAnObject) {
  for (const Json& params : {Json::array(), Json(nullptr), Json(1), Json("x")}) {
    expect_refused(message("ping", params), {}, RpcCode::invalid_params);
    expect_refused(message("ping", params), headers_of("ping"), RpcCode::invalid_params);
  }
}

TEST(EnvelopeTest, WithoutAnyClaimItIsLegacy) {
  for (const Fields& fields : {Fields{}, Fields{{"MCP-Protocol-Version", "2025-11-25"}},
                               Fields{{"mcp-protocol-version", "2025-06-18"}}}) {
    const auto era = read_envelope(message("tools/list"), fields);
    ASSERT_TRUE(era.ok());
    EXPECT_EQ(*era, Era::legacy);
  }
  EXPECT_EQ(*read_envelope(message("tools/call", {{"_meta", {{"progressToken", 1}}}}), {}),
            Era::legacy);
}

TEST(EnvelopeTest, AVersionThatIsNotKnownIsRefusedWithThoseThatAre) {
  Message asked = modern();
  asked.params["_meta"][version_key] = "2027-01-01";
  Fields fields = headers_of("tools/list");
  fields[1].value = "2027-01-01";
  expect_refused(asked, fields, RpcCode::version_unsupported);
  const Json data = read_envelope(asked, fields).error().data;
  EXPECT_EQ(data["requested"], "2027-01-01");
  EXPECT_EQ(data["supported"], Json::array({"2026-07-28"}));
  for (const char* version : {"2025-03-26", "2024-11-05", "1"}) {
    expect_refused(message("tools/list"), {{"MCP-Protocol-Version", version}},
                   RpcCode::version_unsupported);
  }
}

TEST(EnvelopeTest, AModernRequestWithoutItsMetaLacksParams) {
  expect_refused(message("tools/list"), headers_of("tools/list"), RpcCode::invalid_params);
  expect_refused(message("tools/list"), {{"Mcp-Method", "tools/list"}}, RpcCode::invalid_params);
  for (const Json& meta : {Json{{version_key, 7}, {capabilities_key, Json::object()}},
                           Json{{version_key, "2026-07-28"}},
                           Json{{version_key, "2026-07-28"}, {capabilities_key, Json::array()}}}) {
    expect_refused(message("tools/list", {{"_meta", meta}}), headers_of("tools/list"),
                   RpcCode::invalid_params);
  }
  expect_refused(message("tools/list", {{"_meta", 1}}), {}, RpcCode::invalid_params);
}

TEST(EnvelopeTest, ALegacyVersionIsLegacyWhateverOtherHeadersSay) {
  const auto era = read_envelope(
      message("initialize"), Fields{{"MCP-Protocol-Version", "2025-11-25"}, {"Mcp-Method", "x"}});
  ASSERT_TRUE(era.ok());
  EXPECT_EQ(*era, Era::legacy);
}

// Clients learn the versions by the handshake.
TEST(EnvelopeTest, AHandshakeIsLegacyWhateverVersionItsHeaderNames) {
  for (const char* version : {"2025-03-26", "2024-11-05", "2099-01-01", "draft", ""}) {
    const Fields headers = {{"MCP-Protocol-Version", version}};
    const auto era = read_envelope(message("initialize"), headers);
    ASSERT_TRUE(era.ok()) << version;
    EXPECT_EQ(*era, Era::legacy) << version;
  }
  const Fields old = {{"MCP-Protocol-Version", "2025-03-26"}};
  expect_refused(message("tools/list"), old, RpcCode::version_unsupported);
}

TEST(EnvelopeTest, HeadersMirrorTheBody) {
  const Message asked = modern("tools/call", {{"name", "a.b"}});
  Fields right = headers_of("tools/call");
  right.push_back({"Mcp-Name", "a.b"});
  EXPECT_TRUE(read_envelope(asked, right).ok());
  for (std::size_t at = 1; at < right.size(); ++at) {
    Fields missing = right;
    missing.erase(missing.begin() + static_cast<std::ptrdiff_t>(at));
    expect_refused(asked, missing, RpcCode::header_mismatch);
    Fields other = right;
    other[at].value = "other";
    expect_refused(asked, other, RpcCode::header_mismatch);
    Fields twice = right;
    twice.push_back(right[at]);
    expect_refused(asked, twice, RpcCode::header_mismatch);
  }
  Fields cased = right;
  cased[2].value = "TOOLS/CALL";
  expect_refused(asked, cased, RpcCode::header_mismatch);
}

TEST(EnvelopeTest, ResourcesAndPromptsAreNamedToo) {
  Fields fields = headers_of("resources/read");
  fields.push_back({"Mcp-Name", "service://x"});
  EXPECT_TRUE(read_envelope(modern("resources/read", {{"uri", "service://x"}}), fields).ok());
  expect_refused(modern("resources/read", {{"uri", "service://y"}}), fields,
                 RpcCode::header_mismatch);
  expect_refused(modern("prompts/get", {{"name", "p"}}), headers_of("prompts/get"),
                 RpcCode::header_mismatch);
}

TEST(EnvelopeTest, ANotificationNeedsNoMeta) {
  Message notification = message("notifications/cancelled");
  notification.id.clear();
  const auto era = read_envelope(notification, headers_of("notifications/cancelled"));
  ASSERT_TRUE(era.ok());
  EXPECT_EQ(*era, Era::modern);
}

TEST(EnvelopeTest, HeaderValuesMayBeEncoded) {
  EXPECT_EQ(decode_header_value("plain text"), "plain text");
  EXPECT_EQ(decode_header_value("=?base64?w7Zs?="), "öl");
  EXPECT_EQ(decode_header_value("=?BASE64?w7Zs?="), "=?BASE64?w7Zs?=");
  EXPECT_EQ(decode_header_value("=?base64?w7Zs"), "=?base64?w7Zs");
  for (const char* bad :
       {"=?base64?w7Zs=?=", "=?base64?w7-s?=", "=?base64?//8=?=", "\xc3\xb6", "a\tb"}) {
    EXPECT_EQ(decode_header_value(bad), std::nullopt) << bad;
  }
}

TEST(EnvelopeTest, MirroredArgumentsAreComparedAsWhatTheyAre) {
  const std::vector<MirroredArgument> mirrored = {
      {"Region", {"region"}}, {"Limit", {"page", "limit"}}, {"Dry", {"dry"}}};
  const Json arguments = {{"region", "eu"}, {"page", {{"limit", 42}}}, {"dry", true}};
  const Fields right = {
      {"mcp-param-region", "eu"}, {"Mcp-Param-Limit", "42.0"}, {"Mcp-Param-Dry", "true"}};
  EXPECT_FALSE(check_mirrored(mirrored, arguments, right));
  for (std::size_t at = 0; at < right.size(); ++at) {
    Fields missing = right;
    missing.erase(missing.begin() + static_cast<std::ptrdiff_t>(at));
    ASSERT_TRUE(check_mirrored(mirrored, arguments, missing)) << at;
    Fields other = right;
    other[at].value = "43x";
    EXPECT_EQ(check_mirrored(mirrored, arguments, other)->code, RpcCode::header_mismatch);
  }
  EXPECT_TRUE(check_mirrored(mirrored, Json::object(), right)) << "a header without its argument";
  const Json large = {{"page", {{"limit", 9007199254740993}}}};
  EXPECT_FALSE(check_mirrored(mirrored, large, Fields{{"Mcp-Param-Limit", "9007199254740993"}}));
  EXPECT_TRUE(check_mirrored(mirrored, large, Fields{{"Mcp-Param-Limit", "9007199254740992"}}));
  EXPECT_FALSE(check_mirrored(mirrored, {{"region", nullptr}}, Fields{}));
}

}  // namespace
}  // namespace turnpike::hosts::mcp
