// The pages and JSON routes of mail: recovery, sign-up, verification of the address, and notices
// that people see on their page when they get no mail. An unauthenticated request for a mail gets
// the same answer whether or not the person exists. Constants; any Thread.
#pragma once

#include <span>

#include "hosts/route.h"
#include "hosts/web/sign_in_routes.h"

namespace turnpike::hosts::web {

std::span<const Route<WebRooms>> mail_routes() noexcept;

}  // namespace turnpike::hosts::web
