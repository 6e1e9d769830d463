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
  request_cancelled = -32800,  // as in other JSON-RPC protocols; MCP has no code for it
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
  std::string id;  // JSON text, echoed in the answer; empty: a notification
  std::string method;
  Json params;  // empty when absent; an object after read_envelope()
  std::string_view text = {};  // the whole message; valid as long as the body
  std::string_view arguments = {};  // raw arguments of a tool, if they were located already

  [[nodiscard]] bool is_notification() const noexcept { return id.empty(); }
};

// Errors, all with 400: -32700 (not JSON, or beyond the bounds), -32600 (not a single request or
// notification).
Result<Message, RpcError> read_message(std::string_view body);

// Returns the raw JSON of `params.arguments` in a message; "{}" when there is none.
std::string_view arguments_of(std::string_view message) noexcept;

// Reads JSON inside a message's strings, within the same bounds.
Result<Json, RpcError> read_json(std::string_view text);

// Returns the error object as the answer to `id` (JSON text; empty: the id could not be read).
std::string error_text(std::string_view id, const RpcError& error);

// Returns `value` as JSON text; invalid UTF-8 becomes U+FFFD.
std::string text_of(const Json& value);

// Returns a member of `object`; null: it has no such member or is not an object.
const Json* find(const Json& object, const char* name) noexcept;
// The same for a string.
const std::string* find_text(const Json& object, const char* name) noexcept;

}  // namespace turnpike::hosts::mcp
