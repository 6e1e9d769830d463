#include "hosts/web/pages.h"

#include <algorithm>

#include "hosts/account/account_routes.h"
#include "hosts/account/people_routes.h"
#include "hosts/asset_route.h"
#include "hosts/page.h"
#include "hosts/web/events.h"
#include "hosts/web/page_turn.h"

namespace turnpike::hosts::web {

namespace {

using account::kept_by_nobody;
using base::Error;
using base::ErrorCode;
using identity::Standing;

// ---- signing in

void show_login(const WebRooms& rooms, Turn& turn, const Asked& asked) {
  if (was_sent_home(rooms, turn)) return;
  const std::string back = known_path(asked.query.find("return_to").value_or(""));
  const auto caller = find_caller(rooms, {turn.request.headers(), {}, false});
  if (caller.ok()) return go_to(turn, back);
  send_page(rooms, turn, frame_of(rooms, login_title), login_view(rooms, back));
}

const LinkView link_view{
    .action = "/login/link",
    .explanation =
        "The link lets you in once. Then you add a passkey or a password, with which you sign in "
        "from then on.",
    .button = "Sign in"};

constexpr std::string_view link_title = "Sign in with a link";

void show_link(const WebRooms& rooms, Turn& turn, const Asked&) {
  if (was_sent_home(rooms, turn)) return;
  send_page(rooms, turn, frame_of(rooms, link_title), link_view);
}

void use_link(const WebRooms& rooms, Turn& turn, const Asked& asked) {
  const auto token = asked.form.find("token").value_or("");
  const auto signed_in = rooms.people.ask([&] {
    return rooms.people.parts().sign_in.with_link(token, rooms.people.actor_of(turn, nullptr));
  });
  if (!signed_in.ok()) {
    return refuse_with(rooms, turn, signed_in.error(), frame_of(rooms, link_title), link_view);
  }
  go_to(turn, own_path, session_cookie(rooms, signed_in->token));
}

void use_sign_out(const WebRooms& rooms, Turn& turn, const Asked& asked) {
  const auto out = sign_out(rooms, turn, asked.caller);
  if (!out.ok()) return refuse(rooms, turn, asked.caller, out.error(), std::string(own_path));
  ReplyFields more;
  out->add_to(more);
  turn.redirect(Location::read(login_path).value(), more);
}

// ---- the person

// Returns the dashboard page of a billing account.
std::string page_of(std::string_view account_id) { return "/dashboard/" + std::string(account_id); }

struct OwnPage {
  identity::Person person;
  std::vector<identity::Passkey> passkeys;
  std::vector<identity::Session> sessions;
  std::vector<identity::Membership> memberships;
  std::vector<oauth::Grant> grants;
  std::vector<identity::UnseenNotice> notices;
  identity::Credentials credentials;
  std::vector<identity::ExternalIdentity> identities;
  std::vector<identity::AuditEvent> events;
};

Result<OwnPage, Error> read_own_page(const account::PooledPeople::Parts& parts,
                                     std::string_view id) {
  OwnPage page;
  auto person = parts.person_store.find(id);
  if (!person.ok()) return std::move(person).error();
  if (!person->has_value()) return Error{ErrorCode::auth_session_ended, "Sign in again."};
  auto passkeys = parts.person_store.passkeys(id);
  if (!passkeys.ok()) return std::move(passkeys).error();
  auto sessions = parts.sessions.list(id);
  if (!sessions.ok()) return std::move(sessions).error();
  auto memberships = parts.members.memberships(id);
  if (!memberships.ok()) return std::move(memberships).error();
  auto grants = parts.grants.grants(id, {});
  if (!grants.ok()) return std::move(grants).error();
  auto notices = parts.by_mail.store().notices(id);
  if (!notices.ok()) return std::move(notices).error();
  const auto credentials = parts.passwords.credentials(id);
  if (!credentials.ok()) return credentials.error();
  auto identities = parts.external_identities.list(id);
  if (!identities.ok()) return std::move(identities).error();
  constexpr std::int64_t events_shown = 10;
  auto events = parts.audit.list({.person_id = std::string(id), .limit = events_shown});
  if (!events.ok()) return std::move(events).error();
  return OwnPage{**std::move(person), *std::move(passkeys), *std::move(sessions),
                 *std::move(memberships), *std::move(grants), *std::move(notices), *credentials,
                 *std::move(identities), *std::move(events)};
}

void show_account(const WebRooms& rooms, Turn& turn, const Asked&) {
  const Caller caller = caller_of_page(rooms, turn);
  if (caller == nullptr) return;
  const auto page =
      rooms.people.ask([&] { return read_own_page(rooms.people.parts(), caller->id); });
  if (!page.ok()) return refuse(rooms, turn, caller, page.error(), std::string(own_path));
  const auto session = std::find_if(page->sessions.begin(), page->sessions.end(),
                                    [&](const auto& one) { return one.id == caller->session_id; });
  if (session == page->sessions.end()) return go_to(turn, login_path);
  const identity::Passwords& passwords = rooms.people.parts().passwords;
  const auto providers = providers_of(rooms);
  const AccountView view{.person = page->person,
                         .session = *session,
                         .passkeys = page->passkeys,
                         .passkey_domain = rooms.people.parts().sign_in.passkey_domain(),
                         .sessions = page->sessions,
                         .memberships = page->memberships,
                         .grants = page->grants,
                         .notices = page->notices,
                         .identities = page->identities,
                         .events = page->events,
                         .providers = providers,
                         .credentials = page->credentials,
                         .takes_passwords = passwords.are_enabled(),
                         .password_bytes_min = passwords.bytes_min(),
                         .ways = ways_of(rooms, caller),
                         .may_enrol = caller->standing != Standing::signed_in,
                         .sends_mail = rooms.people.parts().by_mail.sends_mail()};
  send_page(rooms, turn, frame_of(rooms, "Your account", page->person, caller), view);
}

void use_remove_passkey(const WebRooms& rooms, Turn& turn, const Asked& asked) {
  const std::string back(own_path);
  if (!stands_for(Standing::stepped_up, rooms, turn, asked, back)) return;
  const std::string id = asked.form.find("id").value_or("");
  const auto token = rooms.people.ask([&] {
    return rooms.people.parts().sign_in.remove_passkey(id,
                                                       rooms.people.actor_of(turn, asked.caller));
  });
  if (!token.ok()) return refuse(rooms, turn, asked.caller, token.error(), back);
  go_to(turn, back, session_cookie(rooms, *token));
}

void use_end_sessions(const WebRooms& rooms, Turn& turn, const Asked& asked) {
  const std::string back(own_path);
  if (!stands_for(Standing::signed_in, rooms, turn, asked, back)) return;
  const auto id = asked.form.find("id");
  const auto ended = rooms.people.ask([&]() -> Result<Unit, Error> {
    identity::Sessions& sessions = rooms.people.parts().sessions;
    const identity::Actor actor = rooms.people.actor_of(turn, asked.caller);
    if (id) {
      const auto one = sessions.end(asked.caller->id, *id, actor);
      if (!one.ok()) return one.error();
      return Unit{};
    }
    const auto all = sessions.end_others(asked.caller->id, asked.caller->session_id, actor);
    if (!all.ok()) return all.error();
    return Unit{};
  });
  if (!ended.ok()) return refuse(rooms, turn, asked.caller, ended.error(), back);
  go_to(turn, back);
}

void use_create_account(const WebRooms& rooms, Turn& turn, const Asked& asked) {
  const std::string back(own_path);
  if (!stands_for(Standing::stepped_up, rooms, turn, asked, back)) return;
  const auto created =
      account::create_account_for(rooms.people, asked.form.find("name").value_or(""),
                                  rooms.people.actor_of(turn, asked.caller));
  if (!created.ok()) return refuse(rooms, turn, asked.caller, created.error(), back);
  go_to(turn, page_of(created->id));
}

// ---- events of the person

void show_own_events(const WebRooms& rooms, Turn& turn, const Asked& asked) {
  const Caller caller = caller_of_page(rooms, turn);
  if (caller == nullptr) return;
  const std::string back(own_path);
  if (caller->standing == Standing::enrolling) return go_to(turn, back);
  const auto after = read_after(asked);
  if (!after.ok()) return refuse(rooms, turn, caller, after.error(), back);
  const auto person = person_of(rooms, caller);
  if (!person.ok()) return refuse(rooms, turn, caller, person.error(), back);
  const auto events = rooms.people.ask([&] {
    return read_events(rooms.people.parts().audit, {.person_id = person->id, .before = *after});
  });
  if (!events.ok()) return refuse(rooms, turn, caller, events.error(), back);
  const NamesById names{{person->id, "you"}};
  send_page(rooms, turn, frame_of(rooms, "What happened", *person, caller),
            EventsView{events->events, names,
                       events->next ? "/account/events?after=" + std::to_string(*events->next)
                                    : std::string()});
}

// ---- a billing account

// The account's pages have moved to the dashboard.
void show_billing_account(const WebRooms&, Turn& turn, const Asked& asked) {
  go_to(turn, page_of(asked.parameters[0]) + "/keys");
}

// ---- invitations

constexpr std::string_view invitation_title = "Accept an invitation";

const LinkView join_view{
    .action = "/invitation/join",
    .explanation =
        "You are invited to a billing account. If you have signed in here before, sign in first, "
        "then open the link again.",
    .button = "Join",
    .asks_name = true};

// Without a session the invitation leads to registration; a signed-in person becomes a member.
void show_invitation(const WebRooms& rooms, Turn& turn, const Asked&) {
  if (was_sent_home(rooms, turn)) return;
  const auto known = find_caller(rooms, {turn.request.headers(), {}, false});
  if (!known.ok()) {
    return send_page(rooms, turn, frame_of(rooms, invitation_title), join_view);
  }
  const Caller& caller = *known;
  const auto person = person_of(rooms, caller);
  if (!person.ok()) return refuse(rooms, turn, caller, person.error(), std::string(own_path));
  send_page(rooms, turn, frame_of(rooms, invitation_title, *person, caller),
            LinkView{.action = "/invitation",
                     .explanation = "You become a member of the billing account that invited you.",
                     .button = "Accept",
                     .has_page_token = true});
}

void use_invitation(const WebRooms& rooms, Turn& turn, const Asked& asked) {
  const std::string back = "/invitation";
  if (!stands_for(Standing::signed_in, rooms, turn, asked, back)) return;
  const std::string token = asked.form.find("token").value_or("");
  const auto accepted = rooms.people.ask([&] {
    return rooms.people.parts().people.accept(token, asked.caller->id,
                                              rooms.people.actor_of(turn, asked.caller));
  });
  if (!accepted.ok()) return refuse(rooms, turn, asked.caller, accepted.error(), back);
  go_to(turn, page_of(accepted->account.id));
}

void use_join(const WebRooms& rooms, Turn& turn, const Asked& asked) {
  const auto field = [&](std::string_view name) { return asked.form.find(name).value_or(""); };
  const auto joined = rooms.people.ask([&] {
    return rooms.people.parts().sign_in.join(field("token"), field("name"), field("login"),
                                             rooms.people.actor_of(turn, nullptr));
  });
  if (!joined.ok()) {
    LinkView view = join_view;
    view.token = field("token");
    view.name = field("name");
    view.login = field("login");
    return refuse_with(rooms, turn, joined.error(), frame_of(rooms, invitation_title), view);
  }
  go_to(turn, own_path, session_cookie(rooms, joined->token));
}

void send_page_asset(const WebRooms& rooms, Turn& turn, const Asked& asked) {
  send_asset(rooms.pages, turn, asked);
}

// ---- the table

constexpr Parameter login_query[] = {
    {.name = "return_to", .description = "A page of this host.", .schema = R"({"type": "string"})"},
};

constexpr RouteFacts login_facts = [] {
  RouteFacts facts = page("/login", "login_page");
  facts.query = login_query;
  return facts;
}();

constexpr Parameter events_query[] = {after_parameter};

constexpr RouteFacts events_facts = [] {
  RouteFacts facts = page("/account/events", "my_events_page");
  facts.query = events_query;
  return facts;
}();

constexpr Route<WebRooms> page_rows[] = {
    {.facts = login_facts, .answer = show_login},
    {.facts = page("/login/link", "login_page"), .answer = show_link},
    {.facts = form("/login/link", "sign_in", Callers::anyone()), .answer = use_link},
    {.facts = form("/sign-out", "sign_out", any_session), .answer = use_sign_out},
    {.facts = page("/account", "account_page"), .answer = show_account},
    {.facts = form("/account/passkeys/remove", "my_passkey", any_session),
     .answer = use_remove_passkey},
    {.facts = form("/account/sessions/end", "my_sessions", any_session),
     .answer = use_end_sessions},
    {.facts = form("/account/billing-accounts", "billing_accounts", any_session),
     .answer = use_create_account},
    {.facts = page("/accounts/{billing_account_id}", "billing_account_page"),
     .answer = show_billing_account},
    {.facts = events_facts, .answer = show_own_events},
    {.facts = page("/invitation", "invitation_page"), .answer = show_invitation},
    {.facts = form("/invitation", "accept_invitation", any_session), .answer = use_invitation},
    {.facts = form("/invitation/join", "accept_invitation", Callers::anyone()), .answer = use_join},
    {.facts = asset_facts, .answer = send_page_asset},
};

}  // namespace

std::span<const Route<WebRooms>> page_routes() noexcept { return page_rows; }

}  // namespace turnpike::hosts::web
