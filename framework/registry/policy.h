// Checks a query or a body against the policy that its route declares. Used only on routes with
// `enforcement: declared`, before any money moves; other routes forward what the caller sent. The
// cost is linear in the input.
//
// Pure functions; safe on any Thread. A valid input without escapes causes no allocation.
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

// `query` is raw, without '?', and valid by RFC 3986. Values are compared percent-decoded, with '+'
// as a blank; a parameter may occur once.
std::vector<base::FieldProblem> check_query(const QueryPolicy& policy, std::string_view query);

// The problem of one parameter's decoded value, or nullopt; the location is "query.NAME".
std::optional<base::FieldProblem> check_parameter(const QueryParameter& parameter,
                                                  std::string_view value);

// As check_parameter(), for a path parameter; the location is "path.NAME".
std::optional<base::FieldProblem> check_segment(const Segment& segment, std::string_view value);

// `content_type` is the header's value, empty when absent.
std::vector<base::FieldProblem> check_body(const BodyPolicy& policy, std::string_view content_type,
                                           std::size_t body_bytes);

// True if a reply may have this type; `content_type` is empty for a reply without one.
bool is_allowed_type(const std::vector<std::string>& allowed, std::string_view content_type);

}  // namespace turnpike::registry
