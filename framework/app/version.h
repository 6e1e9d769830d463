// The release of this program and the commit it was built from. Only the object of version.cpp
// depends on the commit, so that a new commit recompiles nothing else. Any Thread.
#pragma once

#include <string_view>

namespace turnpike::app {

extern const std::string_view program_version;  // "0.1.0"
extern const std::string_view program_commit;   // "unknown" outside of a checkout

}  // namespace turnpike::app
