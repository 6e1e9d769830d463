// Policies of the language: query, body, response and free policies, as named definitions or inside
// a route. Each reader returns nothing after it has reported the problem.
//
// Internal to registry/. Used by one Thread at a time.
#pragma once

#include <memory>
#include <optional>

#include <turnpike/settings.h>

#include "registry/draft.h"
#include "registry/reader.h"

namespace turnpike::registry {

// The top-level sections of one file.
void read_query_policies(const Cursor& section, Draft& draft);
void read_response_policies(const Cursor& section, Draft& draft);
void read_free_policies(const Cursor& section, Draft& draft);

// `path_parameters:` of a route: the types of its path parameters.
void read_path_parameters(const Cursor& value, Matcher& matcher);
// `query:` of a route: `deny`, the name of a query policy, or a policy.
std::shared_ptr<const QueryPolicy> read_query(const Cursor& value, Draft& draft);
// `body:` of a route: `forbidden`, or a policy.
std::shared_ptr<const BodyPolicy> read_body(const Cursor& value, Draft& draft);
// `response:` of a route: the name of a response policy, or a policy.
std::shared_ptr<const ResponsePolicy> read_response(const Cursor& value, Draft& draft);

// `settings:` of an upstream or `upstream_settings:` of a route: any tree.
std::optional<Settings> read_settings(const Cursor& value, std::span<const Source> sources);
// Reads any value in the same way without the rules on numbers, for callers with stricter rules.
Settings read_plain(const Cursor& value, std::span<const Source> sources);

}  // namespace turnpike::registry
