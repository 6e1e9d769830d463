#include "x402/protocol/payload.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "plugins/x402/samples.h"
#include "plugins/x402/vectors.h"
#include "x402/protocol/digest.h"

namespace turnpike::x402 {
namespace {

using nlohmann::json;
using std::string_literals::operator""s;

PaymentPayload read(const json& payload) {
  auto result = decode_payment(header_of(payload));
  if (!result) {
    const auto* malformed = std::get_if<Malformed>(&result.error());
    throw std::runtime_error(malformed ? malformed->sentence() : "refused");
  }
  return std::move(*result);
}

// The place of the fault that is reported for an unreadable header.
std::string place_of_fault(const std::string& header) {
  const auto result = decode_payment(header);
  if (result) return "(none)";
  const auto* malformed = std::get_if<Malformed>(&result.error());
  return malformed == nullptr ? "(refused)" : std::string(malformed->where);
}
std::string place_of_fault(const json& payload) { return place_of_fault(header_of(payload)); }

json without(json payload, const std::string& parent, const std::string& name) {
  payload[json::json_pointer(parent)].erase(name);
  return payload;
}

TEST(Payload, ReadsAnAuthorization) {
  const PaymentPayload payload = read(sample_payload());
  EXPECT_EQ(payload.accepted, sample_requirements());
  EXPECT_FALSE(payload.accepted_has_more);
  const auto& payment = std::get<Eip3009Payment>(payload.payment);
  EXPECT_EQ(payment.signature, std::string(65, '\x11'));
  EXPECT_EQ(payment.from_text, "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed");
  EXPECT_EQ(checksum_address(payment.from), payment.from_text);
  EXPECT_EQ(checksum_address(payment.to), sample_requirements().pay_to);
  EXPECT_EQ(payment.value, word_of(1000));
  EXPECT_EQ(payment.valid_after, Word{});
  EXPECT_EQ(payment.valid_before, word_of(1'900'000'000));
  EXPECT_EQ(payment.nonce[31], 0xAA);
}

TEST(Payload, ReadsAPermit) {
  const PaymentPayload payload = read(sample_permit2_payload());
  const auto& payment = std::get<Permit2Payment>(payload.payment);
  EXPECT_EQ(checksum_address(payment.token), sample_requirements().asset);
  EXPECT_EQ(payment.amount, word_of(1000));
  EXPECT_EQ(checksum_address(payment.spender), "0x402085c248EeA27D92E8b30b2C58ed07f9E20001");
  EXPECT_EQ(payment.nonce, word_of(77));
  EXPECT_EQ(payment.deadline, word_of(1'900'000'000));
  EXPECT_EQ(checksum_address(payment.to), sample_requirements().pay_to);
  EXPECT_EQ(payload.accepted.extra.asset_transfer_method, "permit2");
}

TEST(Payload, FindsTheMessageOfATransaction) {
  const PaymentPayload payload = read(sample_solana_payload());
  const auto& payment = std::get<SolanaPayment>(payload.payment);
  EXPECT_EQ(payment.transaction, sample_solana_transaction());
  EXPECT_EQ(payment.message(),
            "\x80\2\1\1"
            "accounts and calls");
  EXPECT_EQ(payment.message_sha256, sha256(payment.message()));

  // A legacy message has no byte for its version.
  const auto legacy = read(with(sample_solana_payload(), "/payload/transaction",
                                base64_encode("\1" + std::string(64, 's') + "\1\0\1legacy"s)));
  EXPECT_EQ(std::get<SolanaPayment>(legacy.payment).message().substr(3), "legacy");
}

TEST(Payload, RefusesWhatIsNoTransaction) {
  for (const std::string& bytes :
       {std::string(), std::string(1, '\0'), std::string("\1"), "\1" + std::string(64, 's'),
        "\1" + std::string(64, 's') + "\1\0\1"s,             // nothing after the header
        "\1" + std::string(64, 's') + "\2\0\1content"s,      // two signatures required, one present
        "\1" + std::string(64, 's') + "\x81\1\0\1content"s,  // version 1
        "\x80\1" + std::string(128 * 64, 's') + "content", std::string(1'233, '\1')}) {
    EXPECT_EQ(
        place_of_fault(with(sample_solana_payload(), "/payload/transaction", base64_encode(bytes))),
        "payload.transaction")
        << bytes.size();
  }
}

TEST(Payload, KeepsTheWholeInCompactForm) {
  const json payload = sample_payload();
  const auto read_from_wide_text = decode_payment(base64_encode(payload.dump(2)));
  ASSERT_TRUE(read_from_wide_text);
  EXPECT_EQ(read_from_wide_text->text(), payload.dump());
  EXPECT_EQ(read_from_wide_text->sha256(), sha256(payload.dump()));
}

TEST(Payload, TakesNullForAbsentAndLeavesUnknownMembersAlone) {
  json payload = sample_payload();
  payload["extensions"] = nullptr;
  payload["resource"] = nullptr;
  payload["accepted"]["extra"]["memo"] = nullptr;
  payload["accepted"]["note"] = nullptr;
  payload["novelty"] = {{"deep", {1, 2, 3}}};
  payload["payload"]["permit2Authorization"] = nullptr;
  payload["payload"]["authorization"]["more"] = 1;
  const PaymentPayload result = read(payload);
  EXPECT_EQ(result.accepted, sample_requirements());
  EXPECT_FALSE(result.accepted_has_more);
  EXPECT_TRUE(read(with(sample_payload(), "/accepted/note", 1)).accepted_has_more);
  EXPECT_EQ(read(with(sample_payload(), "/accepted/extra", nullptr)).accepted.extra, Extra{});
  EXPECT_EQ(read(with(sample_payload(), "/x402Version", 2.0)).accepted, sample_requirements());
}

TEST(Payload, SaysWhereItIsMalformed) {
  const json good = sample_payload();
  const std::vector<std::pair<std::string, json>> cases = {
      {"x402Version", with(good, "/x402Version", 1)},
      {"x402Version", with(good, "/x402Version", "2")},
      {"x402Version", without(good, "", "x402Version")},
      {"accepted", without(good, "", "accepted")},
      {"accepted", with(good, "/accepted", nullptr)},
      {"accepted", with(good, "/accepted", json::array())},
      {"accepted.scheme", without(good, "/accepted", "scheme")},
      {"accepted.network", with(good, "/accepted/network", 8453)},
      {"accepted.amount", with(good, "/accepted/amount", 1000)},
      {"accepted.asset", with(good, "/accepted/asset", nullptr)},
      {"accepted.payTo", with(good, "/accepted/payTo", json::object())},
      {"accepted.maxTimeoutSeconds", with(good, "/accepted/maxTimeoutSeconds", "300")},
      {"accepted.maxTimeoutSeconds", with(good, "/accepted/maxTimeoutSeconds", 0)},
      {"accepted.maxTimeoutSeconds", with(good, "/accepted/maxTimeoutSeconds", -1)},
      {"accepted.maxTimeoutSeconds", with(good, "/accepted/maxTimeoutSeconds", 0.5)},
      {"accepted.maxTimeoutSeconds", with(good, "/accepted/maxTimeoutSeconds", 4'294'967'296)},
      {"accepted.extra", with(good, "/accepted/extra", "none")},
      {"accepted.extra", with(good, "/accepted/extra/name", 1)},
      {"payload", without(good, "", "payload")},
      {"payload", with(good, "/payload", "0x")},
      {"payload", with(good, "/payload/transaction", "AAAA")},
      {"payload.signature", without(good, "/payload", "signature")},
      {"payload.signature", with(good, "/payload/signature", "1122")},
      {"payload.signature", with(good, "/payload/signature", "0x112")},
      {"payload.signature", with(good, "/payload/signature", "0x" + std::string(8194, '1'))},
      {"payload.authorization", with(good, "/payload/authorization", "0x")},
      {"extensions", with(good, "/extensions", json::array())},
  };
  for (const auto& [where, payload] : cases) EXPECT_EQ(place_of_fault(payload), where) << payload;
}

// JavaScript's BigInt also accepts hexadecimal digits and spaces (docs/protocols.md, "Exact on EVM:
// EIP-3009").
TEST(Payload, TakesNumbersAndAddressesInTheirOneSpelling) {
  for (const char* name : {"value", "validAfter", "validBefore"}) {
    for (const json& value :
         {json("0x3e8"), json(" 1000"), json("1000 "), json("01000"), json("-1"), json("1e3"),
          json("1.0"), json(""), json(1000), json(nullptr), json(std::string(79, '9'))}) {
      const std::string at = std::string("payload.authorization.") + name;
      EXPECT_EQ(place_of_fault(
                    with(sample_payload(), "/payload/authorization/" + std::string(name), value)),
                at)
          << value;
    }
  }
  for (const char* name : {"from", "to"}) {
    for (const char* value : {"0x5AAEB6053F3E94C9B9A09F33669435E7EF1BEAED", "0x5aAe", "vitalik.eth",
                              "0x5aaeb6053F3E94C9b9A09f33669435E7Ef1BeAed"}) {
      EXPECT_EQ(place_of_fault(
                    with(sample_payload(), "/payload/authorization/" + std::string(name), value)),
                std::string("payload.authorization.") + name)
          << value;
    }
  }
  EXPECT_EQ(place_of_fault(with(sample_payload(), "/payload/authorization/nonce", "0xaa")),
            "payload.authorization.nonce");
  EXPECT_EQ(place_of_fault(with(sample_permit2_payload(),
                                "/payload/permit2Authorization/permitted/amount", "0x3e8")),
            "payload.permit2Authorization.permitted.amount");
  EXPECT_EQ(
      place_of_fault(without(sample_permit2_payload(), "/payload/permit2Authorization", "witness")),
      "payload.permit2Authorization.witness.to");
}

TEST(Payload, RefusesAPaymentOfAnUnknownKindWithAReason) {
  const json of_delegations = {{"delegationManager", "0x"}, {"permissionContext", "0x"}};
  const auto result = decode_payment(header_of(with(sample_payload(), "/payload", of_delegations)));
  ASSERT_FALSE(result);
  EXPECT_EQ(std::get<Reason>(result.error()), Reason::unsupported_payload_type);
}

TEST(Payload, IsBoundedBeforeItIsRead) {
  json payload = sample_payload();
  payload["padding"] = "";
  std::size_t room = payment_header_bytes_max / 4 * 3 - payload.dump().size();
  payload["padding"] = std::string(room, 'p');
  ASSERT_EQ(header_of(payload).size(), payment_header_bytes_max);
  EXPECT_EQ(place_of_fault(payload), "(none)");
  payload["padding"] = std::string(room + 1, 'p');
  const auto result = decode_payment(header_of(payload));
  ASSERT_FALSE(result);
  EXPECT_EQ(std::get<Malformed>(result.error()).sentence(),
            "The payment is longer than 16 KiB; echo nothing but what the challenge holds.");
}

TEST(Payload, IsBase64OfAnObjectWithoutTwins) {
  for (const std::string& text :
       {std::string(""), std::string("[]"), std::string("2"), std::string("null"),
        sample_payload().dump() + "x", "{\"x402Version\":1," + sample_payload().dump().substr(1)}) {
    EXPECT_EQ(place_of_fault(base64_encode(text)), "") << text;
  }
  EXPECT_EQ(place_of_fault(sample_payload().dump()), "");  // not base64
  const std::string needs_the_alphabet = with(sample_payload(), "/novelty", "??????").dump();
  EXPECT_EQ(place_of_fault(base64_encode(needs_the_alphabet)), "(none)");
  std::string of_urls = base64_encode(needs_the_alphabet);
  std::replace(of_urls.begin(), of_urls.end(), '/', '_');
  EXPECT_EQ(place_of_fault(of_urls), "");
}

// A payload may contain secrets that move money, so no part of it is repeated in a message.
TEST(Payload, EchoesNothingOfTheCallersInItsMessages) {
  for (const char* place : {"/payload/signature", "/payload/authorization/from", "/x402Version",
                            "/payload/authorization/nonce", "/payload/authorization/value"}) {
    const auto result = decode_payment(header_of(with(sample_payload(), place, "s3cret")));
    ASSERT_FALSE(result);
    const std::string sentence = std::get<Malformed>(result.error()).sentence();
    EXPECT_EQ(sentence.find("s3cret"), std::string::npos);
    // The sentence names no header, since payments over MCP come without one.
    EXPECT_EQ(sentence.find("The payment's "), 0u);
    EXPECT_EQ(sentence.back(), '.');
  }
}

TEST(Payload, HasTheIdThatTheCallerGaveIt) {
  const auto id_of = [](const json& id) {
    return with(sample_payload(), "/extensions/payment-identifier/info/id", id);
  };
  EXPECT_EQ(read(sample_payload()).payment_id, "");
  EXPECT_EQ(read(id_of(nullptr)).payment_id, "");
  EXPECT_EQ(read(id_of("pay_0123456789-A")).payment_id, "pay_0123456789-A");
  EXPECT_EQ(read(id_of(std::string(128, 'z'))).payment_id.size(), 128u);
  for (const json& id : {json(std::string(15, 'a')), json(std::string(129, 'a')), json(17),
                         json("pay_0123456789 A"), json("pay_0123456789\xc3\xbc")}) {
    EXPECT_EQ(place_of_fault(id_of(id)), "extensions.payment-identifier.info.id") << id;
  }
}

TEST(Payload, GivesWhatWasEchoedOfAnExtension) {
  const auto payload = read(with(sample_payload(), "/extensions/some/info", {{"a", 1}}));
  EXPECT_EQ(payload.extension("some").text(), R"({"info":{"a":1}})");
  EXPECT_TRUE(payload.extension("other").is_missing());
  EXPECT_TRUE(read(sample_payload()).extension("some").is_missing());
}

TEST(PaymentKey, NamesWhatTheChainHoldsUniqueAndNothingElse) {
  const Word key = payment_key(read(sample_payload()));
  const auto key_with = [](const std::string& pointer, const json& value) {
    return payment_key(read(with(sample_payload(), pointer, value)));
  };
  const std::string asset = "/accepted/asset", from = "/payload/authorization/from";
  // Spelling, signature, amount and expiry do not change the payment key.
  EXPECT_EQ(key_with(asset, "0x833589fcd6edb6e08f4c7c32d4f71b54bda02913"), key);
  EXPECT_EQ(key_with(from, "0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed"), key);
  EXPECT_EQ(key_with("/payload/authorization/nonce", "0x" + std::string(64, 'A')), key);
  EXPECT_EQ(key_with("/payload/signature", "0x22"), key);
  EXPECT_EQ(key_with("/payload/authorization/value", "2000"), key);
  EXPECT_EQ(key_with("/payload/authorization/validBefore", "2000000000"), key);
  std::set<Word> others{key,
                        key_with("/accepted/network", "eip155:84532"),
                        key_with(asset, "0x036CbD53842c5426634e7929541eC2318f3dCF7e"),
                        key_with(from, "0xfb6916095ca1df60bb79ce92ce3ea74c37c5d359"),
                        key_with("/payload/authorization/nonce", "0x" + std::string(64, 'b')),
                        payment_key(read(sample_permit2_payload())),
                        payment_key(read(sample_solana_payload()))};
  EXPECT_EQ(others.size(), 7u);
}

TEST(PaymentKey, OfATransactionDoesNotSeeItsSignatures) {
  std::string transaction = sample_solana_transaction();
  transaction[5] = 'x';
  const auto resigned =
      read(with(sample_solana_payload(), "/payload/transaction", base64_encode(transaction)));
  EXPECT_EQ(payment_key(resigned), payment_key(read(sample_solana_payload())));
  const auto other = read(with(sample_solana_payload(), "/payload/transaction",
                               base64_encode(sample_solana_transaction("other calls"))));
  EXPECT_NE(payment_key(other), payment_key(read(sample_solana_payload())));
}

TEST(Requirements, AreWrittenCanonically) {
  PaymentRequirements requirements = sample_requirements();
  requirements.extra.memo = "\"\n\xe2\x82\xac";
  EXPECT_EQ(canonical_json(requirements),
            R"({"amount":"1000","asset":"0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913","extra":)"
            R"({"memo":"\"\n)"
            "\xe2\x82\xac"
            R"(","name":"USD Coin","version":"2"},)"
            R"("maxTimeoutSeconds":300,"network":"eip155:8453",)"
            R"("payTo":"0x52908400098527886E0F7030069857D2E4169EE7","scheme":"exact"})");
  // nlohmann-json orders names by their bytes, which equals RFC 8785 for these names.
  EXPECT_EQ(json::parse(canonical_json(requirements)).dump(), canonical_json(requirements));
  requirements.extra = {};
  EXPECT_NE(canonical_json(requirements).find("\"extra\":{}"), std::string::npos);
}

TEST(Requirements, AreAcceptedByteForByte) {
  PaymentRequirements other = sample_requirements();
  other.network = "eip155:84532";
  const std::array offered{other, sample_requirements()};
  const auto accepted = [&](const json& payload) { return find_accepted(offered, read(payload)); };
  EXPECT_EQ(accepted(sample_payload()), 1u);
  EXPECT_EQ(accepted(with(sample_payload(), "/accepted/network", "eip155:84532")), 0u);
  EXPECT_EQ(accepted(with(sample_payload(), "/accepted/maxTimeoutSeconds", 301)), std::nullopt);
  EXPECT_EQ(accepted(with(sample_payload(), "/accepted/more", 1)), std::nullopt);
  for (const char* name : {"scheme", "network", "amount", "asset", "payTo"}) {
    const std::string at = std::string("/accepted/") + name;
    json payload = sample_payload();
    std::string value = payload[json::json_pointer(at)];
    EXPECT_EQ(accepted(with(payload, at, value + " ")), std::nullopt);
    for (char& c : value) c = static_cast<char>(std::toupper(c));
    const bool has_letters = value != payload[json::json_pointer(at)];
    EXPECT_EQ(accepted(with(payload, at, value)), has_letters ? std::nullopt : std::optional(1));
  }
}

TEST(Requirements, LetTheCallerAddToExtraButNotChangeIt) {
  const std::array offered{sample_requirements()};
  const auto accepted = [&](const json& payload) { return find_accepted(offered, read(payload)); };
  EXPECT_EQ(accepted(with(sample_payload(), "/accepted/extra/wallet", {{"a", 1}})), 0u);
  EXPECT_EQ(accepted(with(sample_payload(), "/accepted/extra/recentBlockhash", "x")), 0u);
  EXPECT_EQ(accepted(with(sample_payload(), "/accepted/extra/name", "USDC")), std::nullopt);
  EXPECT_EQ(accepted(without(sample_payload(), "/accepted/extra", "version")), std::nullopt);
  EXPECT_EQ(accepted(with(sample_payload(), "/accepted/extra", nullptr)), std::nullopt);
}

TEST(Requirements, KnowTheDomainOfUsdc) {
  const auto name = [](const char* network, const char* asset) {
    const auto domain = expected_domain(network, asset);
    return domain ? std::string(domain->name) + "/" + std::string(domain->version) : "unknown";
  };
  const char* base = "0x833589fcd6edb6e08f4c7c32d4f71b54bda02913";
  EXPECT_EQ(name("eip155:8453", base), "USD Coin/2");
  EXPECT_EQ(name("eip155:84532", "0x036CbD53842c5426634e7929541eC2318f3dCF7e"), "USDC/2");
  EXPECT_EQ(name("eip155:1", base), "unknown");
  EXPECT_EQ(name("eip155:8453", "none"), "unknown");
  for (const KnownAsset& known : known_assets()) {
    if (is_solana(known.network)) {
      EXPECT_EQ(base58_decode(known.address, 32).value_or("").size(), 32u) << known.network;
    } else {
      EXPECT_TRUE(evm_chain_id(known.network)) << known.network;
      EXPECT_TRUE(parse_address(known.address)) << known.network;  // with its checksum
    }
  }
}

TEST(Payload, ReadsTheVectors) {
  TURNPIKE_VECTORS(file, "eip3009.json");
  for (const auto& vector : file["vectors"]) {
    const auto payload = decode_payment(vector["paymentSignatureHeader"].get<std::string>());
    ASSERT_TRUE(payload) << vector["id"];
    EXPECT_EQ(json::parse(payload->text()), vector["paymentPayload"]);
    const auto& payment = std::get<Eip3009Payment>(payload->payment);
    EXPECT_EQ(payment.from_text, vector["address"]);
    EXPECT_EQ(hex_encode(payment.signature), vector["signature"]["hex"]);
    EXPECT_EQ(json::parse(canonical_json(payload->accepted)),
              vector["paymentRequired"]["accepts"][0]);
  }
}

}  // namespace
}  // namespace turnpike::x402
