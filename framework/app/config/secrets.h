// Reads the values of secrets from the process's environment or from files. Any plain Thread.
#pragma once

#include <optional>
#include <string>

#include "registry/settings_tree.h"

namespace turnpike::app {

// Nothing: the secret is missing or empty. One final newline of a file is removed.
std::optional<std::string> read_secret(const registry::SecretReference& reference);

}  // namespace turnpike::app
