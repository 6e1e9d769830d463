#include "x402/protocol/binding.h"

#include <gtest/gtest.h>

#include "plugins/x402/samples.h"
#include "x402/protocol/digest.h"
#include "x402/protocol/extensions.h"

namespace turnpike::x402 {
namespace {

using nlohmann::json;

constexpr std::uint64_t expires_s = 1'800'000'300;
constexpr std::uint64_t asked_at_s = 1'800'000'000;
constexpr std::array<std::uint8_t, 32> key{7, 7, 7};
constexpr BindingNonce nonce{9, 9, 9};

BoundRequest request() { return {"rt_facts", "POST", "/v1/facts", "limit=3", sha256("the body")}; }

json challenge(const BoundRequest& for_request = request(), const BindingNonce& its_nonce = nonce) {
  PaymentRequirements other = sample_requirements();
  other.network = "eip155:84532";
  const std::string first = canonical_json(other), second = canonical_json(sample_requirements());
  const std::array<std::string_view, 2> entries{first, second};
  return json::parse(Binding(key).extension_json(for_request, entries, expires_s, its_nonce));
}

json echoing(const json& extension) {
  json payload = sample_payload();
  payload["extensions"]["turnpike-binding"] = extension;
  return payload;
}

std::string check(const json& payload, const BoundRequest& of_request = request(),
                  std::uint64_t at_s = asked_at_s, const Binding& binding = Binding(key)) {
  const auto reason = binding.check(of_request, payment_of(payload), at_s);
  return reason ? std::string(code_of(*reason)) : "bound";
}

constexpr const char* mismatch = "turnpike_binding_mismatch";

TEST(Binding, AcceptsWhatWasOfferedForThisRequest) {
  EXPECT_EQ(check(echoing(challenge())), "bound");
  json first_entry = echoing(challenge());
  first_entry["accepted"]["network"] = "eip155:84532";
  EXPECT_EQ(check(first_entry), "bound");
  // One MAC is enough: a caller may send back only that of its entry, and add other members.
  json trimmed = challenge();
  trimmed["info"]["macs"].erase(0);
  trimmed["info"]["more"] = 1;
  trimmed.erase("schema");
  EXPECT_EQ(check(echoing(trimmed)), "bound");
  json wallet = echoing(challenge());
  wallet["accepted"]["extra"]["wallet"] = "some";
  EXPECT_EQ(check(wallet), "bound");
}

TEST(Binding, RefusesThePaymentOfAnyOtherRequest) {
  const json payload = echoing(challenge());
  std::vector<BoundRequest> others(6, request());
  others[0].route_id = "rt_other";
  others[1].method = "GET";
  others[2].path = "/v1/fact";
  others[3].query = "limit=4";
  others[4].query = "";
  others[5].body_sha256 = sha256("another body");
  for (const BoundRequest& other : others) EXPECT_EQ(check(payload, other), mismatch);
}

TEST(Binding, SeesWhereOnePartEndsAndTheNextBegins) {
  const json payload = echoing(challenge());
  BoundRequest shifted = request();
  shifted.path = "/v1/factsl";
  shifted.query = "imit=3";
  EXPECT_EQ(check(payload, shifted), mismatch);
  shifted = request();
  shifted.route_id = "rt_factsP";
  shifted.method = "OST";
  EXPECT_EQ(check(payload, shifted), mismatch);
}

TEST(Binding, RefusesOtherTerms) {
  const std::vector<std::pair<std::string, json>> changes = {
      {"amount", "1"},
      {"asset", "0x036CbD53842c5426634e7929541eC2318f3dCF7e"},
      {"payTo", "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"},
      {"maxTimeoutSeconds", 301},
      {"network", "eip155:1"},
      {"scheme", "upto"},
      {"extra", {{"name", "USD Coin"}}},
      {"extra", {{"name", "USD Coin"}, {"version", "2"}, {"paymentFlow", "upfront"}}},
      {"surprise", 1},
  };
  for (const auto& [name, value] : changes) {
    json payload = echoing(challenge());
    payload["accepted"][name] = value;
    EXPECT_EQ(check(payload), mismatch) << name;
  }
}

TEST(Binding, RefusesOtherKeysAndChangedTimes) {
  std::array<std::uint8_t, 32> other_key = key;
  other_key[31] = 1;
  EXPECT_EQ(check(echoing(challenge()), request(), asked_at_s, Binding(other_key)), mismatch);
  json later = challenge();
  later["info"]["expires"] = expires_s + 1;
  EXPECT_EQ(check(echoing(later)), mismatch);
  json changed = challenge();
  for (json& mac : changed["info"]["macs"]) {
    std::string text = mac;
    text[0] = text[0] == 'A' ? 'B' : 'A';
    mac = text;
  }
  EXPECT_EQ(check(echoing(changed)), mismatch);
}

// A settled payment on the chain does not reveal the nonce of its challenge.
TEST(Binding, CannotBeEchoedByWhoHasNotSeenItsNonce) {
  const json mine = challenge(), theirs = challenge(request(), {8});
  EXPECT_NE(mine["info"]["macs"], theirs["info"]["macs"]);
  json guessed = mine;
  guessed["info"]["nonce"] = theirs["info"]["nonce"];
  EXPECT_EQ(check(echoing(guessed)), mismatch);
}

TEST(Binding, IsOverWhenItExpires) {
  EXPECT_EQ(check(echoing(challenge()), request(), expires_s - 1), "bound");
  EXPECT_EQ(check(echoing(challenge()), request(), expires_s), "turnpike_binding_expired");
}

TEST(Binding, SaysWhatIsWrongWithAnEcho) {
  EXPECT_EQ(check(sample_payload()), "turnpike_binding_missing");
  EXPECT_EQ(check(echoing(nullptr)), "turnpike_binding_missing");
  json no_macs = challenge(), no_expiry = challenge(), odd_expiry = challenge();
  json no_nonce = challenge();
  no_nonce["info"].erase("nonce");
  no_macs["info"].erase("macs");
  no_expiry["info"].erase("expires");
  odd_expiry["info"]["expires"] = "soon";
  for (const json& extension : {json::object(), json("text"), json{{"info", "text"}}, no_macs,
                                no_expiry, odd_expiry, no_nonce}) {
    EXPECT_EQ(check(echoing(extension)), "turnpike_binding_malformed") << extension;
  }
  json no_texts = challenge();
  no_texts["info"]["macs"] = {1, nullptr, "", json::array()};
  EXPECT_EQ(check(echoing(no_texts)), mismatch);
}

// A change of what is bound invalidates every challenge that callers hold; the tag must then
// change.
TEST(Binding, IsTheMacThatItsDescriptionSays) {
  const auto sized = [](std::string_view part) {
    std::string out(8, '\0');
    out[6] = static_cast<char>(part.size() >> 8);
    out[7] = static_cast<char>(part.size());
    return out.append(part);
  };
  const Word expiry = word_of(expires_s);
  const std::string nonce_text = base64url_encode(bytes_of(nonce));
  std::string text;
  for (const std::string_view part : {std::string_view("turnpike-binding/2"), request().route_id,
                                      request().method, request().path, request().query}) {
    text += sized(part);
  }
  const Word body = sha256("the body");
  text += sized(bytes_of(body)) + sized(bytes_of(expiry)) + sized(nonce_text);
  text += sized(canonical_json(sample_requirements()));
  EXPECT_EQ(challenge()["info"]["macs"][1],
            base64url_encode(bytes_of(hmac_sha256(bytes_of(key), {text}))));
}

std::vector<OfferedExtension> offered(const std::string& name, const char* info) {
  std::vector<OfferedExtension> list;
  list.push_back({name, std::move(*JsonText::parse(info))});
  return list;
}

bool echo(const std::string& name, const char* info, const json& extension) {
  json payload = sample_payload();
  payload["extensions"][name] = extension;
  return echoes(payment_of(payload), offered(name, info));
}

TEST(Echo, MayAddButNotChange) {
  const char* info = R"({"required":false,"of":{"a":1,"list":[1,{"b":2}]}})";
  const json same = {{"info", json::parse(info)}};
  EXPECT_TRUE(echo("some", info, same));
  json more = same;
  more["info"]["id"] = "x";
  more["info"]["of"]["c"] = {1, 2};
  EXPECT_TRUE(echo("some", info, more));
  json changed = same;
  changed["info"]["required"] = true;
  EXPECT_FALSE(echo("some", info, changed));
  json less = same;
  less["info"]["of"].erase("a");
  EXPECT_FALSE(echo("some", info, less));
  json longer = same;  // arrays must be equal as a whole
  longer["info"]["of"]["list"].push_back(3);
  EXPECT_FALSE(echo("some", info, longer));
  json fuller = same;
  fuller["info"]["of"]["list"][1]["c"] = 3;
  EXPECT_FALSE(echo("some", info, fuller));
  EXPECT_FALSE(echo("some", info, json::object()));
  EXPECT_FALSE(echo("some", info, "text"));
}

TEST(Echo, MayBeLeftOut) {
  EXPECT_TRUE(echo("some", R"({"a":1})", nullptr));
  EXPECT_TRUE(echoes(payment_of(sample_payload()), offered("some", R"({"a":1})")));
  json payload = sample_payload();
  payload["extensions"]["another"] = {{"info", {{"a", 2}}}};
  EXPECT_TRUE(echoes(payment_of(payload), offered("some", R"({"a":1})")));
}

TEST(Echo, MayBeOfAnOlderChallenge) {
  EXPECT_TRUE(echo("offer-receipt", R"({"offers":[1]})", {{"info", {{"offers", {2}}}}}));
  EXPECT_TRUE(echo("offer-receipt", R"({"offers":[1]})", {{"info", json::object()}}));
  EXPECT_FALSE(echo("offer-receipt", R"({"offers":[1],"a":1})", {{"info", {{"offers", {1}}}}}));
  const char* proof = R"({"nonce":"1","issuedAt":"2","expirationTime":"3","domain":"d"})";
  EXPECT_TRUE(echo("sign-in-with-x", proof, {{"info", {{"nonce", "9"}, {"domain", "d"}}}}));
  EXPECT_FALSE(echo("sign-in-with-x", proof, {{"info", {{"nonce", "1"}, {"domain", "e"}}}}));
  EXPECT_FALSE(echo("another", R"({"offers":[1]})", {{"info", {{"offers", {2}}}}}));
}

TEST(Echo, OfBuilderCodesMayAppendServicesButInventNoApp) {
  const auto codes = [](const json& info) {
    return echo("builder-code", R"({"a":"app","s":["one"]})", {{"info", info}});
  };
  EXPECT_TRUE(codes({{"a", "app"}, {"s", {"one"}}}));
  EXPECT_TRUE(codes({{"a", "app"}, {"s", {"one", "two"}}, {"w", "wallet"}}));
  EXPECT_FALSE(codes({{"a", "other"}, {"s", {"one"}}}));
  EXPECT_FALSE(codes({{"a", "app"}, {"s", {"two"}}}));
  EXPECT_FALSE(codes({{"a", "app"}, {"s", "one"}}));
  EXPECT_FALSE(codes({{"a", "app"}}));
  json ten = {"one", 2, 3, 4, 5, 6, 7, 8, 9, 10};
  EXPECT_TRUE(codes({{"a", "app"}, {"s", ten}}));
  ten.push_back(11);
  EXPECT_FALSE(codes({{"a", "app"}, {"s", ten}}));
  EXPECT_FALSE(echo("builder-code", R"({})", {{"info", {{"a", "app"}}}}));
  EXPECT_TRUE(echo("builder-code", R"({})", {{"info", {{"s", {"two"}}}}}));
}

}  // namespace
}  // namespace turnpike::x402
