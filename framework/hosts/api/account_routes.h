// The account routes that an API key may read: whom it speaks for, its Credits, its usage, what
// free variants leave it. Each one admits its caller the same way and then answers from a port.
// Stateless over the ports it is given; may suspend the fiber of the request.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <turnpike/host.h>
#include <turnpike/result.h>

#include "exchange/choose_lane.h"
#include "hosts/backend.h"
#include "hosts/turn.h"
#include "identity/authenticator.h"
#include "ledger/calls.h"
#include "ledger/ledger.h"
#include "ledger/statements.h"
#include "quota/store.h"

namespace turnpike::hosts::api {

class AccountRoutes {
 public:
  struct Parts {
    identity::Authenticator& authenticator;
    ledger::Ledger& ledger;
    ledger::Statements& statements;
    ledger::Calls& calls;
    quota::QuotaStore& free_counts;
    Backend& backend;
    const Clock& clock;
  };
  // `cursor_key` is the secret that the nodes share.
  AccountRoutes(const Parts& parts, std::string cursor_key);

  void auth_context(Turn& turn) const;
  // `account` is the path's segment, decoded.
  void credit_balance(Turn& turn, std::string_view account) const;
  void billing(Turn& turn, std::string_view account) const;
  void usage(Turn& turn, std::string_view account) const;
  // What became of a call of the key's own account; any other id is 404.
  void call(Turn& turn, std::string_view asked_id) const;
  void free_quotas(Turn& turn, std::string_view account) const;

 private:
  using Caller = std::shared_ptr<const identity::Principal>;
  using Body = Result<std::string, base::Error>;
  // The same rules about credential headers as on gateway routes; only an API key will do here.
  [[nodiscard]] Result<Caller, base::Error> authenticate(Turn& turn) const;
  // Answers with the body of what `read` finds for a caller whose own, active account it is
  // (nothing: whichever is), or with what stands against it.
  void answer(Turn& turn, std::optional<std::string_view> account,
              const std::function<Body(const std::string& account_id)>& read) const;
  [[nodiscard]] Body billing_page(const std::string& account_id, std::string_view query) const;

  const Parts parts_;
  const std::string cursor_key_;
  exchange::LaneTable credentials_;
};

}  // namespace turnpike::hosts::api
