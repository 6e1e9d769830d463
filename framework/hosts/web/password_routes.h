// The JSON routes by which people sign in with a password or a recovery code, and change them.
// Hashing runs on a share of its own of the pool. Constants; any Thread.
#pragma once

#include <span>
#include <string>

#include "hosts/route.h"
#include "hosts/web/sign_in_routes.h"

namespace turnpike::hosts::web {

std::span<const Route<WebRooms>> password_routes() noexcept;

// Returns the device token of a browser in which people signed in before; empty: there is none.
std::string device_of(const WebRooms& rooms, const Turn& turn);
// Returns the Set-Cookie value for the device token.
std::string device_cookie(const WebRooms& rooms, std::string_view device);

}  // namespace turnpike::hosts::web
