// Answer: the outcome of a method, before an era is applied to it. A modern answer says that it is
// complete, which server gave it and how long a list may be cached; a legacy answer has none of
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
  std::string members;  // of the result object, as JSON without its braces; may be empty
  std::shared_ptr<const std::string> kept = {};  // in their place, when many answers share them
  std::string meta = {};                         // members of `_meta`, likewise
  std::optional<std::uint32_t> ttl_ms = {};      // of what any cache may keep, for anybody
  bool is_complete = true;                       // false: `members` say which resultType it is
  int http_status = 200;
  std::string www_authenticate = {};  // with 401
};

using Answer = Result<RpcResult, RpcError>;

// {"name", "title", "version"} of the server: of the handshake, and of every modern result.
std::string server_info_object(const ServiceName& service, std::string_view version);

// The whole JSON-RPC answer to `id`.
std::string result_text(std::string_view id, Era era, const RpcResult& result,
                        std::string_view server_info);

// `json` as the one event of a server-sent stream, for clients that take nothing else.
std::string as_event(std::string_view json);

// Whether the Accept fields want the event stream: they name it, and nothing that JSON is.
bool wants_event_stream(Headers headers) noexcept;
// Whether they name the event stream at all.
bool takes_event_stream(Headers headers) noexcept;

// A tool result that says one thing: as structured content, and the same as text for clients that
// read text alone. `structured` is a JSON object's text.
RpcResult tool_result(std::string_view structured, bool is_error);
// The same with another text.
RpcResult tool_result(std::string_view structured, bool is_error, std::string_view text);
// One of text alone.
RpcResult text_result(std::string_view text, bool is_error);

}  // namespace turnpike::hosts::mcp
