// Reads the values of Ethereum's JSON-RPC (execution-apis, "Ethereum JSON-RPC Specification")
// strictly: a node's reply that does not have exactly the specified form says nothing. Pure
// functions; any Thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "x402/protocol/bytes.h"
#include "x402/protocol/json.h"

namespace turnpike::x402 {

// What a reply to the request `id` is: a `result` (present, may be null), an error from the node,
// or neither.
enum class RpcKind : std::uint8_t { result, error, broken };
RpcKind kind_of_rpc(JsonValue body, std::uint64_t id) noexcept;

// A QUANTITY: "0x0", or hex digits without leading zeros.
std::optional<std::uint64_t> read_quantity(JsonValue value) noexcept;
std::string quantity(std::uint64_t value);

std::optional<Word> read_word(JsonValue value) noexcept;
std::optional<Address> read_address(JsonValue value) noexcept;
std::string hex_of(std::span<const std::uint8_t> bytes);  // with 0x

struct Block {
  std::uint64_t number = 0;
  std::int64_t time_s = 0;  // since 1970
};
std::optional<Block> read_block(JsonValue value) noexcept;

struct LogEntry {
  Address address{};
  std::vector<Word> topics;
  std::optional<Word> data;  // when it is exactly one word
  Word transaction{};
  std::uint64_t block = 0;
  std::uint64_t index = 0;  // in its block
};

// Reads logs and sorts them by block and index. Returns nullopt if one is mistyped or belongs to a
// block that was removed.
std::optional<std::vector<LogEntry>> read_logs(JsonValue value);

struct ChainReceipt {
  Word transaction{};
  std::uint64_t block = 0;
  bool is_success = false;
  std::vector<LogEntry> logs;
};
std::optional<ChainReceipt> read_chain_receipt(JsonValue value);

}  // namespace turnpike::x402
