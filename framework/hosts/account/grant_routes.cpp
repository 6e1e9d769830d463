#include "hosts/account/grant_routes.h"

#include <charconv>

#include "base/strict_object.h"
#include "hosts/account/account_routes.h"
#include "hosts/account/people_json.h"

namespace turnpike::hosts::account {

namespace {

using base::Error;
using base::ErrorCode;
using base::StrictObject;
using identity::Role;
using identity::Standing;

constexpr std::uint64_t change_bytes_max = 4'096;

Error no_grant() {
  return {ErrorCode::request_not_found, "There is no grant with this id that goes on."};
}

void send_grants(const PeopleRooms& rooms, Turn& turn, std::string_view person_id,
                 std::string_view account_id) {
  const auto grants =
      rooms.people.ask([&] { return rooms.people.parts().grants.grants(person_id, account_id); });
  if (!grants.ok()) return (void)turn.refuse(grants.error());
  turn.reply({.body = list_body(*grants, grant_json)});
}

void end_grant(const PeopleRooms& rooms, Turn& turn, const Asked& asked, std::string_view grant_id,
               std::string_view person_id, std::string_view account_id) {
  const auto ended = rooms.people.ask([&] {
    return rooms.people.parts().grants.revoke(grant_id, person_id, account_id,
                                              rooms.people.actor_of(turn, asked.caller));
  });
  if (!ended.ok()) return (void)turn.refuse(ended.error());
  if (!*ended) return (void)turn.refuse(no_grant());
  turn.reply({.status = 204, .content_type = {}});
}

void list_own(const PeopleRooms& rooms, Turn& turn, const Asked& asked) {
  send_grants(rooms, turn, asked.caller->id, {});
}

void list_of_account(const PeopleRooms& rooms, Turn& turn, const Asked& asked) {
  send_grants(rooms, turn, {}, asked.parameters[0]);
}

void end_own(const PeopleRooms& rooms, Turn& turn, const Asked& asked) {
  end_grant(rooms, turn, asked, asked.parameters[0], asked.caller->id, {});
}

void end_of_account(const PeopleRooms& rooms, Turn& turn, const Asked& asked) {
  end_grant(rooms, turn, asked, asked.parameters[1], {}, asked.parameters[0]);
}

void change_own(const PeopleRooms& rooms, Turn& turn, const Asked& asked) {
  StrictObject body(asked.body, {"caps"});
  const std::string text = body.object("caps");
  if (!body.problems().empty()) return (void)turn.refuse(body.refusal());
  const auto caps = read_caps(text);
  if (!caps.ok()) return (void)turn.refuse(caps.error());
  const auto changed = rooms.people.ask([&] {
    return rooms.people.parts().grants.set_caps(asked.parameters[0], asked.caller->id, *caps,
                                                rooms.people.actor_of(turn, asked.caller));
  });
  if (!changed.ok()) return (void)turn.refuse(changed.error());
  if (!changed->has_value()) return (void)turn.refuse(no_grant());
  turn.reply({.body = grant_json(**changed).dump()});
}

constexpr Parameter grant_path[] = {
    account_path[0],
    {.name = "grant_id", .description = "As in the list.", .schema = R"({"type": "string"})"}};
constexpr DescribedReply grants_replies[] = {
    {.status = 200, .description = "Those that go on, newest first.", .schema = "GrantList"}};
constexpr DescribedReply ended_replies[] = {
    {.status = 204, .description = "Done.", .content_type = {}}};

#define ACCOUNT "/v1/billing-accounts/{billing_account_id}"

constexpr Route<PeopleRooms> shared_grant_rows[] = {
    {.facts = {.method = "GET",
               .path = "/v1/me/grants",
               .endpoint = "my_grants",
               .callers = Callers::person(),
               .cache_control = kept_by_nobody,
               .described = {.operation_id = "listGrants",
                             .tag = "People",
                             .summary = "List the OAuth clients that act for the person",
                             .replies = grants_replies,
                             .refusals = "400 401 403 503"}},
     .answer = list_own},
    {.facts = {.method = "GET",
               .path = ACCOUNT "/grants",
               .endpoint = "grants",
               .callers = Callers::members(Role::admin),
               .cache_control = kept_by_nobody,
               .described = {.operation_id = "listAccountGrants",
                             .tag = "People",
                             .summary = "List the OAuth clients that spend from an account",
                             .path_parameters = account_path,
                             .replies = grants_replies,
                             .refusals = "400 401 403 503"}},
     .answer = list_of_account},
    {.facts = {.method = "DELETE",
               .path = ACCOUNT "/grants/{grant_id}",
               .endpoint = "grant",
               .callers = Callers::members(Role::admin, Standing::stepped_up),
               .cache_control = kept_by_nobody,
               .described = {.operation_id = "endGrant",
                             .tag = "People",
                             .summary = "End the access of an OAuth client",
                             .description = "It holds on every node within a second.",
                             .path_parameters = grant_path,
                             .replies = ended_replies,
                             .refusals = "400 401 403 404 503"}},
     .answer = end_of_account},
};
#undef ACCOUNT

constexpr Route<PeopleRooms> own_grant_rows[] = {
    {.facts = {.method = "PATCH",
               .path = "/v1/me/grants/{grant_id}",
               .endpoint = "my_grant",
               .callers = Callers::person(Standing::stepped_up),
               .body = BodyForm::json,
               .body_bytes_max = change_bytes_max,
               .cache_control = kept_by_nobody},
     .answer = change_own},
    {.facts = {.method = "DELETE",
               .path = "/v1/me/grants/{grant_id}",
               .endpoint = "my_grant",
               .callers = Callers::person(),
               .cache_control = kept_by_nobody},
     .answer = end_own},
};

}  // namespace

std::span<const Route<PeopleRooms>> grant_routes() noexcept { return shared_grant_rows; }
std::span<const Route<PeopleRooms>> own_grant_routes() noexcept { return own_grant_rows; }

Result<std::optional<std::int64_t>, Error> read_cap(std::string_view text) {
  using Answer = std::optional<std::int64_t>;
  if (text.empty()) return Answer();
  std::int64_t cap = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, problem] = std::from_chars(text.data(), end, cap);
  if (problem == std::errc{} && rest == end && cap >= 0 && cap <= cap_credits_max) {
    return Answer(cap);
  }
  return Error{ErrorCode::request_malformed,
               "The limit is a whole number of Credits, or empty for none."};
}

}  // namespace turnpike::hosts::account
