// The pages and JSON routes of what people do by mail: recovery, sign-up, the address that they
// prove, and what they are told on their page where no mail tells them. A stranger's request for a
// mail is answered alike, whoever exists. Constants; any Thread.
#pragma once

#include <span>

#include "hosts/route.h"
#include "hosts/web/sign_in_routes.h"

namespace turnpike::hosts::web {

std::span<const Route<WebRooms>> mail_routes() noexcept;

}  // namespace turnpike::hosts::web
