// The pages of the web host, and the forms on them, which do without a script what the JSON routes
// do. What a form changes is answered by a redirect to the page that shows it, but for what is
// shown once. Constants; any Thread.
#pragma once

#include <span>

#include "hosts/route.h"
#include "hosts/web/sign_in_routes.h"

namespace turnpike::hosts::web {

std::span<const Route<WebRooms>> page_routes() noexcept;

}  // namespace turnpike::hosts::web
