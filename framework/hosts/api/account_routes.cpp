#include "hosts/api/account_routes.h"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <utility>

#include "base/ids.h"
#include "base/limits.h"
#include "exchange/ascii.h"
#include "hosts/api/account_json.h"
#include "hosts/api/account_query.h"
#include "hosts/query.h"

namespace turnpike::hosts::api {

namespace {

constexpr std::string_view cache_control = "private, no-store";
constexpr std::int64_t read_timeout_ms = 5'000;

base::Error refuse(base::ErrorCode code, std::string message) {
  base::Error error;
  error.code = code;
  error.message = std::move(message);
  return error;
}

std::string_view credential_message(base::ErrorCode code) {
  switch (code) {
    case base::ErrorCode::auth_credential_required:
      return "This needs an API key: send Authorization: Bearer <API_KEY>.";
    case base::ErrorCode::auth_credential_conflict:
      return "The request carries credentials that exclude each other, or one of them twice.";
    case base::ErrorCode::x402_not_payable:
      return "This cannot be paid per call; it needs an API key.";
    default:
      return "The credential is not a valid API key.";
  }
}

// What stands between the account and its books, if anything.
std::optional<base::Error> account_problem(identity::AccountStatus status) {
  switch (status) {
    case identity::AccountStatus::active:
      return std::nullopt;
    case identity::AccountStatus::suspended:
      return refuse(base::ErrorCode::account_suspended, "The billing account is suspended.");
    case identity::AccountStatus::closed:
      return refuse(base::ErrorCode::account_closed, "The billing account is closed.");
    case identity::AccountStatus::provisioning: {
      base::Error error = refuse(base::ErrorCode::account_provisioning,
                                 "The billing account is still being set up.");
      error.retry_after_seconds = 2;
      return error;
    }
    case identity::AccountStatus::provisioning_failed:
      break;
  }
  return refuse(base::ErrorCode::account_absent,
                "The billing account could not be set up and does not exist.");
}

// A call is on record once it has ended, so one that may still run is not told as absent for good.
base::Error no_such_call(std::string_view asked_id, std::string_view own_id) {
  base::Error error = refuse(base::ErrorCode::billing_message_not_found,
                             "This account has no paid call with this request id on record.");
  if (base::is_uuid(asked_id) &&
      std::abs(base::unix_ms_of(own_id) - base::unix_ms_of(asked_id)) < base::limits::call_ms_max) {
    error.message += " A call that still runs is on record when it has ended.";
    error.retry_after_seconds = 1;
    error.advice = base::Advice::after_delay;
  }
  return error;
}

}  // namespace

AccountRoutes::AccountRoutes(const Parts& parts, std::string cursor_key)
    : parts_(parts), cursor_key_(std::move(cursor_key)) {
  credentials_.rows.push_back({exchange::LaneRole::credits, true, true, "key", {}});
  // Nothing here is paid per call, but a payment beside a key is a conflict here as well.
  credentials_.rows.push_back(
      {exchange::LaneRole::payment, false, false, "x402", {"payment-signature"}});
}

Result<AccountRoutes::Caller, base::Error> AccountRoutes::authenticate(Turn& turn) const {
  const exchange::Credentials sent =
      exchange::read_credentials(turn.request.headers(), credentials_);
  exchange::Asked asked;
  asked.target = exchange::Target::operation;
  asked.credential_required = true;
  const exchange::LaneChoice choice = exchange::choose_lane(credentials_, sent, asked);
  if (choice.lane == nullptr) {
    return refuse(choice.refusal, std::string(credential_message(choice.refusal)));
  }
  return parts_.authenticator.authenticate(sent.token,
                                           runtime::Deadline::after_ms(read_timeout_ms));
}

void AccountRoutes::auth_context(Turn& turn) const {
  const auto caller = authenticate(turn);
  if (!caller.ok()) {
    turn.refuse(caller.error(), {.cache_control = cache_control});
    return;
  }
  if (auto query = read_query(turn.request.query(), {}); !query.ok()) {
    turn.refuse(query.error(), {.cache_control = cache_control});
    return;
  }
  turn.send_json(200, auth_context_body(**caller), cache_control);
}

void AccountRoutes::answer(Turn& turn, std::optional<std::string_view> account,
                           const std::function<Body(const std::string& account_id)>& read) const {
  const auto refuse_with = [&turn](const base::Error& error) {
    turn.refuse(error, {.cache_control = cache_control});
  };
  const auto caller = authenticate(turn);
  if (!caller.ok()) return refuse_with(caller.error());
  const identity::Principal& principal = **caller;
  if (account && *account != principal.account_id) {
    return refuse_with(refuse(base::ErrorCode::account_forbidden,
                              "An API key reads its own billing account alone."));
  }
  if (const auto problem = account_problem(principal.account_status)) return refuse_with(*problem);
  const Body body = read(std::string(principal.account_id));
  if (!body.ok()) return refuse_with(body.error());
  turn.send_json(200, *body, cache_control);
}

void AccountRoutes::credit_balance(Turn& turn, std::string_view account) const {
  answer(turn, account, [&](const std::string& id) -> Body {
    if (auto query = read_query(turn.request.query(), {}); !query.ok()) {
      return std::move(query).error();
    }
    const auto balance = parts_.ledger.balance(id, runtime::Deadline::after_ms(read_timeout_ms));
    if (!balance.ok()) return balance.error();
    return credit_balance_body(id, *balance);
  });
}

void AccountRoutes::billing(Turn& turn, std::string_view account) const {
  answer(turn, account,
         [&](const std::string& id) { return billing_page(id, turn.request.query()); });
}

AccountRoutes::Body AccountRoutes::billing_page(const std::string& account_id,
                                                std::string_view text) const {
  const auto query = read_billing_query(text, account_id, cursor_key_);
  if (!query.ok()) return query.error();
  const auto deadline = runtime::Deadline::after_ms(read_timeout_ms);
  const auto body_of = [&](const auto& page) -> Body {
    if (!page.ok()) return page.error();
    return billing_body(*query, *page, cursor_key_);
  };
  switch (query->collection) {
    case Collection::allocations:
      return body_of(parts_.statements.allocations(query->page, deadline));
    case Collection::usage:
      return body_of(parts_.statements.usage(query->page, deadline));
    case Collection::invoices:
      break;
  }
  return empty_billing_body(*query, parts_.clock.now_ms());
}

void AccountRoutes::usage(Turn& turn, std::string_view account) const {
  answer(turn, account, [&](const std::string& id) -> Body {
    const auto query = read_usage_query(turn.request.query(), id, parts_.clock.now_ms());
    if (!query.ok()) return query.error();
    const auto summary =
        parts_.statements.summary(*query, runtime::Deadline::after_ms(read_timeout_ms));
    if (!summary.ok()) return summary.error();
    return usage_summary_body(*query, *summary);
  });
}

void AccountRoutes::call(Turn& turn, std::string_view asked_id) const {
  std::string request_id(asked_id);  // read in either case, as RFC 9562 (section 4) says
  std::transform(request_id.begin(), request_id.end(), request_id.begin(), exchange::to_lower);
  answer(turn, std::nullopt, [&](const std::string& account_id) -> Body {
    if (auto query = read_query(turn.request.query(), {}); !query.ok()) {
      return std::move(query).error();
    }
    if (!base::is_uuid(request_id)) return no_such_call(request_id, turn.request_id());
    const auto state =
        parts_.calls.call(account_id, request_id, runtime::Deadline::after_ms(read_timeout_ms));
    if (!state.ok()) return state.error();
    if (!state->is_pending && !state->record) return no_such_call(request_id, turn.request_id());
    return call_body(request_id, *state);
  });
}

void AccountRoutes::free_quotas(Turn& turn, std::string_view account) const {
  answer(turn, account, [&](const std::string& id) -> Body {
    if (auto query = read_query(turn.request.query(), {}); !query.ok()) {
      return std::move(query).error();
    }
    const auto view = parts_.backend.view();
    if (view == nullptr) {
      return base::Error{base::ErrorCode::registry_unavailable, "No registry is installed.", 1};
    }
    return view->free_quotas().body(id, parts_.free_counts, parts_.clock.now_ms(),
                                    runtime::Deadline::after_ms(read_timeout_ms));
  });
}

}  // namespace turnpike::hosts::api
