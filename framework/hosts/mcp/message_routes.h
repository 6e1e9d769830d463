// MessageRoutes answers JSON-RPC messages: from the bytes of a POST to one JSON answer
// (docs/protocols.md, "Order of refusal"). Between messages it keeps only the calls in flight.
//
// Owned by the host; called on the fibers of all loop Threads.
#pragma once

#include <atomic>
#include <optional>
#include <string>

#include "hosts/mcp/answer.h"
#include "hosts/mcp/execution.h"
#include "hosts/mcp/features.h"
#include "hosts/mcp/tool.h"
#include "hosts/metered_body.h"
#include "hosts/turn.h"
#include "runtime/pool.h"

namespace turnpike::hosts::mcp {

class MessageRoutes {
 public:
  // All parts outlive the object.
  struct Parts {
    const Features& features;
    const Executions& executions;
    const std::atomic<bool>& is_stopping;
    ServiceName service;
    std::string release;  // "0.1.0"
    std::uint64_t messages_bytes_max;
    std::uint32_t progress_interval_ms;
    runtime::BlockingPool& pool;
  };
  explicit MessageRoutes(const Parts& parts);

  void answer(Turn& turn, Door door);

 private:
  struct Refused {  // the message could not be read
    RpcError error;
    std::optional<base::ErrorCode> code = {};
  };
  [[nodiscard]] static std::uint64_t bytes_max(const Turn& turn, MeteredBody& metered, Door door);
  [[nodiscard]] Result<Message, RpcError> parse(std::string_view body) const;
  [[nodiscard]] Result<Message, Refused> read(Turn& turn, MeteredBody& metered, Door door) const;
  void answer_request(Turn& turn, Door door, const Message& message);
  void take_notification(const RpcRequest& request);

  struct Challenged {
    RpcError error;  // with 400, 401 or 403
    base::ErrorCode code;
    std::string www_authenticate = {};
  };
  // Returns why the credentials are refused at this endpoint; nothing: they are accepted.
  [[nodiscard]] std::optional<Challenged> judge_credentials(const RpcRequest& request) const;
  [[nodiscard]] Answer dispatch(const RpcRequest& request) const;
  [[nodiscard]] Answer list(const RpcRequest& request) const;
  [[nodiscard]] Answer dispatch_extra(const RpcRequest& request) const;
  [[nodiscard]] Answer initialize(const RpcRequest& request) const;
  [[nodiscard]] Answer discover(const RpcRequest& request) const;
  [[nodiscard]] Answer call_tool(const RpcRequest& request) const;
  [[nodiscard]] Answer read_resource(const RpcRequest& request) const;
  [[nodiscard]] Answer get_prompt(const RpcRequest& request) const;

  void send_result(const RpcRequest& request, const RpcResult& result) const;
  static void send_error(Turn& turn, std::string_view id, const RpcError& error,
                         std::string_view www_authenticate = {});
  static void send(Turn& turn, int status, std::string_view json,
                   std::string_view www_authenticate);

  const Parts parts_;
  const std::string server_info_;
  ByteBudget budget_;
  const runtime::PoolUser pool_user_;
  CallsInFlight calls_;
};

}  // namespace turnpike::hosts::mcp
