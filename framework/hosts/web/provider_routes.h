// The routes of the web host by which people sign in with an identity of an external provider,
// re-authenticate with it, link it and unlink it. The way to the provider begins at a page of this
// host, and the callback accepts the answer only in the browser where it began. Constants; any
// Thread.
#pragma once

#include <span>

#include "hosts/route.h"
#include "hosts/web/sign_in_routes.h"

namespace turnpike::hosts::web {

std::span<const Route<WebRooms>> provider_routes() noexcept;

}  // namespace turnpike::hosts::web
