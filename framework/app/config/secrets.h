// Where the values of secrets come from: the process's environment, or files. Any plain Thread.
#pragma once

#include <optional>
#include <string>

#include "registry/settings_tree.h"

namespace turnpike::app {

// Nothing: it is not there, or empty. One final newline of a file is not part of it.
std::optional<std::string> read_secret(const registry::SecretReference& reference);

}  // namespace turnpike::app
