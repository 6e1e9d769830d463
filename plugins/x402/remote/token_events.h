// What a token with EIP-3009 says about an authorization: the call that asks for its state, the
// events that it logs, and whether the logs of a transaction contain the transfer that was
// authorized (docs/protocols.md, "Exact on EVM: EIP-3009"). Pure functions; any Thread.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "x402/protocol/bytes.h"
#include "x402/remote/chain.h"
#include "x402/remote/json_rpc.h"

namespace turnpike::x402 {

consteval Word word_literal(std::string_view digits) {
  const auto value_of = [](char digit) { return digit <= '9' ? digit - '0' : digit - 'a' + 10; };
  Word word{};
  for (std::size_t at = 0; at < word.size(); ++at) {
    word[at] = static_cast<std::uint8_t>(value_of(digits.at(2 * at)) * 16 +
                                         value_of(digits.at(2 * at + 1)));
  }
  return word;
}

// Keccak-256 of the event signatures in EIP-3009 and ERC-20; a test computes them again. Each
// comment says which of the parameters are topics.
inline constexpr Word authorization_used_event =  // (address,bytes32): both
    word_literal("98de503528ee59b575ef0c0a2576a82497bfc029a5685b209e9ec333479b10a5");
inline constexpr Word authorization_canceled_event =  // (address,bytes32): both
    word_literal("1cdd46ff242716cdaa72d159d339a485b3438398348d68f09d7c8c0a59353d81");
inline constexpr Word transfer_event =  // (address,address,uint256): the first two
    word_literal("ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef");
inline constexpr std::string_view authorization_state_selector = "0xe94a0102";  // (address,bytes32)

// The call data of authorizationState(from, nonce).
std::string state_call_data(const Authorization& authorization);

// ERC-1271: the selector of a wallet's isValidSignature(bytes32,bytes), which is also what the
// wallet returns if it has signed, and the call data.
inline constexpr std::string_view is_valid_signature_selector = "0x1626ba7e";
std::string signer_call_data(const Word& digest, std::string_view signature);
bool says_signed(const Word& returned) noexcept;
// ERC-6492: whether the signature ends in the bytes that mark a contract wallet that is yet to be
// deployed.
bool is_of_undeployed_wallet(std::string_view signature) noexcept;

// The filter of eth_getLogs for the events that use or cancel the authorization.
std::string use_filter(const Authorization& authorization, const std::string& from_block,
                       const std::string& to_block);

bool says_used(const LogEntry& log, const Authorization& authorization) noexcept;
bool says_cancelled(const LogEntry& log, const Authorization& authorization) noexcept;

// Whether the logs of one transaction show that it used this authorization to make this transfer. A
// log that only reports a use is not enough: PYUSD accepts a used authorization without a transfer.
// Nor may one transfer count for two authorizations that a transaction uses. So the transfer must
// be the token's next event, as in EIP-3009's own code and USDC, or else the payer's only one.
bool pays(std::span<const LogEntry> logs, const Authorization& authorization) noexcept;

}  // namespace turnpike::x402
