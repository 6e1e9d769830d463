#include "hosts/api/account_routes.h"

#include <utility>

#include "hosts/account_json.h"
#include "hosts/query.h"

namespace turnpike::hosts::api {

namespace {

constexpr std::string_view cache_control = "private, no-store";

}  // namespace

AccountRoutes::AccountRoutes(const AccountReads::Parts& parts, std::string cursor_key)
    : reads_(parts, std::move(cursor_key)) {}

void AccountRoutes::auth_context(Turn& turn) const {
  const auto caller = reads_.authenticate(turn.request.headers());
  if (!caller.ok()) {
    turn.refuse(caller.error(), {.cache_control = cache_control});
    return;
  }
  turn.keep_principal(*caller);
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
  const auto caller = reads_.authenticate(turn.request.headers());
  if (!caller.ok()) return refuse_with(caller.error());
  turn.keep_principal(*caller);
  const identity::Principal& principal = **caller;
  if (account && *account != principal.account_id) {
    return refuse_with(
        {base::ErrorCode::account_forbidden, "An API key reads its own billing account alone."});
  }
  if (const auto problem = AccountReads::account_problem(principal.account_status)) {
    return refuse_with(*problem);
  }
  const Body body = read(std::string(principal.account_id));
  if (!body.ok()) return refuse_with(body.error());
  turn.send_json(200, *body, cache_control);
}

// The same of a route that takes no query.
void AccountRoutes::answer_without_query(
    Turn& turn, std::optional<std::string_view> account,
    const std::function<Body(const std::string& account_id)>& read) const {
  answer(turn, account, [&](const std::string& id) -> Body {
    if (auto query = read_query(turn.request.query(), {}); !query.ok()) {
      return std::move(query).error();
    }
    return read(id);
  });
}

void AccountRoutes::credit_balance(Turn& turn, std::string_view account) const {
  answer_without_query(turn, account,
                       [&](const std::string& id) { return reads_.credit_balance(id); });
}

void AccountRoutes::billing(Turn& turn, std::string_view account) const {
  answer(turn, account,
         [&](const std::string& id) { return reads_.billing(id, turn.request.query()); });
}

void AccountRoutes::usage(Turn& turn, std::string_view account) const {
  answer(turn, account,
         [&](const std::string& id) { return reads_.usage(id, turn.request.query()); });
}

void AccountRoutes::call(Turn& turn, std::string_view asked_id) const {
  answer_without_query(turn, std::nullopt, [&](const std::string& id) {
    return reads_.call(id, asked_id, turn.request_id());
  });
}

void AccountRoutes::free_quotas(Turn& turn, std::string_view account) const {
  answer_without_query(turn, account,
                       [&](const std::string& id) { return reads_.free_quotas(id); });
}

}  // namespace turnpike::hosts::api
