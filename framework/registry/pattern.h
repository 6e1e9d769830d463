// Pattern: compiles a path of the language, "/v1/gateway/x/daos/{dao_id}", into a Matcher. Literals
// are decoded and encoded again in one normal form, so that equal patterns are equal text.
//
// Internal to registry/. Pure except for the problems that it reports at its Cursor.
#pragma once

#include <optional>
#include <string_view>

#include "registry/program.h"
#include "registry/reader.h"

namespace turnpike::registry {

// The prefix of everything that the registry serves (docs/interface.md, "Gateway routes").
inline constexpr std::string_view gateway_prefix = "/v1/gateway/";

// nullopt, and a problem at `where`, when `path` is not a valid pattern.
std::optional<Matcher> read_pattern(std::string_view path, const Cursor& where);

}  // namespace turnpike::registry
