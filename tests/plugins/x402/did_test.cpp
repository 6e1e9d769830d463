#include "x402/offers/did.h"

#include <gtest/gtest.h>

#include "plugins/x402/offers_fixture.h"
#include "plugins/x402/parsed.h"
#include "plugins/x402/vectors.h"

namespace turnpike::x402 {
namespace {

using nlohmann::json;

struct Named {
  const char* origin;
  const char* id;
  const char* document_path;
  bool is_fetchable;
};

TEST(DidWeb, IsTheNameOfTheOrigin) {
  const Named all[] = {
      {"https://gateway.example", "did:web:gateway.example", "/.well-known/did.json", true},
      {"https://gateway.example/", "did:web:gateway.example", "/.well-known/did.json", true},
      {"https://Gateway.Example:8443", "did:web:gateway.example%3A8443", "/.well-known/did.json",
       true},
      {"https://gateway.example/a/b_c", "did:web:gateway.example:a:b_c", "/a/b_c/did.json", true},
      {"https://gateway.example:8443/a/", "did:web:gateway.example%3A8443:a", "/a/did.json", true},
      {"http://127.0.0.1:8402", "did:web:127.0.0.1%3A8402", "/.well-known/did.json", true},
      {"http://localhost:8402", "did:web:localhost%3A8402", "/.well-known/did.json", true},
      {"http://gateway:8402", "did:web:gateway%3A8402", "/.well-known/did.json", false},
      {"http://127.0.0.2", "did:web:127.0.0.2", "/.well-known/did.json", false},
  };
  for (const Named& named : all) {
    const auto did = did_web(named.origin);
    ASSERT_TRUE(did.ok()) << did.error();
    EXPECT_EQ(did->id, named.id);
    EXPECT_EQ(did->document_path, named.document_path);
    EXPECT_EQ(did->is_fetchable, named.is_fetchable) << named.origin;
    EXPECT_EQ(did->kid("k"), named.id + std::string("#k"));
  }
}

TEST(DidWeb, IsRefusedWhereTheOriginHasNone) {
  for (const char* origin :
       {"", "gateway.example", "ftp://gateway.example", "https://", "https:///a", "https://a:0",
        "https://a:65536", "https://a:", "https://a:80:80", "https://[::1]:8402", "https://u@a",
        "https://a/b?c", "https://a/b#c", "https://a?c", "https://a//b", "https://a/%20",
        "https://a/b:c", "https://a b"}) {
    const auto did = did_web(origin);
    ASSERT_FALSE(did.ok()) << origin;
    EXPECT_NE(did.error().find(std::string("the public origin ") + origin + " has no did:web"),
              std::string::npos)
        << did.error();
  }
}

PublishedKey published(const std::string& fragment, Algorithm algorithm, std::uint64_t seed,
                       std::optional<std::int64_t> retired_ms = std::nullopt) {
  return {fragment, any_key(algorithm, seed).public_key(), 1'795'300'000'500, retired_ms};
}

TEST(DidDocument, AssertsTheKeysThatSignAndKeepsTheOthersListed) {
  const DidWeb did = *did_web("https://gateway.example:8443");
  const std::vector<PublishedKey> keys = {
      published("offer-b", Algorithm::eddsa, 1),
      published("offer-a", Algorithm::es256k, 2, 1'795'400'000'001),
      published("offer-other-node", Algorithm::es256k, 3),
      published("offer-b", Algorithm::eddsa, 1),  // also in the store that nodes share
  };
  const std::string text = did_document(did, keys);
  const json document = json::parse(text);
  EXPECT_EQ(document["@context"], json::parse(R"(["https://www.w3.org/ns/did/v1",
      "https://w3id.org/security/suites/jws-2020/v1"])"));
  EXPECT_EQ(document["id"], "did:web:gateway.example%3A8443");
  ASSERT_EQ(document["verificationMethod"].size(), 3u);
  EXPECT_EQ(document["assertionMethod"], json::parse(R"(["did:web:gateway.example%3A8443#offer-b",
                            "did:web:gateway.example%3A8443#offer-other-node"])"));
  for (std::size_t at = 0; at < 3; ++at) {
    const json& method = document["verificationMethod"][at];
    EXPECT_EQ(method["id"], did.kid(keys[at].fragment));
    EXPECT_EQ(method["type"], "JsonWebKey2020");
    EXPECT_EQ(method["controller"], did.id);
    EXPECT_FALSE(method["publicKeyJwk"].contains("d"));

    const JsonText whole = parsed(text);
    const auto found = find_key(whole, did.kid(keys[at].fragment));
    ASSERT_TRUE(found.ok()) << found.error();
    EXPECT_EQ(found->key, keys[at].key);
    EXPECT_EQ(found->created_s, 1'795'300'000);
    EXPECT_EQ(found->is_asserted, !keys[at].retired_ms);
  }
  EXPECT_EQ(find_key(parsed(text), did.kid("offer-a"))->retired_s, 1'795'400'001);
  EXPECT_EQ(find_key(parsed(text), did.kid("offer-b"))->retired_s, std::nullopt);
}

TEST(DidDocument, OfNoKeysIsWellFormed) {
  const json document = json::parse(did_document(*did_web("https://a.example"), {}));
  EXPECT_EQ(document["verificationMethod"], json::array());
  EXPECT_EQ(document["assertionMethod"], json::array());
}

TEST(FindKey, SaysWhatIsMissing) {
  const std::string jwk = "{" + jwk_members(any_key(Algorithm::eddsa).public_key()) + "}";
  const std::string document =
      R"({"id":"did:web:a","verificationMethod":[{"id":"#short","publicKeyJwk":)" + jwk +
      R"(},{"id":"did:web:a#multi","publicKeyMultibase":"z6Mk"},{"id":"did:web:a#late",)" +
      R"("publicKeyJwk":)" + jwk + R"(}],"assertionMethod":["#short",{"id":"did:web:a#late"}]})";
  const auto find = [&](const std::string& kid) { return find_key(parsed(document), kid); };
  ASSERT_TRUE(find("did:web:a#short").ok());
  EXPECT_TRUE(find("did:web:a#short")->is_asserted);
  EXPECT_EQ(find("did:web:a#short")->created_s, std::nullopt);
  EXPECT_FALSE(find("did:web:a#late")->is_asserted);
  EXPECT_NE(find("did:web:a#none").error().find("lists no key"), std::string::npos);
  EXPECT_NE(find("did:web:a#multi").error().find("neither"), std::string::npos);
  EXPECT_NE(find("did:web:b#short").error().find("the document is of did:web:a"),
            std::string::npos);
  EXPECT_NE(find("did:web:a").error().find("lacks a #"), std::string::npos);
  EXPECT_NE(find_key(parsed("[]"), "did:web:a#k").error().find("of nobody"), std::string::npos);
}

TEST(PublishedKey, IsReadAsItWasWritten) {
  for (const Algorithm algorithm : {Algorithm::es256k, Algorithm::eddsa}) {
    for (const auto& key : {published("offer-1", algorithm, 5), published("k", algorithm, 6, 7)}) {
      EXPECT_EQ(published_key_of_json(to_json(key)), key);
    }
  }
  const json good = json::parse(to_json(published("k", Algorithm::es256k, 6, 7)));
  for (const auto& [name, value] : std::vector<std::pair<std::string, json>>{
           {"kid", "a#b"}, {"kid", ""}, {"x", "AA"}, {"created_ms", -1}, {"retired_ms", "soon"}}) {
    json bad = good;
    bad[name] = value;
    EXPECT_EQ(published_key_of_json(bad.dump()), std::nullopt) << bad;
  }
  EXPECT_EQ(published_key_of_json("{"), std::nullopt);
}

TEST(Vectors, HaveTheDocumentThatIsMadeHere) {
  TURNPIKE_VECTORS(file, "offer-receipt-jws.json");
  const DidWeb did = *did_web("http://127.0.0.1:14099");
  EXPECT_EQ("http://127.0.0.1:14099" + did.document_path, file["didDocumentUrl"]);
  std::vector<PublishedKey> keys;
  for (const auto& [fragment, name] :
       {std::pair("offer-es256k", "es256k"), std::pair("offer-ed25519", "ed25519")}) {
    const JsonText jwk = parsed(file["keys"][name]["publicJwk"].dump());
    keys.push_back({fragment, *public_key_of_jwk(jwk.root()), 0, std::nullopt});
  }
  json made = json::parse(did_document(did, keys));
  for (json& method : made["verificationMethod"]) method["publicKeyJwk"].erase("iat");
  EXPECT_EQ(made, file["didDocument"]);
}

}  // namespace
}  // namespace turnpike::x402
