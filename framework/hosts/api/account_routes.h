// The account routes that an API key may read: whom it speaks for, and its Credits. Stateless over
// the ports it is given; may suspend the fiber of the request.
#pragma once

#include <memory>
#include <string_view>

#include <turnpike/result.h>

#include "exchange/choose_lane.h"
#include "hosts/api/turn.h"
#include "identity/authenticator.h"
#include "ledger/ledger.h"

namespace turnpike::hosts::api {

class AccountRoutes {
 public:
  AccountRoutes(identity::Authenticator& authenticator, ledger::Ledger& ledger);

  void auth_context(Turn& turn) const;
  // `account` is the path's segment, decoded.
  void credit_balance(Turn& turn, std::string_view account) const;

 private:
  using Caller = std::shared_ptr<const identity::Principal>;
  // The same rules about credential headers as on gateway routes; only an API key will do here.
  [[nodiscard]] Result<Caller, base::Error> authenticate(Turn& turn) const;

  identity::Authenticator& authenticator_;
  ledger::Ledger& ledger_;
  exchange::LaneTable credentials_;
};

}  // namespace turnpike::hosts::api
