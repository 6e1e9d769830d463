// AccountReads: what an account reads about itself with an API key: its Credits, its usage, its
// free variants, and the outcome of a call. The HTTP routes and the MCP tools both use it, so that
// both check credentials alike and return the same data.
//
// Stateless over its ports, which outlive it; called on the fibers of all loop Threads. Suspends
// the fiber while it reads.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <turnpike/host.h>
#include <turnpike/result.h>

#include "catalog/free_quotas.h"
#include "commerce/shop.h"
#include "exchange/choose_lane.h"
#include "hosts/backend.h"
#include "hosts/invoice.h"
#include "hosts/query.h"
#include "identity/authenticator.h"
#include "ledger/calls.h"
#include "ledger/ledger.h"
#include "ledger/statements/statements.h"
#include "notices/office.h"
#include "quota/store.h"

namespace turnpike::hosts {

class AccountReads {
 public:
  struct Parts {
    identity::Authenticator& authenticator;
    ledger::Ledger& ledger;
    ledger::Statements& statements;
    ledger::Calls& calls;
    quota::QuotaStore& free_counts;
    Backend& backend;
    const Clock& clock;
    const Lane* payments = nullptr;  // the lane with payment terms; null: there is none
    commerce::Shop* shop = nullptr;  // null: Credits are not sold and never were
    notices::Office* notices = nullptr;  // null: there are no notifications
  };
  // `cursor_key`: the secret that the nodes share.
  AccountReads(const Parts& parts, std::string cursor_key);

  using Principal = std::shared_ptr<const identity::Principal>;
  using Body = Result<std::string, base::Error>;

  // Returns the Bearer token of a request. Credential headers obey the rules of gateway routes,
  // except that nothing is paid for here.
  [[nodiscard]] Result<std::string_view, base::Error> token_of(Headers headers) const;
  // Returns the owner of the Bearer token.
  [[nodiscard]] Result<Principal, base::Error> authenticate(
      Headers headers, identity::Accepts accepts = identity::Accepts::api_keys) const;
  // Returns the error that denies an account of this status its reads, if there is one.
  [[nodiscard]] static std::optional<base::Error> account_problem(identity::AccountStatus status);

  // These return JSON bodies; account_query.h defines the fields of `query`.
  [[nodiscard]] Body credit_balance(const std::string& account_id) const;
  [[nodiscard]] Body billing(const std::string& account_id, const NamedValues& query) const;
  // Newest first, by the sequence number of purchases. Returns values, for pages.
  [[nodiscard]] Result<ledger::Page<Invoice>, base::Error> invoices(
      const ledger::PageQuery& query) const;
  [[nodiscard]] Body usage(const std::string& account_id, const NamedValues& query) const;
  // The remaining budgets of keys with a cap. Returns values, for pages.
  [[nodiscard]] Result<std::vector<ledger::CapsOfKey>, base::Error> key_caps(
      const std::string& account_id) const;
  [[nodiscard]] Body free_quotas(const std::string& account_id) const;
  // The outcome of a call; `own_id`: the id of the request that asks. A call of another account is
  // 404.
  [[nodiscard]] Body call(const std::string& account_id, std::string_view asked_id,
                          std::string_view own_id) const;

  // The values behind the bodies, for hosts that present them otherwise.
  [[nodiscard]] Result<ledger::CallState, base::Error> call_state(const std::string& account_id,
                                                                  std::string_view asked_id,
                                                                  std::string_view own_id) const;
  [[nodiscard]] Result<std::vector<catalog::FreeQuotas::Left>, base::Error> free_quotas_left(
      const std::string& account_id) const;
  [[nodiscard]] const Parts& parts() const noexcept { return parts_; }
  [[nodiscard]] const std::string& cursor_key() const noexcept { return cursor_key_; }

 private:
  const Parts parts_;
  const std::string cursor_key_;
  exchange::LaneTable credentials_;
};

}  // namespace turnpike::hosts
