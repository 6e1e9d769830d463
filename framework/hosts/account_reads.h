// AccountReads: the reads of an account about itself with an API key: its Credits, its usage, its
// free variants, and the outcome of a call. The HTTP routes and the MCP tools answer from here, so
// both judge credentials alike and say the same.
//
// Stateless over the ports it is given, which outlive it; called on the fibers of all loop Threads,
// suspends while something is read.
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
#include "ledger/statements.h"
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
    const Lane* payments = nullptr;  // the lane with terms; null: there is none
    commerce::Shop* shop = nullptr;  // null: nothing is sold, nor was
    notices::Office* notices = nullptr;  // null: nobody is notified
  };
  // `cursor_key` is the secret that the nodes share.
  AccountReads(const Parts& parts, std::string cursor_key);

  using Principal = std::shared_ptr<const identity::Principal>;
  using Body = Result<std::string, base::Error>;

  // The Bearer token of a request. Credential headers obey the rules of gateway routes, but nothing
  // is paid for here.
  [[nodiscard]] Result<std::string_view, base::Error> token_of(Headers headers) const;
  // The owner of that token.
  [[nodiscard]] Result<Principal, base::Error> authenticate(
      Headers headers, identity::Accepts accepts = identity::Accepts::api_keys) const;
  // The error that keeps an account from its books, if there is one.
  [[nodiscard]] static std::optional<base::Error> account_problem(identity::AccountStatus status);

  // JSON bodies; what a query may hold is account_query.h's.
  [[nodiscard]] Body credit_balance(const std::string& account_id) const;
  [[nodiscard]] Body billing(const std::string& account_id, const NamedValues& query) const;
  // Newest first, by the sequence of purchases; values, for pages.
  [[nodiscard]] Result<ledger::Page<Invoice>, base::Error> invoices(
      const ledger::PageQuery& query) const;
  [[nodiscard]] Body usage(const std::string& account_id, const NamedValues& query) const;
  // What capped keys may still spend; values, for pages.
  [[nodiscard]] Result<std::vector<ledger::CapsOfKey>, base::Error> key_caps(
      const std::string& account_id) const;
  [[nodiscard]] Body free_quotas(const std::string& account_id) const;
  // The outcome of a call; `own_id` is that of the request that asks. Another account's is 404.
  [[nodiscard]] Body call(const std::string& account_id, std::string_view asked_id,
                          std::string_view own_id) const;

  // What the bodies are made of, for hosts that show it otherwise.
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
