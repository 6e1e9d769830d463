// The page on which a person decides what an OAuth client may do (docs/protocols.md, "OAuth"). It
// says what is known of the client, which is what the client said of itself and where its answer
// goes; nothing is granted without a fresh proof of who the person is. Constants; any Thread.
#pragma once

#include <span>

#include "hosts/route.h"
#include "hosts/web/sign_in_routes.h"

namespace turnpike::hosts::web {

std::span<const Route<WebRooms>> consent_routes() noexcept;

}  // namespace turnpike::hosts::web
