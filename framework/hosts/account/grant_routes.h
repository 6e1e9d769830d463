// The routes by which people see and revoke the grants of OAuth clients: a person their own grants,
// an account's admins those that spend from the account. Constants; any Thread.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include <turnpike/result.h>

#include "hosts/account/people_routes.h"

namespace turnpike::hosts::account {

// For the API host and the web host.
std::span<const Route<PeopleRooms>> grant_routes() noexcept;
// Rows of the web host only: changes of the person's own grants.
std::span<const Route<PeopleRooms>> own_grant_routes() noexcept;

// Reads a cap typed into a form: a whole number of Credits; empty: no cap. Error:
// request.malformed.
Result<std::optional<std::int64_t>, base::Error> read_cap(std::string_view text);

}  // namespace turnpike::hosts::account
