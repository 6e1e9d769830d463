// The query of a fixed route or of a resource's URI: known names, each at most once,
// percent-decoded. Gateway routes do not use this: their queries are forwarded unchanged. Pure
// functions; any Thread.
#pragma once

#include <initializer_list>
#include <span>
#include <string_view>

#include <turnpike/result.h>

#include "base/error.h"
#include "hosts/named_values.h"

namespace turnpike::hosts {

// `query` has no '?'. Errors: request.query_malformed, request.query_rejected (an unknown or
// repeated name).
Result<NamedValues, base::Error> read_query(std::string_view query,
                                            std::span<const std::string_view> known);
inline Result<NamedValues, base::Error> read_query(std::string_view query,
                                                   std::initializer_list<std::string_view> known) {
  return read_query(query, std::span(known.begin(), known.size()));
}

}  // namespace turnpike::hosts
