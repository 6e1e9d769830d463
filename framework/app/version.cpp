#include "app/version.h"

namespace turnpike::app {

constinit const std::string_view program_version = TURNPIKE_VERSION;
constinit const std::string_view program_commit = TURNPIKE_BUILD;

}  // namespace turnpike::app
