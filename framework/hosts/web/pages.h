// The pages of the web host, and the forms on them, which do without a script what the JSON routes
// do. What a form changes is answered by a redirect to the page that shows it, but for what is
// shown once. Constants; any Thread.
#pragma once

#include <span>

#include <turnpike/result.h>

#include "base/error.h"
#include "hosts/route.h"
#include "hosts/web/sign_in_routes.h"

namespace turnpike::hosts::web {

std::span<const Route<WebRooms>> page_routes() noexcept;

// The form of refusals on pages.
RefusalBody as_site_page(const base::Error& error, std::string_view request_id);

// Whose session the cookie of a request is. auth.session_required, auth.session_ended,
// auth.unavailable.
Result<Caller, base::Error> find_caller(const WebRooms& rooms, const Presented& presented);

}  // namespace turnpike::hosts::web
