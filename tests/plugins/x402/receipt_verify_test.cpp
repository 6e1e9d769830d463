#include "x402/offers/receipt_verify.h"

#include <gtest/gtest.h>

#include "plugins/x402/offers_fixture.h"
#include "plugins/x402/vectors.h"
#include "x402/offers/did.h"

namespace turnpike::x402 {
namespace {

using nlohmann::json;

constexpr std::int64_t created_s = 1'795'300'000, retired_s = 1'795'400'000;

// A gateway with an active key and a retired one.
class StatementTest : public testing::Test {
 protected:
  StatementTest() : did_(*did_web("https://gateway.example:8443")) {
    keys_ = {
        {"now", any_key(Algorithm::eddsa, 2).public_key(), retired_s * 1000, std::nullopt},
        {"old", any_key(Algorithm::es256k, 1).public_key(), created_s * 1000, retired_s * 1000}};
    document_ = did_document(did_, keys_);
  }
  [[nodiscard]] std::string signed_by_old(const Receipt& receipt) const {
    return sign_receipt(receipt, any_key(Algorithm::es256k, 1), did_.kid("old"));
  }
  [[nodiscard]] std::string signed_by_now(const Offer& offer) const {
    return sign_offer(offer, any_key(Algorithm::eddsa, 2), did_.kid("now"));
  }
  [[nodiscard]] Statement only(const std::string& input) const {
    auto statements = verify_statements(input, document_);
    EXPECT_TRUE(statements.ok()) << statements.error();
    EXPECT_TRUE(!statements.ok() || statements->size() == 1);
    return statements.ok() ? statements->front() : Statement();
  }
  [[nodiscard]] std::string error(const std::string& input) const {
    const auto statements = verify_statements(input, document_);
    return statements.ok() ? "verified" : statements.error();
  }
  // The doubts about a receipt with this URL and time.
  [[nodiscard]] std::vector<std::string> doubts(const std::string& url, std::int64_t at_s) const {
    Receipt receipt = receipt_;
    receipt.resource_url = url;
    receipt.issued_at_s = at_s;
    return only(signed_by_old(receipt)).doubts;
  }

  const DidWeb did_;
  std::vector<PublishedKey> keys_;
  std::string document_;
  const Receipt receipt_{"eip155:8453", "https://gateway.example:8443/v1/daos", "0xPayer",
                         created_s + 60, "0xHash"};
  const Offer offer_{"https://gateway.example:8443/v1/daos",
                     "exact",
                     "eip155:8453",
                     "0xAsset",
                     "0xPayTo",
                     "1000",
                     retired_s + 500,
                     "off_1"};
};

TEST_F(StatementTest, SaysWhatWasSignedAndByWhom) {
  const Statement paid = only(signed_by_old(receipt_));
  EXPECT_EQ(std::get<Receipt>(paid.content), receipt_);
  EXPECT_EQ(paid.payload, canonical_payload(receipt_));
  EXPECT_EQ(paid.kid, "did:web:gateway.example%3A8443#old");
  EXPECT_EQ(paid.algorithm, Algorithm::es256k);
  EXPECT_TRUE(paid.is_of_host);
  EXPECT_TRUE(paid.is_key_retired);
  EXPECT_TRUE(paid.is_in_key_life);
  EXPECT_EQ(paid.key_from_s, created_s);
  EXPECT_EQ(paid.key_until_s, retired_s);
  EXPECT_EQ(paid.doubts, std::vector<std::string>());

  const Statement offered = only(signed_by_now(offer_));
  EXPECT_EQ(std::get<Offer>(offered.content), offer_);
  EXPECT_EQ(offered.algorithm, Algorithm::eddsa);
  EXPECT_FALSE(offered.is_key_retired);
  EXPECT_EQ(offered.key_until_s, std::nullopt);
  EXPECT_EQ(offered.doubts, std::vector<std::string>());
}

TEST_F(StatementTest, TakesEveryFormThatCallersHold) {
  const std::string jws = signed_by_old(receipt_);
  const json artifact = {{"format", "jws"}, {"signature", jws}};
  const json response = {{"success", true},
                         {"transaction", "0xHash"},
                         {"network", "eip155:8453"},
                         {"extensions", {{"offer-receipt", json::parse(receipt_extension(jws))}}}};
  for (const std::string& input :
       {jws, "  " + jws + "\r\n", artifact.dump(), artifact.dump(2), receipt_extension(jws),
        response.dump(), base64_encode(response.dump()), base64_encode(response.dump(1)) + "\n"}) {
    EXPECT_EQ(std::get<Receipt>(only(input).content), receipt_) << input;
    EXPECT_EQ(only(input).doubts, std::vector<std::string>());
  }
}

TEST_F(StatementTest, ReadsAllOffersOfAChallenge) {
  Offer second = offer_;
  second.asset = "0xOther";
  const std::vector<std::string> both = {signed_by_now(offer_), signed_by_now(second)};
  const json challenge = {{"x402Version", 2},
                          {"extensions", {{"offer-receipt", json::parse(offers_extension(both))}}}};
  const auto statements = verify_statements(base64_encode(challenge.dump()), document_);
  ASSERT_TRUE(statements.ok()) << statements.error();
  ASSERT_EQ(statements->size(), 2u);
  EXPECT_EQ(std::get<Offer>((*statements)[0].content), offer_);
  EXPECT_EQ(std::get<Offer>((*statements)[1].content), second);
}

TEST_F(StatementTest, RefusesATextThatWasChanged) {
  const std::string jws = signed_by_old(receipt_);
  Receipt other = receipt_;
  other.payer = "0xThief";
  const std::string forged = signed_by_old(other);
  const std::string swapped =
      jws.substr(0, jws.find('.')) +
      forged.substr(forged.find('.'), forged.rfind('.') - forged.find('.')) +
      jws.substr(jws.rfind('.'));
  EXPECT_NE(error(swapped).find("the text was changed"), std::string::npos) << error(swapped);
  // The right key id, but signed with another key.
  const std::string foreign =
      sign_receipt(receipt_, any_key(Algorithm::es256k, 9), did_.kid("old"));
  EXPECT_NE(error(foreign).find("another key"), std::string::npos) << error(foreign);
  // The key id of a key of the other algorithm.
  const std::string mixed = sign_receipt(receipt_, any_key(Algorithm::eddsa, 2), did_.kid("old"));
  EXPECT_NE(error(mixed).find("another key"), std::string::npos) << error(mixed);
  const std::string unknown =
      sign_receipt(receipt_, any_key(Algorithm::es256k, 1), did_.kid("never"));
  EXPECT_NE(error(unknown).find("lists no key"), std::string::npos) << error(unknown);
}

TEST_F(StatementTest, DoubtsAKeyThatIsNotOfTheResourcesHost) {
  const std::int64_t at_s = created_s + 60;
  EXPECT_TRUE(doubts("https://gateway.example:8443/x?y=https://a/", at_s).empty());
  EXPECT_TRUE(doubts("https://GATEWAY.example:8443", at_s).empty());
  for (const char* url :
       {"https://gateway.example/x", "https://gateway.example:8444/x", "http://gateway.example/x",
        "https://evil.example:8443/x", "https://gateway.example:8443@evil.example/x",
        "https://gateway.example:8443.evil.example/", "https://gateway.example:8443\\@evil/",
        "mcp://tool/x", "gateway.example:8443/x", "https://"}) {
    const auto found = doubts(url, at_s);
    ASSERT_EQ(found.size(), 1u) << url;
    EXPECT_EQ(found[0], "the key is not of the host of " + std::string(url));
  }
}

TEST_F(StatementTest, TakesTheDefaultPortForTheSameHost) {
  const DidWeb did = *did_web("https://gateway.example");
  const std::string document = did_document(did, keys_);
  for (const auto& [url, is_of_host] :
       std::vector<std::pair<std::string, bool>>{{"https://gateway.example/x", true},
                                                 {"https://gateway.example:443/x", true},
                                                 {"https://gateway.example:80/x", false}}) {
    Receipt receipt = receipt_;
    receipt.resource_url = url;
    const auto statements = verify_statements(
        sign_receipt(receipt, any_key(Algorithm::es256k, 1), did.kid("old")), document);
    ASSERT_TRUE(statements.ok()) << statements.error();
    EXPECT_EQ(statements->front().is_of_host, is_of_host) << url;
  }
}

TEST_F(StatementTest, JudgesAReceiptAsOfItsIssue) {
  const std::string url = receipt_.resource_url;
  EXPECT_TRUE(doubts(url, created_s - key_life_slack_s).empty());
  EXPECT_TRUE(doubts(url, retired_s + key_life_slack_s).empty());
  EXPECT_EQ(doubts(url, created_s - key_life_slack_s - 1),
            std::vector<std::string>{"the receipt says it was issued before its key was made"});
  EXPECT_EQ(doubts(url, retired_s + key_life_slack_s + 1),
            std::vector<std::string>{"the receipt says it was issued after its key was retired"});
}

TEST_F(StatementTest, DoubtsAKeyThatIsNoLongerAssertedWithoutATime) {
  json document = json::parse(document_);
  document["verificationMethod"][1]["publicKeyJwk"].erase("exp");
  const auto statements = verify_statements(signed_by_old(receipt_), document.dump());
  ASSERT_TRUE(statements.ok()) << statements.error();
  EXPECT_TRUE(statements->front().is_key_retired);
  ASSERT_EQ(statements->front().doubts.size(), 1u);
  EXPECT_NE(statements->front().doubts[0].find("does not say since when"), std::string::npos);
}

TEST_F(StatementTest, DoubtsASettlementResponseThatSaysAnotherThing) {
  const json extensions = {
      {"offer-receipt", json::parse(receipt_extension(signed_by_old(receipt_)))}};
  for (const char* name : {"network", "payer", "transaction"}) {
    const json response = {{"success", true}, {name, "another"}, {"extensions", extensions}};
    const Statement statement = only(response.dump());
    ASSERT_EQ(statement.doubts.size(), 1u);
    EXPECT_NE(statement.doubts[0].find("another " + std::string(name)), std::string::npos);
  }
}

TEST_F(StatementTest, SaysInASentenceWhatItCannotRead) {
  const auto refused = [&](const std::string& input, const std::string& why) {
    EXPECT_NE(error(input).find(why), std::string::npos) << input << ": " << error(input);
  };
  refused(" \n", "the input is empty");
  refused("%", "neither a compact JWS");
  refused("a.b", "three parts");
  refused("{", "no well-formed JSON");
  refused("{}", "no signed offer or receipt");
  refused(R"({"success":false,"errorReason":"x"})", "the settlement failed");
  refused(base64_encode("{}"), "no signed offer or receipt");
  refused(base64_encode("nonsense"), "no well-formed JSON");
  refused(R"({"format":"jws"})", "no signed offer or receipt");
  refused(R"({"signature":"a.b.c"})", "lacks format");
  refused(R"({"format":"jws","signature":7})", "lacks format");
  refused(R"({"format":"eip712","payload":{},"signature":"0x"})", "EIP-712");
  refused(R"({"info":{"offers":[]}})", "no signed offer or receipt");
  refused(std::string(300'000, 'A'), "longer than 256 KiB");
  const auto signed_text = [&](const std::string& payload) {
    return sign_jws(any_key(Algorithm::es256k, 1), did_.kid("old"), payload);
  };
  refused(signed_text("text"), "what was signed is no well-formed JSON");
  refused(signed_text("{}"), "neither an offer");
  refused(signed_text(R"({"payer":"p","version":2})"), "version is not 1");
  refused(signed_text(R"({"payTo":"p","version":1})"), "resourceUrl is missing");
  EXPECT_NE(verify_statements(signed_text("{}"), "{").error().find("the DID document is no"),
            std::string::npos);
  EXPECT_NE(verify_statements(signed_text("{}"), "{}").error().find("of nobody"),
            std::string::npos);
}

TEST(Vectors, VerifyAgainstTheirDocumentAndTheirTwinsDoNot) {
  TURNPIKE_VECTORS(file, "offer-receipt-jws.json");
  const std::string document = file["didDocument"].dump();
  for (const auto& vector : file["vectors"]) {
    for (const std::string& input :
         {vector["artifact"].dump(), vector["artifact"]["signature"].get<std::string>()}) {
      const auto statements = verify_statements(input, document);
      ASSERT_TRUE(statements.ok()) << statements.error();
      ASSERT_EQ(statements->size(), 1u);
      const Statement& statement = statements->front();
      EXPECT_EQ(statement.payload, vector["canonicalPayload"].get<std::string>());
      EXPECT_EQ(statement.kid, vector["kid"].get<std::string>());
      EXPECT_EQ(std::holds_alternative<Offer>(statement.content), vector["kind"] == "offer");
      EXPECT_TRUE(statement.is_of_host);
      EXPECT_EQ(statement.doubts, std::vector<std::string>());
    }
    EXPECT_FALSE(verify_statements(vector["tampered"].get<std::string>(), document).ok());
  }
}

TEST(Vectors, OfHeadersHoldNoReceipts) {
  TURNPIKE_VECTORS(file, "headers.json");
  ASSERT_EQ(file["cases"].size(), 3u);
  const char* errors[] = {"the JSON holds no signed offer or receipt",
                          "the settlement failed, so there is no receipt for it",
                          "the JSON holds no signed offer or receipt"};
  for (std::size_t at = 0; at < 3; ++at) {
    const auto statements = verify_statements(file["cases"][at]["value"].get<std::string>(), "{}");
    ASSERT_FALSE(statements.ok());
    EXPECT_EQ(statements.error(), errors[at]);
  }
}

}  // namespace
}  // namespace turnpike::x402
