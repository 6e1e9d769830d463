#include "x402/remote/json_rpc.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <utility>

#include "x402/protocol/encoding.h"

namespace turnpike::x402 {

namespace {

constexpr std::size_t topics_max = 4;

std::optional<LogEntry> read_log(JsonValue value) {
  if (value["removed"].text() == "true") return std::nullopt;
  const auto address = read_address(value["address"]);
  const auto transaction = read_word(value["transactionHash"]);
  const auto block = read_quantity(value["blockNumber"]);
  const auto index = read_quantity(value["logIndex"]);
  const JsonValue topics = value["topics"];
  if (!address || !transaction || !block || !index || !topics.is(JsonKind::array)) {
    return std::nullopt;
  }
  LogEntry log{*address, {}, read_word(value["data"]), *transaction, *block, *index};
  for (const JsonValue::Member item : topics) {
    const auto topic = read_word(item.value);
    if (!topic || log.topics.size() == topics_max) return std::nullopt;
    log.topics.push_back(*topic);
  }
  return log;
}

}  // namespace

RpcKind kind_of_rpc(JsonValue body, std::uint64_t id) noexcept {
  if (body["jsonrpc"].plain() != "2.0" || body["id"].natural() != id) return RpcKind::broken;
  const JsonValue result = body["result"];
  const JsonValue error = body["error"];
  if (error.is(JsonKind::object) && result.is_missing()) return RpcKind::error;
  const bool is_result = error.is_missing() && !result.is(JsonKind::absent);
  return is_result ? RpcKind::result : RpcKind::broken;
}

std::optional<std::uint64_t> read_quantity(JsonValue value) noexcept {
  std::string_view text = value.plain();
  if (!text.starts_with("0x")) return std::nullopt;
  text.remove_prefix(2);
  if (text.empty() || (text.front() == '0' && text != "0")) return std::nullopt;
  std::uint64_t number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number, 16);
  if (problem != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::string quantity(std::uint64_t value) {
  char digits[16];
  const auto [end, problem] = std::to_chars(std::begin(digits), std::end(digits), value, 16);
  return "0x" + std::string(std::begin(digits), end);
}

std::optional<Word> read_word(JsonValue value) noexcept {
  Word word;
  if (!hex_decode_exactly(value.plain(), word)) return std::nullopt;
  return word;
}

std::optional<Address> read_address(JsonValue value) noexcept {
  Address address;
  if (!hex_decode_exactly(value.plain(), address)) return std::nullopt;
  return address;
}

std::string hex_of(std::span<const std::uint8_t> bytes) {
  return hex_encode({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

std::optional<Block> read_block(JsonValue value) noexcept {
  const auto number = read_quantity(value["number"]);
  const auto time_s = read_quantity(value["timestamp"]);
  if (!number || !time_s || *time_s > std::numeric_limits<std::int64_t>::max() / 1'000'000'000) {
    return std::nullopt;
  }
  return Block{*number, static_cast<std::int64_t>(*time_s)};
}

std::optional<std::vector<LogEntry>> read_logs(JsonValue value) {
  if (!value.is(JsonKind::array)) return std::nullopt;
  std::vector<LogEntry> logs;
  for (const JsonValue::Member item : value) {
    auto log = read_log(item.value);
    if (!log) return std::nullopt;
    logs.push_back(*std::move(log));
  }
  std::stable_sort(logs.begin(), logs.end(), [](const LogEntry& left, const LogEntry& right) {
    return std::pair(left.block, left.index) < std::pair(right.block, right.index);
  });
  return logs;
}

std::optional<ChainReceipt> read_chain_receipt(JsonValue value) {
  const auto transaction = read_word(value["transactionHash"]);
  const auto block = read_quantity(value["blockNumber"]);
  const auto status = read_quantity(value["status"]);
  auto logs = read_logs(value["logs"]);
  if (!transaction || !block || !status || *status > 1 || !logs) return std::nullopt;
  return ChainReceipt{*transaction, *block, *status == 1, *std::move(logs)};
}

}  // namespace turnpike::x402
