// WebHost: the pages and JSON routes for people. It authenticates callers by a cookie, so pages of
// other origins can change nothing: requests that change something must come from its own origin
// and carry the page token of the session. The routes of accounts are those of the API host.
//
// Owned by app/, given to wire::Server as a handler; called on the fibers of all loop Threads.
#pragma once

#include <string>

#include "hosts/access_log.h"
#include "hosts/account/account_routes.h"
#include "hosts/account/people_routes.h"
#include "hosts/account/purchase_routes.h"
#include "hosts/account_reads.h"
#include "hosts/routed_host.h"
#include "hosts/web/cookies.h"
#include "hosts/web/page_turn.h"
#include "hosts/web/sign_in_routes.h"
#include "wire/server.h"

namespace turnpike::hosts::web {

// The parts that the host uses; all of them outlive it.
struct WebHostParts {
  const WebRooms& rooms;
  runtime::Runtime& runtime;
  const Clock& clock;
  AccessLog& access_log;
};

struct WebHostSettings {
  std::vector<BoundRoute> more_routes = {};  // of public pages and the dashboard
  std::vector<BoundRoute> last_routes = {};  // matched after all other rows
};

class WebHost final : public wire::Handler {
 public:
  WebHost(const WebHostParts& parts, const WebHostSettings& settings);

  void handle(wire::Request& request, wire::Responder& responder) noexcept override {
    host_.handle(request, responder);
  }
  void refuse(const base::Error& error, wire::Request& request,
              wire::Responder& responder) noexcept override {
    host_.refuse(error, request, responder);
  }

 private:
  std::vector<BoundRoute> rows(const WebHostSettings& settings) const;
  HostRules rules() const;
  Result<Caller, base::Error> authenticate(const Presented& presented) const;

  const WebRooms& rooms_;
  const SiteRefusals refusals_;
  const account::AccountRooms account_rooms_;
  const account::PeopleRooms people_rooms_;
  const account::PurchaseRooms purchase_rooms_;
  RoutedHost host_;
};

}  // namespace turnpike::hosts::web
