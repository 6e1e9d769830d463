// Reads `reply_schemas:`: named JSON Schemas (2020-12) of operations' replies. A schema refers to
// another by `$ref: "#/$defs/NAME"`; the published schema of an operation includes all that it
// refers to. Schemas are documentation: calls are not checked against them.
//
// Internal to registry/. Used by one Thread at a time.
#pragma once

#include <memory>
#include <string>

#include <nlohmann/json.hpp>

#include "registry/draft.h"
#include "registry/reader.h"

namespace turnpike::registry {

// `value` as JSON: plain text that JSON reads as a number or a boolean becomes one, as everywhere
// in the language.
nlohmann::json json_of(const Cursor& value);

// The top-level section of one file.
void read_reply_schemas(const Cursor& section, Draft& draft);

// Call after all sections are read: reports references to missing schemas.
void check_reply_schemas(Draft& draft, Problems& problems);

// The schema that `reply_schema:` or `error_schema:` of a route names; null after a reported
// problem.
std::shared_ptr<const ReplySchema> resolve_reply_schema(const Cursor& value, Draft& draft);

}  // namespace turnpike::registry
