// The pages and forms of passwords and recovery codes, which do without scripts what the JSON
// routes do. Constants; any Thread.
#pragma once

#include <span>

#include "hosts/route.h"
#include "hosts/web/sign_in_routes.h"

namespace turnpike::hosts::web {

std::span<const Route<WebRooms>> password_pages() noexcept;

}  // namespace turnpike::hosts::web
