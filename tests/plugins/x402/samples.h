// Sample payloads as standard clients write them (docs/protocols.md, "Messages").
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "x402/protocol/encoding.h"
#include "x402/protocol/payload.h"
#include "x402/protocol/requirements.h"

namespace turnpike::x402 {

inline PaymentRequirements sample_requirements() {
  PaymentRequirements requirements;
  requirements.scheme = "exact";
  requirements.network = "eip155:8453";
  requirements.amount = "1000";
  requirements.asset = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913";
  requirements.pay_to = "0x52908400098527886E0F7030069857D2E4169EE7";
  requirements.max_timeout_seconds = 300;
  requirements.extra.name = "USD Coin";
  requirements.extra.version = "2";
  return requirements;
}

// Complete, except that the signature is not valid.
inline nlohmann::json sample_payload() {
  return {{"x402Version", 2},
          {"resource", {{"url", "https://api.example.org/v1/facts"}}},
          {"accepted", nlohmann::json::parse(canonical_json(sample_requirements()))},
          {"payload",
           {{"signature", "0x" + std::string(130, '1')},
            {"authorization",
             {{"from", "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"},
              {"to", sample_requirements().pay_to},
              {"value", "1000"},
              {"validAfter", "0"},
              {"validBefore", "1900000000"},
              {"nonce", "0x" + std::string(64, 'a')}}}}}};
}

inline nlohmann::json sample_permit2_payload() {
  nlohmann::json payload = sample_payload();
  payload["accepted"]["extra"]["assetTransferMethod"] = "permit2";
  payload["payload"] = {
      {"signature", "0x" + std::string(130, '1')},
      {"permit2Authorization",
       {{"from", "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"},
        {"permitted", {{"token", sample_requirements().asset}, {"amount", "1000"}}},
        {"spender", "0x402085c248EeA27D92E8b30b2C58ed07f9E20001"},
        {"nonce", "77"},
        {"deadline", "1900000000"},
        {"witness", {{"to", sample_requirements().pay_to}, {"validAfter", "0"}}}}}};
  return payload;
}

// A transaction with two signatures and a version 0 message that requires two; `content` follows
// the message's header.
inline std::string sample_solana_transaction(const std::string& content = "accounts and calls") {
  return "\2" + std::string(128, 's') + "\x80\2\1\1" + content;
}

inline nlohmann::json sample_solana_payload() {
  nlohmann::json payload = sample_payload();
  payload["accepted"]["network"] = "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp";
  payload["accepted"]["asset"] = "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v";
  payload["accepted"]["payTo"] = "2wKupLR9q6wXYppw8Gr2NvWxKBUqm4PPJKkQfoxHDBg4";
  payload["accepted"]["extra"] = {{"feePayer", "EwWqGE4ZFKLofuestmU4LDdK7XM1N4ALgdZccwYugwGd"}};
  payload["payload"] = {{"transaction", base64_encode(sample_solana_transaction())}};
  return payload;
}

inline std::string header_of(const nlohmann::json& payload) {
  return base64_encode(payload.dump());
}

// REQUIRES: a readable payload.
inline PaymentPayload payment_of(const nlohmann::json& payload) {
  auto result = decode_payment(header_of(payload));
  if (!result) throw std::runtime_error("not a payload");
  return std::move(*result);
}

// Returns the payload with the value at `pointer` replaced.
inline nlohmann::json with(nlohmann::json payload, const std::string& pointer,
                           const nlohmann::json& value) {
  payload[nlohmann::json::json_pointer(pointer)] = value;
  return payload;
}

}  // namespace turnpike::x402
