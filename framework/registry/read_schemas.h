// Schemas of the language: `reply_schemas:`, JSON Schemas (2020-12) of what operations answer, by
// name. One refers to another by `$ref: "#/$defs/NAME"`; what is published of an operation carries
// all that it refers to. They describe: nothing is checked against them when a call runs.
//
// Internal to registry/. Used by one Thread at a time.
#pragma once

#include <memory>
#include <string>

#include <nlohmann/json.hpp>

#include "registry/draft.h"
#include "registry/reader.h"

namespace turnpike::registry {

// `value` as JSON: plain text that JSON reads as a number or a truth value is one, as everywhere in
// the language.
nlohmann::json json_of(const Cursor& value);

// The top-level section of one file.
void read_reply_schemas(const Cursor& section, Draft& draft);

// Once all sections are read: reports references to schemas that are not there.
void check_reply_schemas(Draft& draft, Problems& problems);

// The schema that `reply_schema:` or `error_schema:` of a route names; null after a report.
std::shared_ptr<const ReplySchema> resolve_reply_schema(const Cursor& value, Draft& draft);

}  // namespace turnpike::registry
