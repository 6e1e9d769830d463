// The ErrorEnvelope: the JSON body of the gateway's own errors, on every host. Written into one
// string, without a JSON tree, since refusals are on the path of every call. Pure functions; any
// Thread.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"

namespace turnpike::base {

// {"error": {"code", "message", "request_id", "fault", "retry": {...}, "fields"?}}
void append_envelope(std::string& out, const Error& error, std::string_view request_id);

}  // namespace turnpike::base
