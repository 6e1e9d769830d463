// Decides the era of a message, and checks its envelope: the `_meta` that every modern request
// carries and the headers that mirror its body (docs/protocols.md, "Modern requests"). Each request
// is checked alone: no state is kept between requests.
//
// Pure functions; any Thread.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <turnpike/message.h>
#include <turnpike/result.h>

#include "hosts/mcp/json_rpc.h"

namespace turnpike::hosts::mcp {

enum class Era : std::uint8_t { legacy, modern };

inline constexpr std::string_view modern_version = "2026-07-28";
// Newest first: the first is offered to clients that ask for an unknown version.
inline constexpr std::array<std::string_view, 2> legacy_versions = {"2025-11-25", "2025-06-18"};

inline constexpr const char* version_key = "io.modelcontextprotocol/protocolVersion";
inline constexpr const char* capabilities_key = "io.modelcontextprotocol/clientCapabilities";

// Errors, all with 400: -32602 (params is not an object, or a modern request lacks a member of
// `_meta`), -32020 (a header is missing, malformed or differs from the body), -32022 (unsupported
// version).
Result<Era, RpcError> read_envelope(const Message& message, Headers headers);

// An argument that a tool requires to be mirrored as `Mcp-Param-<name>`.
struct MirroredArgument {
  std::string name;                   // of the header, after "Mcp-Param-"
  std::vector<std::string> argument;  // path within the arguments
};
// Error: -32020.
std::optional<RpcError> check_mirrored(std::span<const MirroredArgument> mirrored,
                                       const Json& arguments, Headers headers);

// Decodes a header value: plain text, or "=?base64?<UTF-8 in base64>?="; nothing: it is neither.
std::optional<std::string> decode_header_value(std::string_view value);

}  // namespace turnpike::hosts::mcp
