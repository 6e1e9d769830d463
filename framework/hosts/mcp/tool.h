// Tool: an operation that a model may call. The gateway has its own tools; the test build for the
// official conformance suite has those of the suite.
//
// Owned by the host or, when they come from the registry, by a Toolset; called on the fibers of all
// loop Threads at once, may suspend.
#pragma once

#include <atomic>
#include <span>
#include <string>
#include <string_view>

#include "hosts/mcp/answer.h"
#include "hosts/mcp/calls_in_flight.h"
#include "hosts/mcp/envelope.h"
#include "hosts/mcp/json_rpc.h"
#include "hosts/turn.h"

namespace turnpike::hosts::mcp {

// The two endpoints: `POST /` for callers with an account, `POST /x402` for those who pay per call.
enum class Door : std::uint8_t { account, payment };

// A request with a valid envelope. Valid until it is answered.
struct RpcRequest {
  const Message& message;
  Era era;
  Door door;
  Turn& turn;
  const std::atomic<bool>& is_stopping;
  const CallsInFlight::Call* call = nullptr;  // null: the call cannot be cancelled

  [[nodiscard]] bool is_cancelled() const noexcept {
    return call != nullptr && call->is_cancelled();
  }
  [[nodiscard]] const Json* meta(const char* name) const noexcept {
    const Json* const all = find(message.params, "_meta");
    const Json* const member = all == nullptr ? nullptr : find(*all, name);
    return member == nullptr || member->is_null() ? nullptr : member;
  }
};

class Tool {
 public:
  virtual ~Tool() = default;
  [[nodiscard]] virtual std::string_view name() const noexcept = 0;
  [[nodiscard]] virtual bool is_at(Door door) const noexcept = 0;
  // An unlisted tool can still be called, and answers why it cannot serve.
  [[nodiscard]] virtual bool is_listed() const noexcept { return true; }
  // The tool object of tools/list (docs/protocols.md, "Tools").
  [[nodiscard]] virtual nlohmann::ordered_json card(Door door) const = 0;
  [[nodiscard]] virtual std::span<const MirroredArgument> mirrored() const noexcept { return {}; }
  // `arguments`: an object. An error that the model can correct is a result with `isError`.
  virtual Answer call(const RpcRequest& request, const Json& arguments) const = 0;
};

}  // namespace turnpike::hosts::mcp
