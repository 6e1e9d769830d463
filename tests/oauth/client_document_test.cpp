#include "oauth/client_document.h"

#include <gtest/gtest.h>

#include <string>

namespace turnpike::oauth {
namespace {

using base::ErrorCode;

const RedirectRules document_rules;
const std::string own_id = "https://app.example/client.json";

std::string document(const std::string& more) {
  return R"({"client_id": ")" + own_id + R"(", "client_name": "App",)" +
         R"( "redirect_uris": ["https://app.example/cb"])" + more + "}";
}

ErrorCode document_refusal(const std::string& json) {
  const auto read = read_client_document(own_id, json, document_rules);
  return read.ok() ? ErrorCode::request_timeout : read.error().code;  // one that it never gives
}

TEST(ClientDocumentTest, AreTakenFromUrlsLikeThese) {  // O25
  for (const char* const url :
       {"https://chatgpt.com/oauth/client.json",
        "https://claude.ai/oauth/claude-code-client-metadata", "https://a.example:443/c",
        "https://a.example/c?version=2", "https://a.example/.well-known/c", "https://a.example/...",
        "https://a.example/%2e%2e%2e", "https://[2606:4700::1111]/c", "https://1.1.1.1/c"}) {
    EXPECT_EQ(fault_in_document_url(url, false), std::nullopt) << url;
    EXPECT_TRUE(is_document_id(url)) << url;
    EXPECT_FALSE(is_document_nearby(url)) << url;
  }
}

TEST(ClientDocumentTest, AreTakenFromNoOtherUrl) {  // O25
  for (const char* const url :
       {"", "cli_abc", "https://", "https://a.example", "https://a.example/", "https://a.example?c",
        "https://a.example/?c", "http://a.example/c", "HTTPS://a.example/c",
        "https://a.example/c#f", "https://u@a.example/c", "https://u:p@a.example/c",
        "https://a.example:8443/c",
        "https://a.example:/c", "https://a.example:0443/c", "https://[2606:4700::1111]:444/c",
        "https://a.example/a/../c", "https://a.example/./c", "https://a.example/c/..",
        "https://a.example/%2e%2E/c", "https://a.example/.%2e", "https://a.example/c\n",
        "https://a.example/*", "ftp://a.example/c", "https:///c", "https://localhost/c",
        "https://127.0.0.1/c", "http://[::1]/c", "http://localhost:8000/c"}) {
    EXPECT_NE(fault_in_document_url(url, false), std::nullopt) << url;
  }
  const std::string longest = "https://a.example/" + std::string(1'006, 'c');
  EXPECT_EQ(fault_in_document_url(longest, false), std::nullopt);
  EXPECT_NE(fault_in_document_url(longest + "c", false), std::nullopt);
}

TEST(ClientDocumentTest, InDevelopmentThisMachineMayHaveThem) {  // O25
  for (const char* const url : {"http://localhost:8000/c", "http://127.0.0.1:1/c", "http://[::1]/c",
                                "https://localhost:8443/c", "https://127.0.0.1/c"}) {
    EXPECT_EQ(fault_in_document_url(url, true), std::nullopt) << url;
    EXPECT_TRUE(is_document_nearby(url)) << url;
  }
  for (const char* const url : {"http://a.example/c", "https://a.example:8443/c",
                                "http://localhost:8000/", "http://localhost:8000/../c",
                                "http://localhost.a.example/c", "http://127.0.0.2/c"}) {
    EXPECT_NE(fault_in_document_url(url, true), std::nullopt) << url;
  }
}

TEST(ClientDocumentTest, TheHostCountsWhateverItsCaseAndPort) {
  EXPECT_EQ(document_host("https://A.Example:443/c"), "a.example");
  EXPECT_EQ(document_host("https://[2606:4700::1111]:443/c"), "[2606:4700::1111]");
  EXPECT_EQ(document_host("https://a.example/c:d"), "a.example");
}

TEST(ClientDocumentTest, SayWhatARegistrationSays) {  // O25
  const auto read = read_client_document(
      own_id,
      document(R"(, "client_uri": "https://app.example/", "token_endpoint_auth_method": "none",
                  "logo_uri": "https://app.example/logo", "jwks_uri": "https://app.example/keys")"),
      document_rules);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->name, "App");
  EXPECT_EQ(read->uri, "https://app.example/");
  EXPECT_EQ(read->redirect_uris, std::vector<std::string>{"https://app.example/cb"});
}

// ChatGPT would rather prove itself with a key, and does without where a server takes none.
TEST(ClientDocumentTest, AClientMustBeAbleToDoWithoutASecret) {  // O25
  EXPECT_EQ(document_refusal(document(R"(, "token_endpoint_auth_method": "private_key_jwt",
                "token_endpoint_auth_methods_supported": ["private_key_jwt", "none"])")),
            ErrorCode::request_timeout);
  for (const char* const more :
       {"", R"(, "token_endpoint_auth_method": "private_key_jwt")",
        R"(, "token_endpoint_auth_method": ["none"])",
        R"(, "token_endpoint_auth_methods_supported": "none")",
        R"(, "token_endpoint_auth_methods_supported": ["private_key_jwt"])",
        R"(, "token_endpoint_auth_method": "none", "client_secret": "s")",
        R"(, "token_endpoint_auth_method": "none", "client_secret_expires_at": 0)"}) {
    EXPECT_EQ(document_refusal(document(more)), ErrorCode::oauth_invalid_client_metadata) << more;
  }
}

TEST(ClientDocumentTest, AreOfTheClientThatNamedThemAlone) {  // O25
  const std::string none = R"(, "token_endpoint_auth_method": "none")";
  const std::string right = document(none);
  ASSERT_EQ(document_refusal(right), ErrorCode::request_timeout);
  for (const char* const id : {"https://app.example/client.json2", "https://app.example/client.jso",
                               "https://APP.example/client.json", "cli_a"}) {
    const auto read = read_client_document(id, right, document_rules);
    ASSERT_FALSE(read.ok()) << id;
    EXPECT_EQ(read.error().code, ErrorCode::oauth_invalid_client_metadata) << id;
  }
  for (const std::string& json : {std::string(), std::string("[]"), std::string("null"),
                                  right + "x", right.substr(1),
                                  R"({"redirect_uris": ["https://a/"])" + none + "}",
                                  R"({"client_id": 7, "redirect_uris": ["https://a/"])" + none +
                                      "}"}) {
    EXPECT_EQ(document_refusal(json), ErrorCode::oauth_invalid_client_metadata) << json;
  }
  EXPECT_EQ(document_refusal(R"({"client_id": ")" + own_id +
                             R"(", "redirect_uris": ["http://a/"])" + none + "}"),
            ErrorCode::oauth_invalid_redirect_uri);
  const std::string room(document_bytes_max - right.size(), ' ');
  EXPECT_EQ(document_refusal(right + room), ErrorCode::request_timeout);
  EXPECT_EQ(document_refusal(right + room + " "), ErrorCode::oauth_invalid_client_metadata);
}

TEST(ClientDocumentTest, AreBelievedBetweenFiveMinutesAndADay) {  // O25
  for (const char* const field : {"", "max-age=0", "max-age=300", "no-store",
                                  "no-cache, max-age=600", "max-age=600, no-store", "public",
                                  "max-age=",
                                  "max-age=-1",
                                  "max-age=x", "s-maxage=600", "xmax-age=600", ",,"}) {
    EXPECT_EQ(document_kept_ms(field), document_kept_ms_min) << field;
  }
  for (const char* const field : {"max-age=301", "public, max-age=301", "Max-Age=301",
                                  " max-age=301 ", "max-age=\"301\"", "a,max-age=301,b"}) {
    EXPECT_EQ(document_kept_ms(field), 301'000) << field;
  }
  for (const char* const field :
       {"max-age=86400", "max-age=86401", "max-age=99999999999999999999999999"}) {
    EXPECT_EQ(document_kept_ms(field), document_kept_ms_max) << field;
  }
}

TEST(ClientDocumentTest, NoIdOfOursIsThatOfADocument) {  // O26
  EXPECT_FALSE(is_document_id(client_id_of({"A", {"https://a/"}, "https://a/"})));
}

}  // namespace
}  // namespace turnpike::oauth
