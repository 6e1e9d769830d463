// ApiHost: the HTTP host of the gateway: the table of api_routes.h, the rules for credentials, and
// the objects that the handlers use. It has no business rules.
//
// Owned by app/, given to wire::Server as a handler; called on the fibers of all loop Threads.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "hosts/access_log.h"
#include "hosts/account/account_routes.h"
#include "hosts/account/people_routes.h"
#include "hosts/account/purchase_routes.h"
#include "hosts/api/api_routes.h"
#include "hosts/api/public_routes.h"
#include "hosts/api/status_routes.h"
#include "hosts/backend.h"
#include "hosts/routed_host.h"
#include "runtime/runtime.h"
#include "wire/server.h"

namespace turnpike::hosts::api {

// The parts that the host uses; all of them outlive it.
struct ApiHostParts {
  Backend& backend;
  PluginPaths& plugin_paths;
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
  const Lane* payments = nullptr;                 // as in AccountReads
  const account::PooledPeople* people = nullptr;  // null: sessions are not accepted
  StatusSource* status = nullptr;                 // null: there are no status routes
  commerce::Shop* shop = nullptr;                 // as in AccountReads
  notices::Office* notices = nullptr;             // as in AccountReads
};

struct ApiHostSettings {
  std::vector<std::string> cors_origins;  // see Cors
  BuildInfo build;
  ReferencePage reference;
  std::string cursor_key = {};  // the secret that signs cursors, shared by the nodes
  std::string base_url = {};    // of this host, without a final slash; empty: not configured
  std::uint64_t bodies_bytes_max = base::limits::request_bodies_bytes_max;
};

class ApiHost final : public wire::Handler {
 public:
  ApiHost(const ApiHostParts& parts, ApiHostSettings settings);

  void handle(wire::Request& request, wire::Responder& responder) noexcept override {
    host_.handle(request, responder);
  }
  void refuse(const base::Error& error, wire::Request& request,
              wire::Responder& responder) noexcept override {
    host_.refuse(error, request, responder);
  }

  // Called when the drain time is over: tells requests in flight that the gateway stops. Any
  // Thread.
  void stop() noexcept {
    calls_.stop();
    intake_.stop();
  }

 private:
  HostRules rules(std::vector<std::string> cors_origins) const;
  std::vector<BoundRoute> rows() const;
  std::optional<account::PurchaseRooms> purchase_rooms_of(
      const account::PooledPeople* people) const;
  static std::optional<StatusRoutes> status_routes_of(const ApiHostParts& parts,
                                                      const ApiHostSettings& settings);
  Result<Caller, base::Error> authenticate(const Presented& presented) const;

  const PublicRoutes public_routes_;
  const AccountReads account_;
  ByteBudget bodies_;
  GatewayCalls calls_;
  PluginIntake intake_;
  const ApiRooms rooms_;
  const account::AccountRooms account_rooms_;
  const std::optional<account::PeopleRooms> people_rooms_;
  const std::optional<account::PurchaseRooms> purchase_rooms_;
  const std::optional<StatusRoutes> status_routes_;
  const std::optional<StatusRooms> status_rooms_;
  RoutedHost host_;
};

}  // namespace turnpike::hosts::api
