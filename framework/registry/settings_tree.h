// Settings with secrets: the registry keeps `{secret: {env: NAME}}` and `{secret: {file: PATH}}` as
// references, so that no value of a secret ever enters the Program, its canonical JSON or its hash.
// app/ replaces them just before it binds a plugin. Pure functions; safe on any Thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <turnpike/result.h>
#include <turnpike/settings.h>

#include "registry/compile.h"

namespace turnpike::registry {

struct SecretReference {
  enum class Origin : std::uint8_t { environment, file };
  Origin origin = Origin::environment;
  std::string name;  // of the variable, or the file's path, relative to the YAML file
  std::string file;  // file that contains the reference
  int line = 0;
  int column = 0;
};

// The reference that `node` holds; nullopt: it is none.
std::optional<SecretReference> secret_reference(const Settings& node);

// Explains to the operator, as a sentence, why a secret is missing.
std::string why_missing(const SecretReference& reference);

// Returns the value of a secret, or nullopt when it is not available.
using SecretResolver = std::function<std::optional<std::string>(const SecretReference&)>;

// Copies `settings`, with each reference replaced by a scalar with is_secret set; its text is empty
// if the resolver has no value.
Settings resolve_secrets(const Settings& settings, const SecretResolver& resolver);

// The node that a path such as "auth.headers[2]" names, or its nearest existing ancestor. Keys may
// contain dots.
const Settings& nearest_node(const Settings& root, std::string_view path);

// A YAML file that is not a registry, such as the deployment's configuration, read by the same
// strict rules; an empty file is an empty map.
Result<Settings, std::vector<Problem>> parse_settings(const Source& source);

}  // namespace turnpike::registry
