// Which release this program is and which commit it was built from. Only the object of version.cpp
// knows the commit, so that a new one compiles nothing else again. Any Thread.
#pragma once

#include <string_view>

namespace turnpike::app {

extern const std::string_view program_version;  // "0.1.0"
extern const std::string_view program_commit;   // "unknown" outside of a checkout

}  // namespace turnpike::app
