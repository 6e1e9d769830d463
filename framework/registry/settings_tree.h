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
  std::string name;  // of the variable, or the file's path; a relative one is the YAML file's
  std::string file;  // where the reference stands
  int line = 0;
  int column = 0;
};

// The reference that `node` is, if it is one.
std::optional<SecretReference> secret_reference(const Settings& node);

// Why a secret is not there, as a sentence for the operator.
std::string why_missing(const SecretReference& reference);

// The value of a secret, or nothing when it is not available.
using SecretResolver = std::function<std::optional<std::string>(const SecretReference&)>;

// A copy of `settings` in which each reference is a scalar with is_secret set; its text is empty
// where the resolver has nothing.
Settings resolve_secrets(const Settings& settings, const SecretResolver& resolver);

// The node that a path such as "auth.headers[2]" names, or the nearest one above it that is there.
// Keys may hold dots.
const Settings& nearest_node(const Settings& root, std::string_view path);

// A YAML file that is no registry, such as the deployment's configuration, read by the same strict
// rules; an empty file is an empty map.
Result<Settings, std::vector<Problem>> parse_settings(const Source& source);

}  // namespace turnpike::registry
