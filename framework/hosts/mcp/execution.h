// Executions: how a tool runs a route: the same passage through exchange::serve() as a request over
// HTTP, its reply told as a tool result (decisions.md, MCP). The lane is chosen from the
// credentials by the one table; which credentials a door takes is this folder's.
//
// Owned by the host; called on the fibers of all loop Threads.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "hosts/backend.h"
#include "hosts/mcp/answer.h"
#include "hosts/mcp/challenge.h"
#include "hosts/mcp/tool.h"
#include "hosts/service_documents.h"
#include "identity/authenticator.h"

namespace turnpike::hosts::mcp {

// One call of a route as a tool asks for it.
struct RouteAsk {
  std::string method;  // "GET"
  std::string path;    // raw, `:free` included
  std::string query;   // raw, without '?'
  std::optional<std::string> body = {};
  std::string content_type = {};
  std::string idempotency_key = {};  // checked; empty: none
};

class Executions {
 public:
  struct Parts {
    Backend& backend;
    identity::Authenticator& authenticator;
    BuildInfo build;
    std::string api_url;      // of the API host, without a final '/'
    std::string payment_url;  // of the payment door
    std::string resource_metadata;
    std::uint64_t reply_bytes_max;  // of a reply's body in a tool result
  };
  explicit Executions(Parts parts);

  [[nodiscard]] Answer run(const RpcRequest& request, const RouteAsk& ask) const;

  [[nodiscard]] identity::Authenticator& authenticator() const noexcept {
    return parts_.authenticator;
  }

  // What is wrong with the credential that came where none is needed: what is public is not for one
  // that is no good, since its owner would never learn of it. None while keys cannot be read.
  [[nodiscard]] std::optional<base::Error> credential_problem(const RpcRequest& request) const;
  // Why a tool that runs no route may not answer, for the credentials that came; none: it may.
  [[nodiscard]] std::optional<RpcResult> refuse_public(const RpcRequest& request) const;

  // The challenge to who sent no credential, or one that is no good (mcp.md 7.2, 8).
  [[nodiscard]] std::string www_authenticate(const RpcRequest& request) const;
  // 401 as a tool result: some clients look for the challenge there.
  [[nodiscard]] RpcResult unauthorized(const RpcRequest& request, const base::Error& error) const;
  // Why a tool for accounts may not answer, when no API key came or a payment did; none: it may.
  [[nodiscard]] std::optional<RpcResult> refuse_without_key(const RpcRequest& request) const;

  // Of a reply's body in a tool result, and of everything else that one brings.
  [[nodiscard]] std::uint64_t reply_bytes_max() const noexcept { return parts_.reply_bytes_max; }
  // A JSON object that was read as the result of a tool, or why not when it is too long for one.
  [[nodiscard]] RpcResult read_result(const RpcRequest& request, std::string_view json) const;

 private:
  [[nodiscard]] std::optional<RpcResult> run_service_document(const RpcRequest& request,
                                                              const RouteAsk& ask) const;
  [[nodiscard]] std::optional<RpcResult> refuse_payment(const RpcRequest& request) const;
  [[nodiscard]] Answer serve(const RpcRequest& request, const RouteAsk& ask) const;

  const Parts parts_;
  const BearerChallenge challenge_;
};

// A refusal as a tool result: what execution came to, with the ErrorEnvelope's `error`.
RpcResult refused_result(const RpcRequest& request, const base::Error& error);

// The same of what was found wrong with a query, "query.limit", where the caller had arguments.
RpcResult refused_by_query(const RpcRequest& request, base::Error error);

// The JSON of a tool's argument `body` as the caller wrote it; empty: there is none.
std::string_view body_argument_text(const RpcRequest& request);

// The result and input texts that all executing tools share, for their cards.
const Json& execution_output_schema();

}  // namespace turnpike::hosts::mcp
