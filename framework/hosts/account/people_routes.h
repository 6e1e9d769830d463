// The routes of people with a session: themselves, their sessions and accounts, and the keys,
// members and invitations of an account. The API host takes the session as a Bearer token, the web
// host in its cookie; the rows are the same. Constants; any Thread.
#pragma once

#include <span>

#include "hosts/account/pooled_people.h"
#include "hosts/route.h"

namespace turnpike::hosts::account {

// The objects that the handlers work with; all outlive the host.
struct PeopleRooms {
  const PooledPeople& people;
};

std::span<const Route<PeopleRooms>> people_routes() noexcept;
// What only the web host serves: changes of the person's own name, sessions and memberships.
std::span<const Route<PeopleRooms>> own_routes() noexcept;

// An account of which the actor, a person, is the first owner. Errors: those of
// Accounts::create_for(), auth.throttled.
Result<identity::Account, base::Error> create_account_for(const PooledPeople& people,
                                                          std::string_view name,
                                                          const identity::Actor& actor);

// The page at which a token is used that a link carries behind its "#", where it stays out of logs.
std::string link_url(const PooledPeople& people, std::string_view path, std::string_view token);

// The body of GET /v1/me.
Result<std::string, base::Error> me_body(const PooledPeople& people, std::string_view person_id,
                                         std::string_view session_id);

}  // namespace turnpike::hosts::account
