// RequestState: what a tool that asks its user something gives along, to have it back with the
// answers (docs/protocols.md, "Input in the middle of a call"). The caller keeps it and may send
// anything in its place, so it is signed, ends, and holds for the same caller, method and arguments
// alone.
//
// Immutable; any Thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <turnpike/host.h>

#include "hosts/mcp/tool.h"

namespace turnpike::tests {

class RequestState {
 public:
  RequestState(const Clock& clock, std::string key, std::int64_t lifetime_ms)
      : clock_(clock), key_(std::move(key)), lifetime_ms_(lifetime_ms) {}

  // `memory`: what the next round is to know.
  [[nodiscard]] std::string make(const hosts::mcp::RpcRequest& request,
                                 std::string_view memory) const;

  // The memory of the state that came with the request. Nothing: none came. Error: -32602, it was
  // not made by us for this, or its time is over.
  [[nodiscard]] Result<std::optional<std::string>, hosts::mcp::RpcError> read(
      const hosts::mcp::RpcRequest& request) const;

 private:
  const Clock& clock_;
  const std::string key_;
  const std::int64_t lifetime_ms_;
};

}  // namespace turnpike::tests
