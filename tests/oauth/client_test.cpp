#include "oauth/client.h"

#include <gtest/gtest.h>

#include <string>

namespace turnpike::oauth {
namespace {

using base::ErrorCode;

const RedirectRules known_rules;

ErrorCode refusal_of(std::string_view json) {
  const auto read = read_client_metadata(json, known_rules);
  return read.ok() ? ErrorCode::request_timeout : read.error().code;  // one that it never gives
}

TEST(ClientTest, ReadsWhatAClientSaysOfItself) {
  const auto read = read_client_metadata(
      R"({"client_name": "Cláude", "redirect_uris": ["https://a.example/cb", "http://localhost/cb"],
          "client_uri": "https://a.example", "token_endpoint_auth_method": "client_secret_basic",
          "grant_types": ["authorization_code", "refresh_token"], "response_types": ["code"],
          "jwks": {"keys": []}, "scope": "x"})",
      known_rules);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->name, "Cláude");
  EXPECT_EQ(read->redirect_uris.size(), 2u);
  EXPECT_EQ(read->uri, "https://a.example");
}

TEST(ClientTest, RefusesWhatNoClientIs) {  // O24
  for (const char* const json :
       {"", "[]", "{", R"({"redirect_uris": ["https://a/"], "client_name": 7})",
        R"({"redirect_uris": ["https://a/"], "client_name": "a\nb"})",
        R"({"redirect_uris": ["https://a/"], "client_name": "a\u202eb"})",
        R"({"redirect_uris": ["https://a/"], "grant_types": ["client_credentials"]})",
        R"({"redirect_uris": ["https://a/"], "grant_types": "authorization_code"})",
        R"({"redirect_uris": ["https://a/"], "response_types": ["token"]})"}) {
    EXPECT_EQ(refusal_of(json), ErrorCode::oauth_invalid_client_metadata) << json;
  }
  for (const char* const json :
       {"{}", R"({"redirect_uris": []})", R"({"redirect_uris": "https://a/"})",
        R"({"redirect_uris": [7]})", R"({"redirect_uris": ["https://a/", "http://a/"]})"}) {
    EXPECT_EQ(refusal_of(json), ErrorCode::oauth_invalid_redirect_uri) << json;
  }
  std::string many = R"({"redirect_uris": ["https://a/")";
  for (std::size_t more = 0; more < redirect_uris_max; ++more) many += R"(, "https://a/")";
  EXPECT_EQ(refusal_of(many + "]}"), ErrorCode::oauth_invalid_redirect_uri);
  const std::string name(client_name_bytes_max + 1, 'n');
  EXPECT_EQ(refusal_of(R"({"redirect_uris": ["https://a/"], "client_name": ")" + name + "\"}"),
            ErrorCode::oauth_invalid_client_metadata);
}

// A page that is not of https is shown to nobody; that is no reason to refuse a client.
TEST(ClientTest, LeavesOutAHomePageThatPeopleMustNotBeShown) {
  for (const char* const uri : {"http://a.example", "javascript:alert(1)", "a"}) {
    const auto read = read_client_metadata(
        R"({"redirect_uris": ["https://a/"], "client_uri": ")" + std::string(uri) + "\"}", known_rules);
    ASSERT_TRUE(read.ok()) << uri;
    EXPECT_EQ(read->uri, "");
  }
}

TEST(ClientTest, TheIdFollowsFromWhatWasRegistered) {  // O24, O26
  const ClientMetadata one{"A", {"https://a/", "https://b/"}, ""};
  const std::string id = client_id_of(one);
  EXPECT_TRUE(id.starts_with("cli_"));
  EXPECT_EQ(id.size(), 26u);
  EXPECT_EQ(client_id_of({"A", {"https://b/", "https://a/"}, ""}), id);
  EXPECT_NE(client_id_of({"B", {"https://a/", "https://b/"}, ""}), id);
  EXPECT_NE(client_id_of({"A", {"https://a/"}, ""}), id);
  EXPECT_NE(client_id_of({"A", {"https://a/", "https://b/"}, "https://a/"}), id);
}

}  // namespace
}  // namespace turnpike::oauth
