#include "hosts/web/pages.h"

#include <algorithm>

#include "hosts/account/account_routes.h"
#include "hosts/account/people_routes.h"
#include "hosts/asset_route.h"
#include "hosts/page.h"
#include "hosts/web/page_turn.h"

namespace turnpike::hosts::web {

namespace {

using account::kept_by_nobody;
using base::Error;
using base::ErrorCode;
using identity::Role;
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

struct OwnPage {
  identity::Person person;
  std::vector<identity::Passkey> passkeys;
  std::vector<identity::Session> sessions;
  std::vector<identity::Membership> memberships;
  std::vector<oauth::Grant> grants;
  std::vector<identity::UnseenNotice> notices;
  identity::Credentials credentials;
  std::vector<identity::ExternalIdentity> identities;
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
  return OwnPage{**std::move(person), *std::move(passkeys), *std::move(sessions),
                 *std::move(memberships), *std::move(grants), *std::move(notices), *credentials,
                 *std::move(identities)};
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
  go_to(turn, "/accounts/" + created->id);
}

// ---- a billing account

std::string page_of(std::string_view account_id) { return "/accounts/" + std::string(account_id); }

struct BillingAccountPage {
  identity::Membership membership;
  std::vector<identity::ApiKey> keys;
  std::vector<identity::Member> members;
  std::vector<identity::Invitation> invitations;
};

Result<BillingAccountPage, Error> read_billing_account(const account::PooledPeople::Parts& parts,
                                                       const identity::Principal& caller) {
  BillingAccountPage page;
  const auto memberships = parts.members.memberships(caller.id);
  if (!memberships.ok()) return memberships.error();
  const auto own = std::find_if(memberships->begin(), memberships->end(), [&](const auto& one) {
    return one.account.id == caller.account_id;
  });
  if (own == memberships->end()) {
    return *identity::role_refusal(std::nullopt, Role::member);
  }
  page.membership = *own;
  auto members = parts.members.members(caller.account_id);
  if (!members.ok()) return std::move(members).error();
  page.members = *std::move(members);
  if (own->role < Role::admin) return page;
  auto keys = parts.keys.list(caller.account_id);
  if (!keys.ok()) return std::move(keys).error();
  page.keys = *std::move(keys);
  auto invitations = parts.members.invitations(caller.account_id);
  if (!invitations.ok()) return std::move(invitations).error();
  page.invitations = *std::move(invitations);
  return page;
}

void show_billing_account(const WebRooms& rooms, Turn& turn, const Asked& asked) {
  const Caller caller = caller_of_page(rooms, turn, asked.parameters[0]);
  if (caller == nullptr) return;
  if (caller->standing == Standing::enrolling) return go_to(turn, own_path);
  const auto page =
      rooms.people.ask([&] { return read_billing_account(rooms.people.parts(), *caller); });
  if (!page.ok()) return refuse(rooms, turn, caller, page.error(), std::string(own_path));
  const auto person = person_of(rooms, caller);
  if (!person.ok()) return refuse(rooms, turn, caller, person.error(), std::string(own_path));
  const Frame frame = frame_of(rooms, page->membership.account.name, *person, caller);
  send_page(rooms, turn, frame,
            BillingAccountView{.membership = page->membership,
                               .keys = page->keys,
                               .members = page->members,
                               .invitations = page->invitations,
                               .own_id = caller->id,
                               .sends_mail = rooms.people.parts().by_mail.sends_mail()});
}

// A form of an account's page: judged, done in the store, and back to the page. `work` takes the
// actor and returns a Result.
template <class F>
void change(const WebRooms& rooms, Turn& turn, const Asked& asked, F&& work) {
  const std::string back = page_of(asked.parameters[0]);
  if (!stands_for(Standing::stepped_up, rooms, turn, asked, back)) return;
  const identity::Actor actor = rooms.people.actor_of(turn, asked.caller);
  const auto done = rooms.people.ask([&] { return work(actor); });
  if (!done.ok()) return refuse(rooms, turn, asked.caller, done.error(), back);
  go_to(turn, back);
}

// The same for what is shown once.
template <class F>
void create(const WebRooms& rooms, Turn& turn, const Asked& asked, std::string_view title,
            std::string_view explanation, F&& work) {
  const std::string back = page_of(asked.parameters[0]);
  if (!stands_for(Standing::stepped_up, rooms, turn, asked, back)) return;
  const identity::Actor actor = rooms.people.actor_of(turn, asked.caller);
  const Result<std::string, Error> secret =
      rooms.people.ask([&]() -> Result<std::string, Error> { return work(actor); });
  if (!secret.ok()) return refuse(rooms, turn, asked.caller, secret.error(), back);
  const auto person = person_of(rooms, asked.caller);
  const Frame frame =
      person.ok() ? frame_of(rooms, title, *person, asked.caller) : frame_of(rooms, title);
  send_page(rooms, turn, frame, SecretView{std::string(explanation), *secret, back}, 201);
}

void use_create_key(const WebRooms& rooms, Turn& turn, const Asked& asked) {
  create(rooms, turn, asked, "Your new API key",
         "Keep it now: it is shown only here. Programs send it as Authorization: Bearer.",
         [&](const identity::Actor& actor) -> Result<std::string, Error> {
           const auto created = rooms.people.parts().keys.create(
               asked.parameters[0], asked.form.find("name").value_or(""),
               {actor, asked.parameters[0]});
           if (!created.ok()) return created.error();
           return created->secret;
         });
}

void use_revoke_key(const WebRooms& rooms, Turn& turn, const Asked& asked) {
  change(rooms, turn, asked, [&](const identity::Actor& actor) {
    return rooms.people.parts().keys.revoke(asked.form.find("id").value_or(""),
                                            {actor, asked.parameters[0]});
  });
}

void use_invite(const WebRooms& rooms, Turn& turn, const Asked& asked) {
  create(rooms, turn, asked, "Your invitation",
         "Give this link to the person: it works once, for 7 days, and is shown only here.",
         [&](const identity::Actor& actor) -> Result<std::string, Error> {
           const auto role = identity::role(asked.form.find("role").value_or(""));
           if (!role) return Error{ErrorCode::request_body_rejected, "Choose a role."};
           const auto created = rooms.people.parts().people.invite(
               asked.parameters[0], asked.form.find("email").value_or(""), *role, actor);
           if (!created.ok()) return created.error();
           return account::link_url(rooms.people, "/invitation", created->token);
         });
}

void use_withdraw(const WebRooms& rooms, Turn& turn, const Asked& asked) {
  change(rooms, turn, asked, [&](const identity::Actor& actor) {
    return rooms.people.parts().members.withdraw(asked.parameters[0],
                                                 asked.form.find("id").value_or(""), actor);
  });
}

void use_remove_member(const WebRooms& rooms, Turn& turn, const Asked& asked) {
  const std::string id = asked.form.find("id").value_or("");
  const std::string back(id == asked.caller->id ? own_path : page_of(asked.parameters[0]));
  if (!stands_for(Standing::stepped_up, rooms, turn, asked, back)) return;
  const auto removed = rooms.people.ask([&] {
    return rooms.people.parts().members.remove(asked.parameters[0], id,
                                               rooms.people.actor_of(turn, asked.caller));
  });
  if (!removed.ok()) return refuse(rooms, turn, asked.caller, removed.error(), back);
  go_to(turn, back);
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

// A stranger becomes a person by it; somebody who is signed in becomes a member.
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

constexpr Callers admins = Callers::members(Role::admin, Standing::enrolling);

#define BILLING_ACCOUNT "/accounts/{billing_account_id}"

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
    {.facts = page(BILLING_ACCOUNT, "billing_account_page"), .answer = show_billing_account},
    {.facts = form(BILLING_ACCOUNT "/api-keys", "api_keys", admins), .answer = use_create_key},
    {.facts = form(BILLING_ACCOUNT "/api-keys/revoke", "api_key", admins),
     .answer = use_revoke_key},
    {.facts = form(BILLING_ACCOUNT "/invitations", "invitations", admins), .answer = use_invite},
    {.facts = form(BILLING_ACCOUNT "/invitations/withdraw", "invitation", admins),
     .answer = use_withdraw},
    {.facts = form(BILLING_ACCOUNT "/members/remove", "member",
                   Callers::members(Role::member, Standing::enrolling)),
     .answer = use_remove_member},
    {.facts = page("/invitation", "invitation_page"), .answer = show_invitation},
    {.facts = form("/invitation", "accept_invitation", any_session), .answer = use_invitation},
    {.facts = form("/invitation/join", "accept_invitation", Callers::anyone()), .answer = use_join},
    {.facts = asset_facts, .answer = send_page_asset},
};
#undef BILLING_ACCOUNT

}  // namespace

std::span<const Route<WebRooms>> page_routes() noexcept { return page_rows; }

}  // namespace turnpike::hosts::web
