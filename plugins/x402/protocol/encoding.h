// Texts that stand for bytes and numbers, read strictly: one text per value wherever the format has
// a canonical form, so that nobody can present the same thing twice under two spellings. Readers
// give nothing for a text that is not exactly right. Pure functions; safe on any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "x402/protocol/bytes.h"

namespace turnpike::x402 {

// RFC 4648 section 4: standard alphabet, padded, no blanks, unused bits zero.
std::string base64_encode(std::string_view bytes);
std::optional<std::string> base64_decode(std::string_view text, std::size_t bytes_max);

// RFC 4648 section 5, without padding (as JOSE has it, RFC 7515 section 2).
std::string base64url_encode(std::string_view bytes);
std::optional<std::string> base64url_decode(std::string_view text, std::size_t bytes_max);

// "0x" and two digits a byte, of either case; written in lower case.
std::string hex_encode(std::string_view bytes);
std::optional<std::string> hex_decode(std::string_view text, std::size_t bytes_max);
bool hex_decode_exactly(std::string_view text, std::span<std::uint8_t> out) noexcept;

// ^(0|[1-9][0-9]*)$, at most 2^256 - 1; big-endian.
std::optional<Word> parse_uint256(std::string_view text) noexcept;
std::optional<std::uint64_t> parse_uint64(std::string_view text) noexcept;

Word word_of(std::uint64_t value) noexcept;
Word word_of(const Address& address) noexcept;  // left-padded, as abi.encode does
// The largest std::uint64_t stands for everything from there on.
std::uint64_t saturated_uint64(const Word& word) noexcept;

// An address as viem-based facilitators take it: all lower case, or spelled with the checksum of
// EIP-55.
std::optional<Address> parse_address(std::string_view text);
std::string checksum_address(const Address& address);

// Bitcoin's alphabet, as Solana uses it.
std::string base58_encode(std::string_view bytes);
std::optional<std::string> base58_decode(std::string_view text, std::size_t bytes_max);

}  // namespace turnpike::x402
