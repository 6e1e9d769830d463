// Where this checkout and its build lie. Only the object of paths.cpp knows absolute paths, so that
// checkouts share all others in a compiler cache. Any Thread.
#pragma once

#include <string>
#include <string_view>

namespace turnpike::support {

// `below`: such as "registry/README.md".
std::string source_path(std::string_view below);
std::string build_path(std::string_view below);

}  // namespace turnpike::support
