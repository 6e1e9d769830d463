// Strict readers and writers of texts that stand for bytes and numbers. Where a format has a
// canonical form, readers accept only that form, so that nobody can present one value under two
// spellings. They reject every other text with nullopt or false. Pure functions; safe on any
// thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "x402/protocol/bytes.h"

namespace turnpike::x402 {

// RFC 4648 section 4: standard alphabet, padded, no whitespace, unused bits zero.
std::string base64_encode(std::string_view bytes);
std::optional<std::string> base64_decode(std::string_view text, std::size_t bytes_max);

// RFC 4648 section 5 without padding, as in JOSE (RFC 7515 section 2).
std::string base64url_encode(std::string_view bytes);
std::optional<std::string> base64url_decode(std::string_view text, std::size_t bytes_max);

// "0x" and two digits per byte. Readers accept either case; the writer uses lower case.
std::string hex_encode(std::string_view bytes);
std::optional<std::string> hex_decode(std::string_view text, std::size_t bytes_max);
bool hex_decode_exactly(std::string_view text, std::span<std::uint8_t> out) noexcept;

// The text matches ^(0|[1-9][0-9]*)$ and the value fits. A Word is big-endian.
std::optional<Word> parse_uint256(std::string_view text) noexcept;
std::optional<std::uint64_t> parse_uint64(std::string_view text) noexcept;

Word word_of(std::uint64_t value) noexcept;
Word word_of(const Address& address) noexcept;  // left-padded, as abi.encode does
// Returns the largest std::uint64_t for anything larger.
std::uint64_t saturated_uint64(const Word& word) noexcept;

// Accepts an address as viem-based facilitators do: all in lower case, or with the checksum of
// EIP-55.
std::optional<Address> parse_address(std::string_view text);
std::string checksum_address(const Address& address);

// Base58 with Bitcoin's alphabet, which Solana uses too.
std::string base58_encode(std::string_view bytes);
std::optional<std::string> base58_decode(std::string_view text, std::size_t bytes_max);

}  // namespace turnpike::x402
