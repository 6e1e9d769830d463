// Executions run a route for a tool: through the same exchange::serve() as an HTTP request, with
// the reply as a tool result (docs/decisions.md, "MCP"). The exchange chooses the lane from the
// credentials; this folder decides which credentials each endpoint accepts.
//
// Owned by the host; called on the fibers of all loop Threads.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <turnpike/provider.h>

#include "base/error.h"
#include "exchange/invocation.h"
#include "hosts/backend.h"
#include "hosts/mcp/answer.h"
#include "hosts/mcp/challenge.h"
#include "hosts/mcp/tool.h"
#include "hosts/service_documents.h"
#include "identity/authenticator.h"

namespace turnpike::hosts::mcp {

// A call of a route that a tool requests.
struct RouteAsk {
  std::string method;  // "GET"
  std::string path;    // raw, with `:free`
  std::string query;   // raw, without '?'
  std::optional<std::string> body = {};
  std::string content_type = {};
  std::string idempotency_key = {};  // valid; empty: none
  std::optional<exchange::FoundOperation> found = {};
  // The plugin's tool, if this is its call: then the JSON object of a success is the result itself.
  const OperationTool* tool = nullptr;
};

class Executions {
 public:
  struct Parts {
    Backend& backend;
    identity::Authenticator& authenticator;
    BuildInfo build;
    std::string api_url;      // of the API host, without a final '/'
    std::string payment_url;  // of the payment endpoint
    std::string resource_metadata;
    std::uint64_t reply_bytes_max;  // bound of a reply's body in a tool result
  };
  explicit Executions(Parts parts);

  [[nodiscard]] Answer run(const RpcRequest& request, const RouteAsk& ask) const;

  [[nodiscard]] identity::Authenticator& authenticator() const noexcept {
    return parts_.authenticator;
  }

  // Returns the problem of the credential in a request that needs none. A bad credential is refused
  // even on public requests, because its sender would otherwise never learn that it is bad. No
  // problem is reported while keys cannot be read.
  [[nodiscard]] std::optional<base::Error> credential_problem(const RpcRequest& request) const;
  // Returns the refusal of a tool that runs no route; nothing: it may answer.
  [[nodiscard]] std::optional<RpcResult> refuse_public(const RpcRequest& request) const;

  // Returns the challenge for a request with no credential or a bad one (docs/protocols.md,
  // "Challenges").
  [[nodiscard]] std::string www_authenticate(const RpcRequest& request) const;
  // Returns 401 as a tool result: some clients look for the challenge there.
  [[nodiscard]] RpcResult unauthorized(const RpcRequest& request, const base::Error& error) const;
  // Returns the refusal of a tool for accounts: the request has no API key, or it has a payment.
  // Nothing: the tool may answer.
  [[nodiscard]] std::optional<RpcResult> refuse_without_key(const RpcRequest& request) const;

  // The bound on the body of a reply in a tool result, and on any other content of one.
  [[nodiscard]] std::uint64_t reply_bytes_max() const noexcept { return parts_.reply_bytes_max; }
  // Returns a JSON object as the result of a tool, or a refusal when the object is too long.
  [[nodiscard]] RpcResult read_result(const RpcRequest& request, std::string_view json) const;

 private:
  [[nodiscard]] std::optional<RpcResult> run_service_document(const RpcRequest& request,
                                                              const RouteAsk& ask) const;
  [[nodiscard]] std::optional<RpcResult> refuse_payment(const RpcRequest& request) const;
  [[nodiscard]] Answer serve(const RpcRequest& request, const RouteAsk& ask) const;

  const Parts parts_;
  const BearerChallenge challenge_;
};

// The credentials of an account that an endpoint accepts: access tokens are issued for `/` only.
constexpr identity::Accepts accepted_at(Door door) noexcept {
  return door == Door::account ? identity::Accepts::api_keys_and_access_tokens
                               : identity::Accepts::api_keys;
}

// Returns a refusal as a tool result: the execution status with the ErrorEnvelope's `error`.
RpcResult refused_result(const RpcRequest& request, const base::Error& error);

// The same for the error of a query ("query.limit") that the caller sent as arguments.
RpcResult refused_by_query(const RpcRequest& request, base::Error error);

// Returns the JSON of a tool's argument `body` exactly as the caller wrote it; empty: there is
// none.
std::string_view body_argument_text(const RpcRequest& request);

// The output schema of all tools that execute a route.
const Json& execution_output_schema();

}  // namespace turnpike::hosts::mcp
