// The pages of the web host, and their forms, which do without scripts what the JSON routes do. A
// form redirects to the page that shows its change, except for values that are shown only once.
// Constants; any Thread.
#pragma once

#include <span>

#include "hosts/route.h"
#include "hosts/web/sign_in_routes.h"

namespace turnpike::hosts::web {

std::span<const Route<WebRooms>> page_routes() noexcept;

}  // namespace turnpike::hosts::web
