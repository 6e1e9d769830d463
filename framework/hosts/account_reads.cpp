#include "hosts/account_reads.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "base/ids.h"
#include "base/limits.h"
#include "exchange/ascii.h"
#include "hosts/account_json.h"
#include "hosts/account_query.h"
#include "hosts/purchase_json.h"

namespace turnpike::hosts {

namespace {

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
    default:
      return base::role_of(code) == base::CodeRole::not_payable
                 ? "This cannot be paid per call; it needs an API key."
                 : "The credential is not a valid API key.";
  }
}

base::Error no_registry() {
  return {base::ErrorCode::registry_unavailable, "No registry is installed.", 1};
}

// A call is recorded only when it ends. A call that may still run is therefore not reported as
// unknown for good.
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

AccountReads::AccountReads(const Parts& parts, std::string cursor_key)
    : parts_(parts), cursor_key_(std::move(cursor_key)) {
  credentials_.rows.push_back({exchange::LaneRole::credits, true, true, "key", {}});
  // These routes are not paid per call, but a payment header beside a key is a conflict here too.
  if (parts.payments == nullptr) return;
  const LaneTraits traits = parts.payments->traits();
  credentials_.rows.push_back(
      {exchange::LaneRole::payment,
       false,
       false,
       std::string(traits.name),
       {traits.credential_headers.begin(), traits.credential_headers.end()}});
}

Result<std::string_view, base::Error> AccountReads::token_of(Headers headers) const {
  const exchange::Credentials sent = exchange::read_credentials(headers, credentials_);
  exchange::Asked asked;
  asked.target = exchange::Target::operation;
  asked.credential_required = true;
  const exchange::LaneChoice choice = exchange::choose_lane(credentials_, sent, asked);
  if (choice.lane == nullptr) {
    return refuse(choice.refusal, std::string(credential_message(choice.refusal)));
  }
  return sent.token;
}

Result<AccountReads::Principal, base::Error> AccountReads::authenticate(
    Headers headers, identity::Accepts accepts) const {
  const auto token = token_of(headers);
  if (!token.ok()) return token.error();
  return parts_.authenticator.authenticate(*token, runtime::Deadline::after_ms(read_timeout_ms),
                                           accepts);
}

std::optional<base::Error> AccountReads::account_problem(identity::AccountStatus status) {
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

AccountReads::Body AccountReads::credit_balance(const std::string& account_id) const {
  const auto balance =
      parts_.ledger.balance(account_id, runtime::Deadline::after_ms(read_timeout_ms));
  if (!balance.ok()) return balance.error();
  return credit_balance_body(account_id, *balance);
}

AccountReads::Body AccountReads::billing(const std::string& account_id,
                                         const NamedValues& fields) const {
  const auto query = read_billing_query(fields, account_id, cursor_key_);
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
  return body_of(invoices(query->page));
}

Result<ledger::Page<Invoice>, base::Error> AccountReads::invoices(
    const ledger::PageQuery& query) const {
  const std::int64_t now_ms = parts_.clock.now_ms();
  if (parts_.shop == nullptr) return ledger::Page<Invoice>{{}, {}, now_ms};
  auto page = parts_.shop->paid(query.account_id, query.after ? query.after->number : 0,
                                query.limit);
  if (!page.ok()) return std::move(page).error();
  return invoices_of(*parts_.shop, *std::move(page), now_ms);
}

Result<std::vector<ledger::CapsOfKey>, base::Error> AccountReads::key_caps(
    const std::string& account_id) const {
  return parts_.statements.key_caps(account_id, runtime::Deadline::after_ms(read_timeout_ms));
}

AccountReads::Body AccountReads::usage(const std::string& account_id,
                                       const NamedValues& fields) const {
  const auto query = read_usage_query(fields, account_id, parts_.clock.now_ms());
  if (!query.ok()) return query.error();
  const auto summary =
      parts_.statements.summary(*query, runtime::Deadline::after_ms(read_timeout_ms));
  if (!summary.ok()) return summary.error();
  return usage_summary_body(*query, *summary);
}

Result<ledger::CallState, base::Error> AccountReads::call_state(const std::string& account_id,
                                                                std::string_view asked_id,
                                                                std::string_view own_id) const {
  std::string request_id(asked_id);  // upper and lower case, RFC 9562 section 4
  std::transform(request_id.begin(), request_id.end(), request_id.begin(), exchange::to_lower);
  if (!base::is_uuid(request_id)) return no_such_call(request_id, own_id);
  auto state =
      parts_.calls.call(account_id, request_id, runtime::Deadline::after_ms(read_timeout_ms));
  if (state.ok() && !state->is_pending && !state->record) return no_such_call(request_id, own_id);
  return state;
}

AccountReads::Body AccountReads::call(const std::string& account_id, std::string_view asked_id,
                                      std::string_view own_id) const {
  const auto state = call_state(account_id, asked_id, own_id);
  if (!state.ok()) return state.error();
  std::string request_id(asked_id);
  std::transform(request_id.begin(), request_id.end(), request_id.begin(), exchange::to_lower);
  return call_body(request_id, *state);
}

Result<std::vector<catalog::FreeQuotas::Left>, base::Error> AccountReads::free_quotas_left(
    const std::string& account_id) const {
  const auto view = parts_.backend.view();
  if (view == nullptr) return no_registry();
  return view->free_quotas().left(account_id, parts_.free_counts,
                                  runtime::Deadline::after_ms(read_timeout_ms));
}

AccountReads::Body AccountReads::free_quotas(const std::string& account_id) const {
  const auto view = parts_.backend.view();
  if (view == nullptr) return no_registry();
  return view->free_quotas().body(account_id, parts_.free_counts, parts_.clock.now_ms(),
                                  runtime::Deadline::after_ms(read_timeout_ms));
}

}  // namespace turnpike::hosts
