// The routes of people with a session: the person, their sessions and accounts, and the keys,
// members and invitations of an account. The API host takes the session as a Bearer token, the web
// host in its cookie; the rows are the same. Constants; any Thread.
#pragma once

#include <span>

#include "hosts/account/pooled_people.h"
#include "hosts/route.h"

namespace turnpike::hosts::account {

// The objects that the handlers use; all outlive the host.
struct PeopleRooms {
  const PooledPeople& people;
};

std::span<const Route<PeopleRooms>> people_routes() noexcept;
// Rows of the web host only: changes of the person's own name, sessions and memberships.
std::span<const Route<PeopleRooms>> own_routes() noexcept;

// Creates an account; the actor, a person, becomes its first owner. Errors: those of
// Accounts::create_for(), auth.throttled.
Result<identity::Account, base::Error> create_account_for(const PooledPeople& people,
                                                          std::string_view name,
                                                          const identity::Actor& actor);

// Returns the URL of the page that uses `token`. The token is in the fragment, behind "#", so that
// it stays out of logs.
std::string link_url(const PooledPeople& people, std::string_view path, std::string_view token);

// The body of GET /v1/me.
Result<std::string, base::Error> me_body(const PooledPeople& people, std::string_view person_id,
                                         std::string_view session_id);

}  // namespace turnpike::hosts::account
