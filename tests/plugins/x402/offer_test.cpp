#include "x402/offers/offer.h"

#include <gtest/gtest.h>

#include "plugins/x402/offers_fixture.h"
#include "plugins/x402/parsed.h"
#include "plugins/x402/vectors.h"
#include "x402/offers/canonical_json.h"

namespace turnpike::x402 {
namespace {

using nlohmann::json;

const Offer offer{"https://gateway.example/v1/daos/ü",
                  "exact",
                  "eip155:84532",
                  "0x036CbD53842c5426634e7929541eC2318f3dCF7e",
                  "0x209693Bc6afc0C5328bA36FaF03C514EF312287C",
                  "1000",
                  1'893'456'000,
                  "off_7"};

const Receipt receipt{"eip155:84532", "https://gateway.example/v1/daos/ü",
                      "0xBD4CB17A050eED94BCA4C327c203B9a11dB0213d", 1'893'455'900, "0x12"};

std::string canonical(const std::string& text) {
  return canonical_json(parsed(text).root()).value_or("nothing");
}

TEST(CanonicalJson, OrdersNamesByTheirUtf16Units) {  // RFC 8785 section 3.2.3
  EXPECT_EQ(canonical(R"({"\u20ac":"Euro","\r":"CR","\ufb33":"Dalet","1":"One",)"
                      R"("\ud83d\ude00":"Emoji","\u0080":"Control","\u00f6":"O"})"),
            "{\"\\r\":\"CR\",\"1\":\"One\",\"\u0080\":\"Control\",\"ö\":\"O\",\"€\":\"Euro\","
            "\"\U0001F600\":\"Emoji\",\"\uFB33\":\"Dalet\"}");
  EXPECT_EQ(canonical(R"( { "b" : [ ] , "a" : { } , "aa" : [ 1 , [ 2 ] ] } )"),
            R"({"a":{},"aa":[1,[2]],"b":[]})");
}

TEST(CanonicalJson, WritesNumbersAsEcmaScriptDoes) {  // RFC 8785 appendix B
  EXPECT_EQ(canonical("[0,-0,5e-324,-1.7976931348623157e308,9007199254740992,295147905179352825856,"
                      "1e21,9.999999999999997e22,0.000001,1e-7,0.1e1,333333333.33333329,4.5,2e-3]"),
            "[0,0,5e-324,-1.7976931348623157e+308,9007199254740992,295147905179352830000,"
            "1e+21,9.999999999999997e+22,0.000001,1e-7,1,333333333.3333333,4.5,0.002]");
  EXPECT_EQ(canonical("[1e400]"), "nothing");
}

TEST(CanonicalJson, EscapesNoMoreThanItMust) {  // RFC 8785 section 3.2.2.2
  EXPECT_EQ(canonical(R"(["\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",true,false,null])"),
            R"(["€$\u000f\nA'B\"\\\\\"/",true,false,null])");
}

TEST(CanonicalJson, IsThatOfTheVectors) {
  TURNPIKE_VECTORS(file, "jcs.json");
  ASSERT_FALSE(file["cases"].empty());
  for (const auto& each : file["cases"]) {
    EXPECT_EQ(canonical(each["input"].dump()), each["canonical"].get<std::string>());
  }
}

TEST(Payload, IsCanonicalAndLeavesOutWhatIsNotSaid) {
  EXPECT_EQ(canonical_payload(offer),
            R"({"amount":"1000","asset":"0x036CbD53842c5426634e7929541eC2318f3dCF7e",)"
            R"("network":"eip155:84532","offerId":"off_7",)"
            R"("payTo":"0x209693Bc6afc0C5328bA36FaF03C514EF312287C",)"
            R"("resourceUrl":"https://gateway.example/v1/daos/ü","scheme":"exact",)"
            R"("validUntil":1893456000,"version":1})");
  EXPECT_EQ(
      canonical_payload(receipt),
      R"({"issuedAt":1893455900,"network":"eip155:84532",)"
      R"("payer":"0xBD4CB17A050eED94BCA4C327c203B9a11dB0213d",)"
      R"("resourceUrl":"https://gateway.example/v1/daos/ü","transaction":"0x12","version":1})");
  Offer short_offer = offer;
  short_offer.valid_until_s = 0;
  short_offer.offer_id.clear();
  short_offer.resource_url = "https://x.example/\"\\\n";
  Receipt private_receipt = receipt;
  private_receipt.transaction.clear();
  for (const std::string& text : {canonical_payload(offer), canonical_payload(short_offer),
                                  canonical_payload(receipt), canonical_payload(private_receipt)}) {
    EXPECT_EQ(canonical(text), text);
  }
  EXPECT_EQ(canonical_payload(short_offer).find("offerId"), std::string::npos);
  EXPECT_EQ(canonical_payload(short_offer).find("validUntil"), std::string::npos);
  EXPECT_EQ(canonical_payload(private_receipt).find("transaction"), std::string::npos);
}

TEST(Payload, IsReadAsItWasWritten) {
  const JsonText offer_text = parsed(canonical_payload(offer));
  const auto read = read_offer(offer_text.root());
  ASSERT_TRUE(read.ok()) << read.error();
  EXPECT_EQ(*read, offer);
  const JsonText receipt_text = parsed(canonical_payload(receipt));
  const auto read_back = read_receipt(receipt_text.root());
  ASSERT_TRUE(read_back.ok()) << read_back.error();
  EXPECT_EQ(*read_back, receipt);
}

// Each member in turn is replaced by null or a value of another type.
TEST(Payload, ThatLacksAMemberIsRefusedByItsName) {
  const auto check = [](const std::string& whole, const auto& read,
                        const std::vector<std::string>& required) {
    for (const std::string& name : required) {
      for (const json& value : {json(), json(true), json(-1), json::array()}) {
        json payload = json::parse(whole);
        payload[name] = value;
        const JsonText text = parsed(payload.dump());
        const auto found = read(text.root());
        ASSERT_FALSE(found.ok()) << text.text();
        EXPECT_NE(found.error().find("'s " + name + " is"), std::string::npos) << found.error();
      }
    }
  };
  check(canonical_payload(offer), read_offer,
        {"version", "resourceUrl", "scheme", "network", "asset", "payTo", "amount"});
  check(canonical_payload(receipt), read_receipt,
        {"version", "network", "resourceUrl", "payer", "issuedAt"});
  for (const char* until : {"-1", "1.5", "\"1\"", "18446744073709551615"}) {
    const JsonText text = parsed(R"({"version":1,"resourceUrl":"u","scheme":"s","network":"n",)"
                                 R"("asset":"a","payTo":"p","amount":"1","validUntil":)" +
                                 std::string(until) + "}");
    EXPECT_FALSE(read_offer(text.root()).ok()) << until;
  }
}

TEST(Extension, HasOneOfferForEachEntryAndItsIndex) {
  const std::vector<std::string> two = {"a.b.c", "d.e.f"};
  const json offers = json::parse(offers_extension(two));
  EXPECT_EQ(offers["info"], json::parse(R"({"offers":[
      {"format":"jws","acceptIndex":0,"signature":"a.b.c"},
      {"format":"jws","acceptIndex":1,"signature":"d.e.f"}]})"));
  EXPECT_TRUE(offers["schema"].is_object());
  EXPECT_EQ(json::parse(offers_extension({}))["info"]["offers"], json::array());
  const json paid = json::parse(receipt_extension("a.b.c"));
  EXPECT_EQ(paid["info"], json::parse(R"({"receipt":{"format":"jws","signature":"a.b.c"}})"));
  EXPECT_TRUE(paid["schema"].is_object());
}

// A whole challenge has 8 KiB, which in base64 is 6 KiB of JSON (docs/protocols.md, "HTTP
// headers").
TEST(Extension, FourOffersForALongPathTakeHalfOfAChallenge) {
  Offer long_offer = offer;
  long_offer.resource_url = "https://gateway.example/" + std::string(200, 'p');
  const std::string jws = sign_offer(long_offer, any_key(Algorithm::es256k),
                                     "did:web:gateway.example#offer-2026-11-21-01234567");
  EXPECT_LT(offers_extension(std::vector<std::string>(4, jws)).size(), 4096u);
}

TEST(Vectors, AreWhatIsSignedForTheSameTerms) {
  TURNPIKE_VECTORS(file, "offer-receipt-jws.json");
  for (const auto& vector : file["vectors"]) {
    const Algorithm algorithm = algorithm_named(vector["alg"].get<std::string>()).value();
    const auto& keys = file["keys"];
    const PrivateKey key =
        key_of_hex(algorithm, (algorithm == Algorithm::es256k ? keys["es256k"]["privateKeyHex"]
                                                              : keys["ed25519"]["seedHex"])
                                  .get<std::string>());
    const std::string kid = vector["kid"];
    const JsonText payload = parsed(vector["payload"].dump());
    std::string text, signed_text;
    if (vector["kind"] == "offer") {
      const auto read = read_offer(payload.root());
      ASSERT_TRUE(read.ok()) << read.error();
      text = canonical_payload(*read);
      signed_text = sign_offer(*read, key, kid);
      const json made = json::parse(offers_extension(std::vector<std::string>{signed_text}));
      EXPECT_EQ(made["info"]["offers"][0], vector["artifact"]);
    } else {
      const auto read = read_receipt(payload.root());
      ASSERT_TRUE(read.ok()) << read.error();
      text = canonical_payload(*read);
      signed_text = sign_receipt(*read, key, kid);
      const json made = json::parse(receipt_extension(signed_text));
      EXPECT_EQ(made["info"]["receipt"], vector["artifact"]);
    }
    EXPECT_EQ(text, vector["canonicalPayload"].get<std::string>());
    EXPECT_EQ(signed_text, vector["artifact"]["signature"].get<std::string>());
  }
}

}  // namespace
}  // namespace turnpike::x402
