#include "x402/protocol/signature.h"

#include <gtest/gtest.h>

#include <random>

#include "plugins/x402/payer.h"
#include "plugins/x402/vectors.h"
#include "x402/protocol/digest.h"
#include "x402/protocol/eip712.h"

namespace turnpike::x402 {
namespace {

std::string hex(const Word& word) { return hex_encode(bytes_of(word)); }
Word word_from(const std::string& text) {
  Word word{};
  EXPECT_TRUE(hex_decode_exactly(text, word));
  return word;
}
std::string bytes_from(const std::string& text) { return hex_decode(text, 1000).value_or(""); }

std::string signer_of(const Word& digest, const std::string& signature) {
  const auto signer = recover_signer(digest, signature);
  if (!signer) return "nobody";
  return checksum_address(signer->address) + (signer->is_canonical ? "" : ", not canonical");
}

TEST(DomainSeparator, IsThatOfThePublishedExampleAndOfUsdcOnBase) {
  // https://eips.ethereum.org/EIPS/eip-712, "Ether Mail"
  EXPECT_EQ(hex(token_domain_separator(
                {"Ether Mail", "1"}, 1,
                parse_address("0xCcCCccccCCCCcCCCCCCcCcCccCcCCCcCcccccccC").value())),
            "0xf2cee375fa42b42143804025fc449deafd50cc031ca257e0b194a650a912090f");
  // docs/protocols.md, "USDC"
  const auto separator_of = [](const char* network, const char* asset) {
    PaymentRequirements requirements;
    requirements.network = network;
    requirements.asset = asset;
    const auto domain = expected_domain(network, asset).value();
    requirements.extra.name = domain.name;
    requirements.extra.version = domain.version;
    return hex(DomainSeparators().of(requirements).value());
  };
  EXPECT_EQ(separator_of("eip155:8453", "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"),
            "0x02fa7265e7c5d81118673727957699e4d68f74cd74b7db77da710fe8a2c7834f");
  EXPECT_EQ(separator_of("eip155:84532", "0x036CbD53842c5426634e7929541eC2318f3dCF7e"),
            "0x71f17a3b2ff373b803d70a5a07c046c1a2bc8e89c09ef722fcb047abe94c9818");
}

TEST(DomainSeparator, OfEachKnownAssetIsThatOfTheVectors) {
  TURNPIKE_VECTORS(file, "domain-separators.json");
  for (const auto& vector : file["separators"]) {
    const std::string network = "eip155:" + vector["chainId"].dump();
    const std::string asset = vector["verifyingContract"];
    const auto domain = expected_domain(network, asset);
    ASSERT_TRUE(domain) << vector;
    EXPECT_EQ(hex(token_domain_separator(*domain, evm_chain_id(network).value(),
                                         parse_address(asset).value())),
              vector["separator"]);
  }
}

TEST(DomainSeparators, KeepWhatIsOfferedAndComputeTheRest) {
  PaymentRequirements token = sample_requirements(), permit = token, other = token, solana = token;
  permit.extra.asset_transfer_method = "permit2";
  other.extra.name = "USDC";
  solana.network = "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp";
  const std::array offered{token, permit, solana, token};
  const DomainSeparators kept{offered}, none;
  for (const PaymentRequirements& requirements : {token, permit, other, solana}) {
    EXPECT_EQ(kept.of(requirements), none.of(requirements));
  }
  EXPECT_NE(kept.of(token), kept.of(other));
  EXPECT_NE(kept.of(token), kept.of(permit));
  EXPECT_EQ(kept.of(permit), permit2_domain_separator(8453));
  EXPECT_EQ(kept.of(solana), std::nullopt);
}

TEST(Digest, OfAnAuthorizationIsThatOfTheVectors) {
  TURNPIKE_VECTORS(file, "eip3009.json");
  for (const auto& vector : file["vectors"]) {
    const auto payload = decode_payment(vector["paymentSignatureHeader"].get<std::string>());
    ASSERT_TRUE(payload);
    const auto& payment = std::get<Eip3009Payment>(payload->payment);
    const Word separator = DomainSeparators().of(payload->accepted).value();
    EXPECT_EQ(hex(separator), vector["hashes"]["domainSeparator"]);
    const Word digest = digest_of(payment, separator);
    EXPECT_EQ(hex(digest), vector["hashes"]["digest"]) << vector["id"];
    EXPECT_EQ(signer_of(digest, payment.signature), vector["recoveredAddress"]);
  }
}

TEST(Digest, OfAPermitIsThatOfTheVectors) {
  TURNPIKE_VECTORS(file, "permit2-exact.json");
  nlohmann::json json = sample_permit2_payload();
  json["accepted"]["network"] = "eip155:" + file["domain"]["chainId"].dump();
  json["payload"] = file["payload"];
  const auto payload = read_payment(json.dump());
  ASSERT_TRUE(payload);
  const auto& payment = std::get<Permit2Payment>(payload->payment);
  EXPECT_EQ(payment.spender, permit2_proxy);
  const Word digest = digest_of(payment, DomainSeparators().of(payload->accepted).value());
  EXPECT_EQ(hex(digest), file["digest"]);
  EXPECT_EQ(signer_of(digest, payment.signature), file["recoveredAddress"]);
}

TEST(Signature, NamesItsSigner) {
  const Word digest = keccak256("something to sign");
  EXPECT_EQ(signer_of(digest, Payer(1).sign(digest)), payer_address);
  // Private key 2.
  EXPECT_EQ(signer_of(digest, Payer(2).sign(digest)), "0x2B5AD5c4795c026514f8317c7a215E218DcCD6cF");
}

// Tokens by OpenZeppelin and Circle refuse s > n / 2 and every v except 27 and 28.
TEST(Signature, HasOneCanonicalSpelling) {
  const Word digest = keccak256("something to sign");
  const std::string good = Payer().sign(digest);
  const std::string not_canonical = std::string(payer_address) + ", not canonical";
  EXPECT_EQ(signer_of(digest, with_high_s(good)), not_canonical);
  std::string low_v = good;
  low_v[64] = static_cast<char>(low_v[64] - 27);
  EXPECT_EQ(signer_of(digest, low_v), not_canonical);
  for (int v = 0; v < 256; ++v) {
    if (v < 2 || v == 27 || v == 28) continue;
    std::string other_v = good;
    other_v[64] = static_cast<char>(v);
    EXPECT_EQ(signer_of(digest, other_v), "nobody") << v;
  }
  EXPECT_EQ(signer_of(digest, good.substr(0, 64)), "nobody");
  EXPECT_EQ(signer_of(digest, good + '\0'), "nobody");
  EXPECT_EQ(signer_of(digest, ""), "nobody");
  for (const char filler : {'\0', '\xff'}) {  // r and s out of range
    EXPECT_EQ(signer_of(digest, std::string(64, filler) + '\x1b'), "nobody");
  }
}

TEST(Signature, OfAnythingElseNamesSomebodyElse) {
  const Word digest = keccak256("something to sign");
  const std::string good = Payer().sign(digest);
  std::mt19937 random(4);
  for (int round = 0; round < 300; ++round) {
    std::string flipped = good;
    flipped[random() % 64] ^= static_cast<char>(1 << random() % 8);
    EXPECT_NE(signer_of(digest, flipped), payer_address);
    Word other = digest;
    other[random() % 32] ^= static_cast<std::uint8_t>(1 << random() % 8);
    EXPECT_NE(signer_of(other, good), payer_address);
  }
}

TEST(Signature, OfEachBadVectorIsNotTheCanonicalOneOfItsSigner) {
  TURNPIKE_VECTORS(file, "eip3009-bad-signatures.json");
  const Word digest = word_from(file["digest"]);
  for (const auto& variant : file["variants"]) {
    const auto signer = recover_signer(digest, bytes_from(variant["signature"]));
    if (variant["recoveredAddress"].is_null()) {
      EXPECT_FALSE(signer) << variant;
      continue;
    }
    ASSERT_TRUE(signer) << variant;
    EXPECT_EQ(checksum_address(signer->address), variant["recoveredAddress"]);
    EXPECT_FALSE(signer->is_canonical && variant["recoveredAddress"] == file["signer"]) << variant;
  }
}

}  // namespace
}  // namespace turnpike::x402
