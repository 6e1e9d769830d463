// ApiHost: the HTTP skin of the gateway. It finds the endpoint of a request, answers the fixed
// routes and cross-origin preflights, hands gateway calls to the exchange, and renders every error
// in the envelope. No business rules live here.
//
// Owned by app/, given to wire::Server as a handler; called on the fibers of all loop Threads.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "hosts/access_log.h"
#include "hosts/api/account_routes.h"
#include "hosts/api/public_routes.h"
#include "hosts/backend.h"
#include "hosts/byte_budget.h"
#include "hosts/cors.h"
#include "hosts/request_ids.h"
#include "runtime/runtime.h"
#include "wire/server.h"

namespace turnpike::hosts::api {

// What the host stands on; all of it outlives the host.
struct ApiHostParts {
  Backend& backend;
  identity::Authenticator& authenticator;
  ledger::Ledger& ledger;
  ledger::Statements& statements;
  ledger::Calls& calls;
  quota::QuotaStore& free_counts;
  runtime::Runtime& runtime;
  const Clock& clock;
  Random& random;
  AccessLog& access_log;
  const Discovery& discovery;
};

struct ApiHostSettings {
  std::vector<std::string> cors_origins;  // see Cors
  BuildInfo build;
  ReferencePage reference;
  std::string cursor_key = {};  // the secret that signs cursors, shared by the nodes
  std::uint64_t bodies_bytes_max = base::limits::request_bodies_bytes_max;
};

class ApiHost final : public wire::Handler {
 public:
  ApiHost(const ApiHostParts& parts, ApiHostSettings settings);

  void handle(wire::Request& request, wire::Responder& responder) noexcept override;
  void refuse(const base::Error& error, wire::Request& request,
              wire::Responder& responder) noexcept override;

  // The drain time is over: calls in flight are told that the gateway stops. Any Thread.
  void stop() noexcept { is_stopping_.store(true, std::memory_order_relaxed); }

 private:
  void dispatch(Turn& turn);
  void dispatch_fixed(Turn& turn, Endpoint endpoint, const std::string& parameter);
  void preflight(Turn& turn, Endpoint endpoint);
  void call(Turn& turn);

  Backend& backend_;
  identity::Authenticator& authenticator_;
  const Clock& clock_;
  AccessLog& access_log_;
  Cors cors_;
  PublicRoutes public_routes_;
  AccountRoutes account_routes_;
  RequestIds ids_;
  ByteBudget bodies_;  // of calls
  std::atomic<bool> is_stopping_{false};
};

}  // namespace turnpike::hosts::api
