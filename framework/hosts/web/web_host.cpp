#include "hosts/web/web_host.h"

#include "hosts/account/auto_top_up_routes.h"
#include "hosts/account/grant_routes.h"
#include "hosts/account/notice_routes.h"
#include "hosts/page.h"
#include "hosts/web/consent.h"
#include "hosts/web/mail_routes.h"
#include "hosts/web/page_turn.h"
#include "hosts/web/password_pages.h"
#include "hosts/web/password_routes.h"
#include "hosts/web/pages.h"
#include "hosts/web/provider_routes.h"
#include "identity/bearer.h"

namespace turnpike::hosts::web {

WebHost::WebHost(const WebHostParts& parts, const WebHostSettings& settings)
    : rooms_(parts.rooms),
      refusals_(rooms_.pages),
      account_rooms_{rooms_.account},
      people_rooms_{rooms_.people},
      purchase_rooms_{rooms_.account, rooms_.people.parts().clients},
      host_({parts.runtime, parts.clock, rooms_.random, parts.access_log},
            rows(settings), rules()) {}

std::vector<BoundRoute> WebHost::rows(const WebHostSettings& settings) const {
  std::vector<BoundRoute> rows = settings.more_routes;
  bind_routes(page_routes(), rooms_, rows);
  bind_routes(consent_routes(), rooms_, rows);
  bind_routes(password_pages(), rooms_, rows);
  bind_routes(sign_in_routes(), rooms_, rows);
  bind_routes(password_routes(), rooms_, rows);
  bind_routes(mail_routes(), rooms_, rows);
  bind_routes(provider_routes(), rooms_, rows);
  bind_routes(account::people_routes(), people_rooms_, rows);
  bind_routes(account::own_routes(), people_rooms_, rows);
  bind_routes(account::grant_routes(), people_rooms_, rows);
  bind_routes(account::own_grant_routes(), people_rooms_, rows);
  bind_routes(account::account_routes(), account_rooms_, rows);
  bind_routes(account::purchase_routes(), purchase_rooms_, rows);
  bind_routes(account::auto_top_up_routes(), purchase_rooms_, rows);
  bind_routes(account::notice_routes(), purchase_rooms_, rows);
  rows.insert(rows.end(), settings.last_routes.begin(), settings.last_routes.end());
  return rows;
}

HostRules WebHost::rules() const {
  return {.cors = Cors(Origins({}), {}),
          .nothing_here = "There is nothing at this path; /account is where people begin.",
          .nothing_form = as_page,
          .refusal_pages = &refusals_,
          .nothing_page_policy = page_policy,
          .authenticates = {PrincipalKind::person},
          .authenticate = [this](const Presented& presented) { return authenticate(presented); },
          .own_origin = rooms_.origin,
          .is_page_token =
              [this](const identity::Principal& person, std::string_view token) {
                return rooms_.people.parts().sessions.is_page_token(person.session_id, token);
              },
          .step_up_advice =
              [this](const identity::Principal& person) {
                return rooms_.people.step_up_advice(person.id);
              },
          .add_refusal_fields =
              [this](const base::Error& error, ReplyFields& fields) {
                if (error.code != base::ErrorCode::auth_session_ended) return;
                fields.add("Set-Cookie", rooms_.cookies.session_cleared);
              }};
}

// Keys and other Bearer tokens are for the API host. Here they are refused: another site's page
// cannot send one, and programs do not need to.
Result<Caller, base::Error> WebHost::authenticate(const Presented& presented) const {
  if (identity::read_bearer(presented.headers).form != identity::Authorization::none) {
    return base::Error{
        base::ErrorCode::auth_human_required,
        "This host knows people by their session cookie; programs use the API host."};
  }
  return find_caller(rooms_, presented);
}

}  // namespace turnpike::hosts::web
