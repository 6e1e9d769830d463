// An identity provider on a fake network: the requests to it, their number, and which answers are
// accepted (S21). Whole sign-ins are tested in tests/e2e/test_oidc.py.
#include "identity/oidc_provider.h"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "support/jws_signer.h"
#include "support/stores.h"

namespace turnpike::identity {
namespace {

using base::ErrorCode;
using nlohmann::json;
using support::JwsSigner;

constexpr char issuer[] = "https://idp.example/";

class Network final : public Http {
 public:
  Done call(const HttpRequest& request, const HttpOptions& options, HttpSink& sink,
            Call&) noexcept override {
    const std::string url(request.url);
    ++asked[url];
    if (request.method == Method::post) {
      sent = std::string(request.body);
      authorization.clear();
      for (const HeaderField& field : request.headers) {
        if (field.name == "Authorization") authorization = field.value;
      }
    }
    EXPECT_FALSE(options.allow_private_addresses);
    EXPECT_EQ(options.reply_bytes_max, OidcProvider::document_bytes_max);
    const auto found = documents.find(url);
    if (found == documents.end()) {
      return Failure{FailureKind::transport, "nothing there", {}, false};
    }
    sink.head(status, {}, found->second.size());
    sink.body(found->second);
    return Unit{};
  }

  std::map<std::string, std::string> documents;
  std::map<std::string, int> asked;
  std::string sent;
  std::string authorization;
  int status = 200;
};

class OidcProviderTest : public testing::Test {
 protected:
  void SetUp() override {
    metadata_ = {{"issuer", issuer},
                 {"authorization_endpoint", "https://idp.example/authorize?tenant=a"},
                 {"token_endpoint", "https://idp.example/token"},
                 {"jwks_uri", "https://keys.example/jwks"}};
    publish();
    network_.documents["https://keys.example/jwks"] = signer_.key_set();
    answer_with(signer_);
  }
  void publish() {
    network_.documents["https://idp.example/.well-known/openid-configuration"] = metadata_.dump();
  }
  void answer_with(const JwsSigner& signer) {
    const std::int64_t now_s = clock_.now_ms() / 1'000;
    const json claims = {{"iss", issuer}, {"aud", "us"},  {"sub", "s"},
                         {"nonce", "n"},  {"iat", now_s}, {"exp", now_s + 100'000}};
    network_.documents["https://idp.example/token"] =
        json{{"id_token", signer.sign(claims.dump())}}.dump();
  }
  OidcProvider& provider(const std::string& secret = "") {
    if (provider_ == nullptr) {
      provider_ = std::make_unique<OidcProvider>(
          ProviderSettings{.key = "acme",
                           .name = "Acme",
                           .issuer = issuer,
                           .client_id = "us",
                           .client_secret = secret},
          "https://web.example/login/oidc/acme/callback", network_, clock_);
    }
    return *provider_;
  }
  ErrorCode outcome(const ProviderAnswer& answer = {.state = "s", .code = "c"}) {
    const auto claims = provider().redeem(answer, {"s", "n", "v"});
    EXPECT_TRUE(claims.ok() || !claims.error().reason.empty());
    return claims.ok() ? ErrorCode::request_timeout : claims.error().error.code;
  }
  static constexpr ErrorCode taken = ErrorCode::request_timeout;  // no provider answers it

  int metadata_asked() {
    return network_.asked["https://idp.example/.well-known/openid-configuration"];
  }
  int keys_asked() { return network_.asked["https://keys.example/jwks"]; }

  JwsSigner signer_{crypto::JwsAlgorithm::es256, "first"};
  support::ManualClock clock_;
  Network network_;
  json metadata_;
  std::unique_ptr<OidcProvider> provider_;
};

TEST_F(OidcProviderTest, SendsTheBrowserWithStateNonceAndChallenge) {
  const auto url = provider().authorization_url({"the state", "the nonce", "verifier"});
  ASSERT_TRUE(url.ok());
  // SHA-256 of "verifier", RFC 7636 section 4.2.
  EXPECT_EQ(*url,
            "https://idp.example/authorize?tenant=a&response_type=code&client_id=us&redirect_uri="
            "https%3A%2F%2Fweb.example%2Flogin%2Foidc%2Facme%2Fcallback&scope=openid%20profile%20"
            "email&state=the%20state&nonce=the%20nonce&code_challenge="
            "iMnq5o6zALKXGivsnlom_0F5_WYda32GHkxlV7mq7hQ&code_challenge_method=S256");
  const auto fresh = provider().authorization_url({"s", "n", "v", 1});
  EXPECT_TRUE(fresh->ends_with("&max_age=0"));
}

TEST_F(OidcProviderTest, AsksForWhatItPublishesOnceAnHour) {
  EXPECT_EQ(outcome(), taken);
  clock_.move_ms(OidcProvider::kept_ms - 1);
  EXPECT_EQ(outcome(), taken);
  EXPECT_EQ(metadata_asked(), 1);
  EXPECT_EQ(keys_asked(), 1);
  clock_.move_ms(1);
  EXPECT_EQ(outcome(), taken);
  EXPECT_EQ(metadata_asked(), 2);
  EXPECT_EQ(keys_asked(), 2);
}

TEST_F(OidcProviderTest, LooksForAnUnknownKeyOnceInHalfAMinute) {
  EXPECT_EQ(outcome(), taken);
  const JwsSigner next(crypto::JwsAlgorithm::es256, "second");
  answer_with(next);
  for (int at = 0; at < 3; ++at) EXPECT_EQ(outcome(), ErrorCode::auth_sign_in_failed);
  EXPECT_EQ(keys_asked(), 1);
  clock_.move_ms(OidcProvider::key_retry_ms);
  for (int at = 0; at < 3; ++at) EXPECT_EQ(outcome(), ErrorCode::auth_sign_in_failed);
  EXPECT_EQ(keys_asked(), 2);
  network_.documents["https://keys.example/jwks"] = next.key_set();
  clock_.move_ms(OidcProvider::key_retry_ms - 1);
  EXPECT_EQ(outcome(), ErrorCode::auth_sign_in_failed);
  clock_.move_ms(1);
  EXPECT_EQ(outcome(), taken);
  EXPECT_EQ(outcome(), taken);
  EXPECT_EQ(keys_asked(), 3);
}

TEST_F(OidcProviderTest, AProviderThatIsAwayIsAskedAgainAfterAWhile) {
  network_.documents.clear();
  for (int at = 0; at < 3; ++at) EXPECT_EQ(outcome(), ErrorCode::auth_unavailable);
  EXPECT_EQ(metadata_asked(), 1);
  SetUp();
  clock_.move_ms(OidcProvider::retry_ms);
  EXPECT_EQ(outcome(), taken);
}

TEST_F(OidcProviderTest, SaysWhoTheGatewayIsAsTheMetadataWants) {
  metadata_["token_endpoint_auth_methods_supported"] = {"client_secret_post", "none"};
  publish();
  (void)provider("a secret&");
  EXPECT_EQ(outcome(), taken);
  EXPECT_EQ(network_.sent,
            "grant_type=authorization_code&code=c&redirect_uri=https%3A%2F%2Fweb.example%2Flogin"
            "%2Foidc%2Facme%2Fcallback&code_verifier=v&client_id=us&client_secret=a%20secret%26");
  provider_.reset();
  metadata_.erase("token_endpoint_auth_methods_supported");  // the default is client_secret_basic
  publish();
  (void)provider("a secret&");
  EXPECT_EQ(outcome(), taken);
  EXPECT_EQ(network_.sent.find("secret"), std::string::npos);
  EXPECT_EQ(network_.authorization, "Basic dXM6YSUyMHNlY3JldCUyNg==");  // us:a%20secret%26
}

TEST_F(OidcProviderTest, TellsWhatIsWrongWithMetadata) {
  const ProviderSettings settings{.key = "a", .name = "A", .issuer = issuer, .client_id = "us",
                                  .client_secret = "s"};
  EXPECT_TRUE(read_provider_metadata(metadata_.dump(), settings).ok());
  const auto fault = [&](const char* name, const json& value) {
    json changed = metadata_;
    changed[name] = value;
    const auto read = read_provider_metadata(changed.dump(), settings);
    return read.ok() ? std::string() : read.error();
  };
  EXPECT_NE(fault("issuer", "https://idp.example").find("another issuer"), std::string::npos);
  for (const char* name : {"authorization_endpoint", "token_endpoint", "jwks_uri"}) {
    for (const json& wrong : {json("http://idp.example/x"), json("javascript:alert(1)"), json(7),
                              json("https://u@idp.example/"), json("https:///x"),
                              json("http://localhost/x"), json("https://idp.example/#a")}) {
      EXPECT_NE(fault(name, wrong).find(name), std::string::npos) << name << wrong;
    }
  }
  EXPECT_NE(fault("token_endpoint_auth_methods_supported", {"none"}), "");
  EXPECT_NE(fault("id_token_signing_alg_values_supported", {"HS256", "none"}), "");
  EXPECT_EQ(fault("id_token_signing_alg_values_supported", {"HS256", "PS256"}), "");
  for (const char* text : {"", "7", "[]"}) {
    EXPECT_FALSE(read_provider_metadata(text, settings).ok());
  }
}

TEST_F(OidcProviderTest, TakesNoAlgorithmThatTheMetadataDoesNotName) {
  metadata_["id_token_signing_alg_values_supported"] = {"RS256"};
  publish();
  EXPECT_EQ(outcome(), ErrorCode::auth_sign_in_failed);
}

TEST_F(OidcProviderTest, HttpIsForThisMachineInDevelopment) {
  for (const char* url : {"http://localhost:1/a", "http://127.0.0.1", "http://[::1]:8080/"}) {
    EXPECT_TRUE(fault_in_provider_url(url, false)) << url;
    EXPECT_FALSE(fault_in_provider_url(url, true)) << url;
  }
  for (const char* url :
       {"http://idp.example", "http://localhost.evil.example", "http://localhost@evil.example",
        "http://127.0.0.1.evil.example", "ftp://localhost", "https://", "https://a\\@b",
        "https://a b"}) {
    EXPECT_TRUE(fault_in_provider_url(url, true)) << url;
  }
}

TEST_F(OidcProviderTest, StatusesOfTheTokenEndpointAreToldApart) {
  EXPECT_EQ(outcome(), taken);
  network_.documents["https://idp.example/token"] = R"({"error":"invalid_grant"})";
  for (const auto& [status, code] :
       {std::pair(400, ErrorCode::auth_sign_in_failed),
        std::pair(401, ErrorCode::auth_sign_in_failed), std::pair(302, ErrorCode::auth_unavailable),
        std::pair(500, ErrorCode::auth_unavailable), std::pair(200, ErrorCode::auth_unavailable)}) {
    network_.status = status;
    EXPECT_EQ(outcome(), code) << status;
  }
}

}  // namespace
}  // namespace turnpike::identity
