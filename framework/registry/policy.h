// Declared policies at work: what is wrong with a query or a body under the policy that its route
// declares. Used before any money moves on routes with `enforcement: declared` and by nothing else;
// other routes forward what the caller sent. The cost is linear in the bytes given.
//
// Pure functions; safe on any Thread. Nothing is allocated while nothing is wrong and the query
// holds no escapes.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "registry/program.h"

namespace turnpike::registry {

// At most this many problems are reported for one request.
inline constexpr std::size_t policy_problems_max = 16;

// `query` is raw, without '?', and RFC 3986-valid. Values are compared percent-decoded, '+' is a
// blank; a parameter may be given once.
std::vector<base::FieldProblem> check_query(const QueryPolicy& policy, std::string_view query);

// The problem of one parameter's decoded value, or nothing; the location is "query.NAME".
std::optional<base::FieldProblem> check_parameter(const QueryParameter& parameter,
                                                  std::string_view value);

// The same for a path parameter; the location is "path.NAME".
std::optional<base::FieldProblem> check_segment(const Segment& segment, std::string_view value);

// `content_type` is the header's value, empty when there is none.
std::vector<base::FieldProblem> check_body(const BodyPolicy& policy, std::string_view content_type,
                                           std::size_t body_bytes);

// Whether a reply may be of this type; `content_type` is empty for one that names none.
bool is_allowed_type(const std::vector<std::string>& allowed, std::string_view content_type);

}  // namespace turnpike::registry
