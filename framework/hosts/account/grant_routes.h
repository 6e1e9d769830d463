// The routes by which people see and end what they let OAuth clients do: each person their own
// grants, an account's admins those that spend from it. Constants; any Thread.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include <turnpike/result.h>

#include "hosts/account/people_routes.h"

namespace turnpike::hosts::account {

// For the API host and the web host.
std::span<const Route<PeopleRooms>> grant_routes() noexcept;
// What only the web host serves: changes of the person's own.
std::span<const Route<PeopleRooms>> own_grant_routes() noexcept;

// A cap as somebody types it into a form: a whole number of Credits; empty: none.
// request.malformed.
Result<std::optional<std::int64_t>, base::Error> read_cap(std::string_view text);

}  // namespace turnpike::hosts::account
