// The page on which a person decides what an OAuth client may do (docs/protocols.md, "OAuth"). It
// shows what is known of the client: its own statements, and the target of the answer. A grant
// needs a fresh proof of the person's identity. Constants; any Thread.
#pragma once

#include <span>

#include "hosts/route.h"
#include "hosts/web/sign_in_routes.h"

namespace turnpike::hosts::web {

std::span<const Route<WebRooms>> consent_routes() noexcept;

}  // namespace turnpike::hosts::web
