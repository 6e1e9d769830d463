// The JSON routes by which people sign in with a password or a recovery code, and change them.
// Whatever hashes runs on a share of the pool of its own. Constants; any Thread.
#pragma once

#include <span>
#include <string>

#include "hosts/route.h"
#include "hosts/web/sign_in_routes.h"

namespace turnpike::hosts::web {

std::span<const Route<WebRooms>> password_routes() noexcept;

// What the browser is known by to people who signed in with it; empty: by nothing.
std::string device_of(const WebRooms& rooms, const Turn& turn);
// The value of Set-Cookie for it.
std::string device_cookie(const WebRooms& rooms, std::string_view device);

}  // namespace turnpike::hosts::web
