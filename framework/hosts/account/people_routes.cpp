#include "hosts/account/people_routes.h"

#include <algorithm>
#include <charconv>

#include "base/strict_object.h"
#include "hosts/account/account_routes.h"
#include "hosts/account/people_json.h"

namespace turnpike::hosts::account {

namespace {

using base::Error;
using base::ErrorCode;
using base::StrictObject;
using identity::Actor;
using identity::Role;
using identity::Standing;
using Body = Result<std::string, Error>;

constexpr std::uint64_t body_bytes_max = 4'096;
constexpr std::size_t name_characters_max = 200;
constexpr std::string_view role_names[] = {"member", "admin", "owner"};

Error no_key() {
  return {ErrorCode::request_not_found, "The billing account has no API key with this id."};
}

Error no_session() {
  return {ErrorCode::request_not_found, "You have no session with this id that goes on."};
}

Actor actor_of(const PeopleRooms& rooms, Turn& turn, const Asked& asked) {
  return rooms.people.actor_of(turn, asked.caller);
}

identity::KeyEditor editor_of(const PeopleRooms& rooms, Turn& turn, const Asked& asked) {
  return {actor_of(rooms, turn, asked), std::string(asked.caller->account_id)};
}

void send_created(Turn& turn, const Body& body) {
  if (body.ok()) {
    turn.reply({.status = 201, .body = *body});
  } else {
    turn.refuse(body.error());
  }
}

template <class T>
void send_nothing_or_refuse(Turn& turn, const Result<T, Error>& done) {
  if (done.ok()) {
    turn.reply({.status = 204, .content_type = {}});
  } else {
    turn.refuse(done.error());
  }
}

// ---- the person and their sessions

void me(const PeopleRooms& rooms, Turn& turn, const Asked& asked) {
  send_or_refuse(turn, me_body(rooms.people, asked.caller->id, asked.caller->session_id));
}

void rename_me(const PeopleRooms& rooms, Turn& turn, const Asked& asked) {
  StrictObject body(asked.body, {"name"});
  const std::string name = body.text("name", {1, name_characters_max});
  if (!body.problems().empty()) return (void)turn.refuse(body.refusal());
  const auto renamed = rooms.people.ask([&] {
    return rooms.people.parts().people.rename(asked.caller->id, name, actor_of(rooms, turn, asked));
  });
  if (!renamed.ok()) return (void)turn.refuse(renamed.error());
  me(rooms, turn, asked);
}

void list_sessions(const PeopleRooms& rooms, Turn& turn, const Asked& asked) {
  const auto sessions =
      rooms.people.ask([&] { return rooms.people.parts().sessions.list(asked.caller->id); });
  if (!sessions.ok()) return (void)turn.refuse(sessions.error());
  turn.reply({.body = list_body(*sessions, [&](const identity::Session& session) {
                return session_json(session, asked.caller->session_id);
              })});
}

void create_session(const PeopleRooms& rooms, Turn& turn, const Asked& asked) {
  StrictObject body(asked.body, {"name", "expiresInSeconds"});
  const std::string name = body.text("name", {1, name_characters_max});
  const std::int64_t seconds =
      body.integer("expiresInSeconds", 60, identity::Sessions::bearer_ms_max / 1'000);
  if (!body.problems().empty()) return (void)turn.refuse(body.refusal());
  identity::Sessions& sessions = rooms.people.parts().sessions;
  const auto created = rooms.people.ask([&] {
    return sessions.create_bearer(asked.caller->id, name, seconds * 1'000,
                                  sessions.limits().step_up_ms, "session",
                                  actor_of(rooms, turn, asked));
  });
  if (!created.ok()) return (void)turn.refuse(created.error());
  Json shown = session_json(created->session, asked.caller->session_id);
  shown["token"] = created->token;
  send_created(turn, shown.dump());
}

void end_session(const PeopleRooms& rooms, Turn& turn, const Asked& asked) {
  const auto ended = rooms.people.ask([&] {
    return rooms.people.parts().sessions.end(asked.caller->id, asked.parameters[0],
                                             actor_of(rooms, turn, asked));
  });
  if (ended.ok() && !*ended) return (void)turn.refuse(no_session());
  send_nothing_or_refuse(turn, ended);
}

void end_other_sessions(const PeopleRooms& rooms, Turn& turn, const Asked& asked) {
  send_nothing_or_refuse(turn, rooms.people.ask([&] {
    return rooms.people.parts().sessions.end_others(asked.caller->id, asked.caller->session_id,
                                                    actor_of(rooms, turn, asked));
  }));
}

void list_accounts(const PeopleRooms& rooms, Turn& turn, const Asked& asked) {
  const auto memberships =
      rooms.people.ask([&] { return rooms.people.parts().members.memberships(asked.caller->id); });
  if (!memberships.ok()) return (void)turn.refuse(memberships.error());
  turn.reply({.body = list_body(*memberships, account_json)});
}

void create_account(const PeopleRooms& rooms, Turn& turn, const Asked& asked) {
  StrictObject body(asked.body, {"name"});
  const std::string name = body.text("name", {1, name_characters_max});
  if (!body.problems().empty()) return (void)turn.refuse(body.refusal());
  const auto created = create_account_for(rooms.people, name, actor_of(rooms, turn, asked));
  if (!created.ok()) return (void)turn.refuse(created.error());
  send_created(turn, account_json({*created, Role::owner}).dump());
}

// ---- keys

void list_keys(const PeopleRooms& rooms, Turn& turn, const Asked& asked) {
  const auto keys =
      rooms.people.ask([&] { return rooms.people.parts().keys.list(asked.parameters[0]); });
  if (!keys.ok()) return (void)turn.refuse(keys.error());
  turn.reply({.body = list_body(*keys, key_json)});
}

void create_key(const PeopleRooms& rooms, Turn& turn, const Asked& asked) {
  StrictObject body(asked.body, {"name"});
  const std::string name = body.text("name", {1, name_characters_max});
  if (!body.problems().empty()) return (void)turn.refuse(body.refusal());
  const auto created = rooms.people.ask([&] {
    return rooms.people.parts().keys.create(asked.parameters[0], name,
                                            editor_of(rooms, turn, asked));
  });
  if (!created.ok()) return (void)turn.refuse(created.error());
  Json shown = key_json(created->key);
  shown["secret"] = created->secret;
  send_created(turn, shown.dump());
}

Result<identity::KeyEdit, Error> read_key_edit(std::string_view json) {
  StrictObject body(json, {"name", "caps", "expiresAt"});
  identity::KeyEdit edit;
  if (body.has("name")) edit.name = body.text("name", {1, name_characters_max});
  if (body.has("expiresAt")) edit.expires_at_ms = body.time_or_null("expiresAt");
  if (body.has("caps")) {
    const std::string text = body.object("caps");
    if (!body.problems().empty()) return body.refusal();
    const auto caps = read_caps(text);
    if (!caps.ok()) return caps.error();
    edit.caps = *caps;
  }
  if (!body.problems().empty()) return body.refusal();
  if (edit.name || edit.caps || edit.expires_at_ms) return edit;
  return Error{ErrorCode::request_body_rejected,
               "The body changes nothing.",
               0,
               {{"", "it holds neither name nor caps nor expiresAt", "Send one of them."}}};
}

void change_key(const PeopleRooms& rooms, Turn& turn, const Asked& asked) {
  const auto edit = read_key_edit(asked.body);
  if (!edit.ok()) return (void)turn.refuse(edit.error());
  const auto changed = rooms.people.ask([&] {
    return rooms.people.parts().keys.change(asked.parameters[1], *edit,
                                            editor_of(rooms, turn, asked));
  });
  if (!changed.ok()) return (void)turn.refuse(changed.error());
  if (!changed->has_value()) return (void)turn.refuse(no_key());
  turn.reply({.body = key_json(**changed).dump()});
}

void revoke_key(const PeopleRooms& rooms, Turn& turn, const Asked& asked) {
  const auto revoked = rooms.people.ask([&] {
    return rooms.people.parts().keys.revoke(asked.parameters[1], editor_of(rooms, turn, asked));
  });
  if (revoked.ok() && !revoked->has_value()) return (void)turn.refuse(no_key());
  send_nothing_or_refuse(turn, revoked);
}

// ---- members and invitations

void list_members(const PeopleRooms& rooms, Turn& turn, const Asked& asked) {
  const auto members =
      rooms.people.ask([&] { return rooms.people.parts().members.members(asked.parameters[0]); });
  if (!members.ok()) return (void)turn.refuse(members.error());
  turn.reply({.body = list_body(*members, member_json)});
}

void change_member(const PeopleRooms& rooms, Turn& turn, const Asked& asked) {
  StrictObject body(asked.body, {"role"});
  const auto role = static_cast<Role>(body.one_of("role", role_names));
  if (!body.problems().empty()) return (void)turn.refuse(body.refusal());
  const auto changed = rooms.people.ask([&] {
    return rooms.people.parts().members.set_role(asked.parameters[0], asked.parameters[1], role,
                                                 actor_of(rooms, turn, asked));
  });
  send_nothing_or_refuse(turn, changed);
}

void remove_member(const PeopleRooms& rooms, Turn& turn, const Asked& asked) {
  send_nothing_or_refuse(turn, rooms.people.ask([&] {
    return rooms.people.parts().members.remove(asked.parameters[0], asked.parameters[1],
                                               actor_of(rooms, turn, asked));
  }));
}

void list_invitations(const PeopleRooms& rooms, Turn& turn, const Asked& asked) {
  const auto invitations = rooms.people.ask(
      [&] { return rooms.people.parts().members.invitations(asked.parameters[0]); });
  if (!invitations.ok()) return (void)turn.refuse(invitations.error());
  turn.reply({.body = list_body(*invitations, invitation_json)});
}

void invite(const PeopleRooms& rooms, Turn& turn, const Asked& asked) {
  StrictObject body(asked.body, {"email", "role"});
  const auto role = static_cast<Role>(body.one_of("role", role_names));
  const std::string email = body.text_or("email", {1, 254}, "");
  if (!body.problems().empty()) return (void)turn.refuse(body.refusal());
  const auto created = rooms.people.ask([&] {
    return rooms.people.parts().people.invite(asked.parameters[0], email, role,
                                              actor_of(rooms, turn, asked));
  });
  if (!created.ok()) return (void)turn.refuse(created.error());
  Json shown = invitation_json(created->invitation);
  shown["link"] = link_url(rooms.people, "/invitation", created->token);
  send_created(turn, shown.dump());
}

void withdraw_invitation(const PeopleRooms& rooms, Turn& turn, const Asked& asked) {
  send_nothing_or_refuse(turn, rooms.people.ask([&] {
    return rooms.people.parts().members.withdraw(asked.parameters[0], asked.parameters[1],
                                                 actor_of(rooms, turn, asked));
  }));
}

void accept_invitation(const PeopleRooms& rooms, Turn& turn, const Asked& asked) {
  StrictObject body(asked.body, {"token"});
  const std::string token = body.text("token", {1, 200});
  if (!body.problems().empty()) return (void)turn.refuse(body.refusal());
  const auto accepted = rooms.people.ask([&] {
    return rooms.people.parts().people.accept(token, asked.caller->id,
                                              actor_of(rooms, turn, asked));
  });
  if (!accepted.ok()) return (void)turn.refuse(accepted.error());
  turn.reply({.body = membership_json(*accepted).dump()});
}

// ---- the audit log

constexpr Parameter audit_query[] = {
    {.name = "limit",
     .description = "Events on the page.",
     .schema = R"({"type": "integer", "minimum": 1, "maximum": 100, "default": 50})"},
    {.name = "after",
     .description = "`nextCursor` of the page before.",
     .schema = R"({"type": "string", "pattern": "^[1-9][0-9]*$"})"},
};

Result<std::int64_t, Error> read_number(const NamedValues& query, std::string_view name,
                                        std::int64_t absent, std::int64_t maximum) {
  const auto text = query.find(name);
  if (!text) return absent;
  std::int64_t value = 0;
  const char* const end = text->data() + text->size();
  const auto [rest, problem] = std::from_chars(text->data(), end, value);
  if (problem == std::errc{} && rest == end && value >= 1 && value <= maximum) return value;
  return Error{ErrorCode::request_query_rejected,
               "The query is not one that this route takes.",
               0,
               {{"query." + std::string(name), "it is no such number",
                 "Pass a whole number from 1 to " + std::to_string(maximum) + "."}}};
}

void list_audit(const PeopleRooms& rooms, Turn& turn, const Asked& asked) {
  const auto limit = read_number(asked.query, "limit", 50, 100);
  if (!limit.ok()) return (void)turn.refuse(limit.error());
  const auto before = read_number(asked.query, "after", 0, 0x7FFF'FFFF'FFFF'FFFF);
  if (!before.ok()) return (void)turn.refuse(before.error());
  const auto events = rooms.people.ask([&] {
    return rooms.people.parts().audit.list(
        {.account_id = asked.parameters[0], .before = *before, .limit = *limit + 1});
  });
  if (!events.ok()) return (void)turn.refuse(events.error());
  turn.reply({.body = audit_page_json(*events, static_cast<std::size_t>(*limit)).dump()});
}

// ---- the table

constexpr Parameter key_path[] = {
    account_path[0],
    {.name = "api_key_id", .description = "As in the list.", .schema = R"({"type": "string"})"}};
constexpr Parameter member_path[] = {
    account_path[0],
    {.name = "user_id", .description = "As in the list.", .schema = R"({"type": "string"})"}};
constexpr Parameter invitation_path[] = {
    account_path[0],
    {.name = "invitation_id", .description = "As in the list.", .schema = R"({"type": "string"})"}};
constexpr DescribedReply me_replies[] = {
    {.status = 200, .description = "The person and this session.", .schema = "Me"}};
constexpr DescribedReply sessions_replies[] = {
    {.status = 200, .description = "Those that go on, newest first.", .schema = "SessionList"}};
constexpr DescribedReply accounts_replies[] = {
    {.status = 200, .description = "The accounts, oldest first.", .schema = "BillingAccountList"}};
constexpr DescribedReply keys_replies[] = {{.status = 200,
                                            .description = "The keys, oldest first, revoked ones "
                                                           "included.",
                                            .schema = "ApiKeyList"}};
constexpr DescribedReply created_key_replies[] = {
    {.status = 201, .description = "The key, with its secret.", .schema = "CreatedApiKey"}};
constexpr DescribedReply key_replies[] = {
    {.status = 200, .description = "The key as it is now.", .schema = "ApiKeySummary"}};
constexpr DescribedReply done_replies[] = {
    {.status = 204, .description = "Done.", .content_type = {}}};
constexpr DescribedReply members_replies[] = {
    {.status = 200, .description = "The members, oldest first.", .schema = "MemberList"}};
constexpr DescribedReply invitations_replies[] = {{.status = 200,
                                                   .description = "Those that can be accepted, "
                                                                  "newest first.",
                                                   .schema = "InvitationList"}};
constexpr DescribedReply created_invitation_replies[] = {
    {.status = 201,
     .description = "The invitation, with its link.",
     .schema = "CreatedInvitation"}};
constexpr DescribedReply audit_replies[] = {
    {.status = 200, .description = "A page, newest first.", .schema = "AuditEventPage"}};

#define ACCOUNT "/v1/billing-accounts/{billing_account_id}"

constexpr Route<PeopleRooms> shared_rows[] = {
    {.facts = {.method = "GET",
               .path = "/v1/me",
               .endpoint = "me",
               .callers = Callers::person(Standing::enrolling),
               .cache_control = kept_by_nobody,
               .described = {.operation_id = "getMe",
                             .tag = "People",
                             .summary = "Show whose session this is",
                             .replies = me_replies,
                             .refusals = "400 401 403 503"}},
     .answer = me},
    {.facts = {.method = "GET",
               .path = "/v1/me/sessions",
               .endpoint = "my_sessions",
               .callers = Callers::person(),
               .cache_control = kept_by_nobody,
               .described = {.operation_id = "listSessions",
                             .tag = "People",
                             .summary = "List the person's sessions",
                             .replies = sessions_replies,
                             .refusals = "400 401 403 503"}},
     .answer = list_sessions},
    {.facts = {.method = "GET",
               .path = "/v1/billing-accounts",
               .endpoint = "billing_accounts",
               .callers = Callers::person(),
               .cache_control = kept_by_nobody,
               .described = {.operation_id = "listBillingAccounts",
                             .tag = "People",
                             .summary = "List the accounts that the person is a member of",
                             .replies = accounts_replies,
                             .refusals = "400 401 403 503"}},
     .answer = list_accounts},
    {.facts = {.method = "GET",
               .path = ACCOUNT "/api-keys",
               .endpoint = "api_keys",
               .callers = Callers::members(Role::admin),
               .cache_control = kept_by_nobody,
               .described = {.operation_id = "listApiKeys",
                             .tag = "People",
                             .summary = "List the API keys of an account",
                             .path_parameters = account_path,
                             .replies = keys_replies,
                             .refusals = "400 401 403 500 503"}},
     .answer = list_keys},
    {.facts = {.method = "POST",
               .path = ACCOUNT "/api-keys",
               .endpoint = "api_keys",
               .callers = Callers::members(Role::admin, Standing::stepped_up),
               .body = BodyForm::json,
               .body_bytes_max = body_bytes_max,
               .cache_control = kept_by_nobody,
               .described = {.operation_id = "createApiKey",
                             .tag = "People",
                             .summary = "Make an API key",
                             .description = "The environment is the gateway's. The secret is in "
                                            "this reply and nowhere else.",
                             .path_parameters = account_path,
                             .body_schema = "NewApiKey",
                             .replies = created_key_replies,
                             .refusals = "400 401 403 413 415 500 502 503"}},
     .answer = create_key},
    {.facts = {.method = "PATCH",
               .path = ACCOUNT "/api-keys/{api_key_id}",
               .endpoint = "api_key",
               .callers = Callers::members(Role::admin, Standing::stepped_up),
               .body = BodyForm::json,
               .body_bytes_max = body_bytes_max,
               .cache_control = kept_by_nobody,
               .described = {.operation_id = "changeApiKey",
                             .tag = "People",
                             .summary = "Rename an API key, or cap what it may spend",
                             .path_parameters = key_path,
                             .body_schema = "ApiKeyChange",
                             .replies = key_replies,
                             .refusals = "400 401 403 404 413 415 500 503"}},
     .answer = change_key},
    {.facts = {.method = "DELETE",
               .path = ACCOUNT "/api-keys/{api_key_id}",
               .endpoint = "api_key",
               .callers = Callers::members(Role::admin, Standing::stepped_up),
               .cache_control = kept_by_nobody,
               .described = {.operation_id = "revokeApiKey",
                             .tag = "People",
                             .summary = "Revoke an API key, for good",
                             .description = "It holds on every node within a second.",
                             .path_parameters = key_path,
                             .replies = done_replies,
                             .refusals = "400 401 403 404 500 503"}},
     .answer = revoke_key},
    {.facts = {.method = "GET",
               .path = ACCOUNT "/members",
               .endpoint = "members",
               .callers = Callers::members(Role::member),
               .cache_control = kept_by_nobody,
               .described = {.operation_id = "listMembers",
                             .tag = "People",
                             .summary = "List the members of an account",
                             .path_parameters = account_path,
                             .replies = members_replies,
                             .refusals = "400 401 403 503"}},
     .answer = list_members},
    {.facts = {.method = "PATCH",
               .path = ACCOUNT "/members/{user_id}",
               .endpoint = "member",
               .callers = Callers::members(Role::admin, Standing::stepped_up),
               .body = BodyForm::json,
               .body_bytes_max = body_bytes_max,
               .cache_control = kept_by_nobody,
               .described = {.operation_id = "changeMember",
                             .tag = "People",
                             .summary = "Give a member another role",
                             .description = "To make or unmake an owner takes an owner; the last "
                                            "one stays one.",
                             .path_parameters = member_path,
                             .body_schema = "MemberChange",
                             .replies = done_replies,
                             .refusals = "400 401 403 404 409 413 415 503"}},
     .answer = change_member},
    {.facts = {.method = "DELETE",
               .path = ACCOUNT "/members/{user_id}",
               .endpoint = "member",
               .callers = Callers::members(Role::member, Standing::stepped_up),
               .cache_control = kept_by_nobody,
               .described = {.operation_id = "removeMember",
                             .tag = "People",
                             .summary = "Remove a member, or leave",
                             .path_parameters = member_path,
                             .replies = done_replies,
                             .refusals = "400 401 403 404 409 503"}},
     .answer = remove_member},
    {.facts = {.method = "GET",
               .path = ACCOUNT "/invitations",
               .endpoint = "invitations",
               .callers = Callers::members(Role::admin),
               .cache_control = kept_by_nobody,
               .described = {.operation_id = "listInvitations",
                             .tag = "People",
                             .summary = "List the invitations that can be accepted",
                             .path_parameters = account_path,
                             .replies = invitations_replies,
                             .refusals = "400 401 403 503"}},
     .answer = list_invitations},
    {.facts = {.method = "POST",
               .path = ACCOUNT "/invitations",
               .endpoint = "invitations",
               .callers = Callers::members(Role::admin, Standing::stepped_up),
               .body = BodyForm::json,
               .body_bytes_max = body_bytes_max,
               .cache_control = kept_by_nobody,
               .described = {.operation_id = "createInvitation",
                             .tag = "People",
                             .summary = "Invite somebody to an account",
                             .description = "The link is in this reply and nowhere else. It can be "
                                            "used once, for 7 days.",
                             .path_parameters = account_path,
                             .body_schema = "NewInvitation",
                             .replies = created_invitation_replies,
                             .refusals = "400 401 403 413 415 502 503"}},
     .answer = invite},
    {.facts = {.method = "DELETE",
               .path = ACCOUNT "/invitations/{invitation_id}",
               .endpoint = "invitation",
               .callers = Callers::members(Role::admin, Standing::stepped_up),
               .cache_control = kept_by_nobody,
               .described = {.operation_id = "withdrawInvitation",
                             .tag = "People",
                             .summary = "Withdraw an invitation",
                             .path_parameters = invitation_path,
                             .replies = done_replies,
                             .refusals = "400 401 403 404 503"}},
     .answer = withdraw_invitation},
    {.facts = {.method = "GET",
               .path = ACCOUNT "/audit-events",
               .endpoint = "audit_events",
               .callers = Callers::members(Role::admin),
               .query = audit_query,
               .cache_control = kept_by_nobody,
               .described = {.operation_id = "listAuditEvents",
                             .tag = "People",
                             .summary = "List who changed what in an account",
                             .path_parameters = account_path,
                             .replies = audit_replies,
                             .refusals = "400 401 403 503"}},
     .answer = list_audit},
};
#undef ACCOUNT

constexpr Route<PeopleRooms> own_rows[] = {
    {.facts = {.method = "POST",
               .path = "/v1/billing-accounts",
               .endpoint = "billing_accounts",
               .callers = Callers::person(Standing::stepped_up),
               .body = BodyForm::json,
               .body_bytes_max = body_bytes_max,
               .cache_control = kept_by_nobody},
     .answer = create_account},
    {.facts = {.method = "PATCH",
               .path = "/v1/me",
               .endpoint = "me",
               .callers = Callers::person(),
               .body = BodyForm::json,
               .body_bytes_max = body_bytes_max,
               .cache_control = kept_by_nobody},
     .answer = rename_me},
    {.facts = {.method = "POST",
               .path = "/v1/me/sessions",
               .endpoint = "my_sessions",
               .callers = Callers::person(Standing::stepped_up),
               .body = BodyForm::json,
               .body_bytes_max = body_bytes_max,
               .cache_control = kept_by_nobody},
     .answer = create_session},
    {.facts = {.method = "DELETE",
               .path = "/v1/me/sessions",
               .endpoint = "my_sessions",
               .callers = Callers::person(),
               .cache_control = kept_by_nobody},
     .answer = end_other_sessions},
    {.facts = {.method = "DELETE",
               .path = "/v1/me/sessions/{session_id}",
               .endpoint = "my_session",
               .callers = Callers::person(),
               .cache_control = kept_by_nobody},
     .answer = end_session},
    {.facts = {.method = "POST",
               .path = "/v1/invitations/accept",
               .endpoint = "accept_invitation",
               .callers = Callers::person(),
               .body = BodyForm::json,
               .body_bytes_max = body_bytes_max,
               .cache_control = kept_by_nobody},
     .answer = accept_invitation},
};

}  // namespace

std::span<const Route<PeopleRooms>> people_routes() noexcept { return shared_rows; }
std::span<const Route<PeopleRooms>> own_routes() noexcept { return own_rows; }

Result<identity::Account, Error> create_account_for(const PooledPeople& people,
                                                    std::string_view name, const Actor& actor) {
  // The rows of an account are never deleted, so a person may create only a few accounts a day.
  constexpr std::int64_t day_ms = 24 * 3'600'000ll;
  constexpr std::int64_t accounts_a_day_max = 20;
  return people.ask([&]() -> Result<identity::Account, Error> {
    identity::AuditStore& audit = people.parts().audit;
    const std::string key = "accounts:" + actor.person_id;
    const auto wait_seconds = audit.throttled(key, day_ms, accounts_a_day_max);
    if (!wait_seconds.ok()) return wait_seconds.error();
    if (*wait_seconds > 0) {
      return Error{ErrorCode::auth_throttled, "You have made enough accounts for today.",
                   *wait_seconds};
    }
    if (auto counted = audit.count_try(key, day_ms); !counted.ok()) return counted.error();
    return people.parts().accounts.create_for(name, {actor.person_id, actor});
  });
}

std::string link_url(const PooledPeople& people, std::string_view path, std::string_view token) {
  return people.parts().web_url + std::string(path) + "#" + std::string(token);
}

Result<std::string, base::Error> me_body(const PooledPeople& people, std::string_view person_id,
                                         std::string_view session_id) {
  const PooledPeople::Parts& parts = people.parts();
  return people.ask([&]() -> Body {
    const auto person = parts.person_store.find(person_id);
    if (!person.ok()) return person.error();
    const auto sessions = parts.sessions.list(person_id);
    if (!sessions.ok()) return sessions.error();
    const auto session = std::find_if(sessions->begin(), sessions->end(),
                                      [&](const auto& one) { return one.id == session_id; });
    const auto memberships = parts.members.memberships(person_id);
    if (!memberships.ok()) return memberships.error();
    const auto credentials = parts.passwords.credentials(person_id);
    if (!credentials.ok()) return credentials.error();
    if (!person->has_value() || session == sessions->end()) {
      return Error{ErrorCode::auth_session_ended, "The session has ended: sign in again."};
    }
    const bool is_of_pages = session->transport == identity::SessionTransport::cookie;
    return me_json({.person = **person,
                    .session = *session,
                    .memberships = *memberships,
                    .credentials = *credentials,
                    .step_up_methods = identity::step_up_methods(*credentials, parts.passwords),
                    .page_token = is_of_pages ? parts.sessions.page_token(session_id) : "",
                    .now_ms = parts.clock.now_ms()})
        .dump();
  });
}

}  // namespace turnpike::hosts::account
