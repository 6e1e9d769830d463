// Paths of this checkout and its build. Only paths.cpp is compiled with absolute paths, so
// checkouts share all other objects in a compiler cache. Any Thread.
#pragma once

#include <string>
#include <string_view>

namespace turnpike::support {

// `below` is relative, e.g. "registry/README.md".
std::string source_path(std::string_view below);
std::string build_path(std::string_view below);

}  // namespace turnpike::support
