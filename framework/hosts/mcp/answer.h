// Answer: the outcome of a method, before it is rendered for an era. A modern answer says that it
// is complete, which server gave it and how long a list may be cached; a legacy answer has none of
// these members (docs/protocols.md, "Results").
//
// Values and pure functions; any Thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <turnpike/message.h>
#include <turnpike/result.h>

#include "hosts/discovery.h"
#include "hosts/mcp/envelope.h"
#include "hosts/mcp/json_rpc.h"

namespace turnpike::hosts::mcp {

struct RpcResult {
  std::string members;  // JSON members of the result, without braces; may be empty
  std::shared_ptr<const std::string> kept = {};  // replaces `members`, shared by many answers
  std::string meta = {};                         // members of `_meta`, without braces
  std::optional<std::uint32_t> ttl_ms = {};      // lifetime in any cache, for any caller
  bool is_complete = true;                       // false: `members` has the resultType
  int http_status = 200;
  std::string www_authenticate = {};  // with 401
};

using Answer = Result<RpcResult, RpcError>;

// Returns {"name", "title", "version"} of the server, for the handshake and every modern result.
std::string server_info_object(const ServiceName& service, std::string_view version);

// Returns the whole JSON-RPC answer to `id`.
std::string result_text(std::string_view id, Era era, const RpcResult& result,
                        std::string_view server_info);

// Returns `json` as the only event of a server-sent stream, for clients that accept nothing else.
std::string as_event(std::string_view json);

// Whether the Accept fields require the event stream: they name it, and no type that matches JSON.
bool wants_event_stream(Headers headers) noexcept;
// Whether the Accept fields name the event stream.
bool takes_event_stream(Headers headers) noexcept;

// A tool result with one value: as structured content, and as text for clients that read only text.
// `structured`: the text of a JSON object.
RpcResult tool_result(std::string_view structured, bool is_error);
// The same with a different text.
RpcResult tool_result(std::string_view structured, bool is_error, std::string_view text);
// A tool result with text only.
RpcResult text_result(std::string_view text, bool is_error);

}  // namespace turnpike::hosts::mcp
