// JSON-RPC 2.0 as MCP uses it over HTTP: one request or notification per POST, objects as params,
// ids that are strings or integers (docs/protocols.md, "MCP"). Reading is bounded in depth and in
// the number of values, so a hostile text costs no more than a few times its length.
//
// Values and pure functions; any Thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include <turnpike/result.h>

namespace turnpike::hosts::mcp {

using Json = nlohmann::json;

inline constexpr int message_depth_max = 64;
inline constexpr std::size_t message_values_max = 50'000;

// The codes that answers may carry (docs/protocols.md, "Error codes").
enum class RpcCode : std::int32_t {
  parse_error = -32700,
  invalid_request = -32600,
  method_not_found = -32601,
  invalid_params = -32602,
  internal_error = -32603,
  resource_not_found_legacy = -32002,
  header_mismatch = -32020,
  capability_missing = -32021,
  version_unsupported = -32022,
  request_cancelled = -32800,  // as other protocols on JSON-RPC have it; MCP has no code of its own
};

struct RpcError {
  RpcCode code = RpcCode::internal_error;
  std::string message;
  int http_status = 200;
  Json data = nullptr;  // null: none
};
inline RpcError invalid_params(std::string message) {
  return {RpcCode::invalid_params, std::move(message)};
}

struct Message {
  std::string id;  // JSON text, as it is sent back; empty: a notification
  std::string method;
  Json params;  // as they came, empty when there were none; an object once read_envelope() let pass
  std::string_view text = {};  // all of it as it came; valid as long as what it was read from
  std::string_view arguments = {};  // of a tool, as they came, where they were looked for already

  [[nodiscard]] bool is_notification() const noexcept { return id.empty(); }
};

// Errors, all with 400: not JSON or beyond the bounds (-32700), not one request or notification
// (-32600).
Result<Message, RpcError> read_message(std::string_view body);

// The JSON of `params.arguments` as it stands in a message; "{}" when there is none.
std::string_view arguments_of(std::string_view message) noexcept;

// The same bounds, for JSON inside of a message's strings.
Result<Json, RpcError> read_json(std::string_view text);

// The error object as the answer to `id` (JSON text; empty: it could not be read).
std::string error_text(std::string_view id, const RpcError& error);

// `value` as JSON text; bytes that are not UTF-8 become U+FFFD.
std::string text_of(const Json& value);

// A member of `object`, or null when it has none of this name or is no object.
const Json* find(const Json& object, const char* name) noexcept;
// The same, of a string.
const std::string* find_text(const Json& object, const char* name) noexcept;

}  // namespace turnpike::hosts::mcp
