// The query of a fixed route or of a resource's URI: known names, each at most once,
// percent-decoded. Gateway routes do not use it: their queries are forwarded as they came. Pure
// functions; any Thread.
#pragma once

#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <turnpike/result.h>

#include "base/error.h"

namespace turnpike::hosts {

class FixedQuery {
 public:
  [[nodiscard]] std::optional<std::string> find(std::string_view name) const;
  void add(std::string name, std::string value) {
    fields_.emplace_back(std::move(name), std::move(value));
  }

 private:
  std::vector<std::pair<std::string, std::string>> fields_;
};

// `query` without its '?'. Errors: request.query_malformed, request.query_rejected (an unknown
// name, or one that comes twice).
Result<FixedQuery, base::Error> read_query(std::string_view query,
                                           std::span<const std::string_view> known);
inline Result<FixedQuery, base::Error> read_query(std::string_view query,
                                                  std::initializer_list<std::string_view> known) {
  return read_query(query, std::span(known.begin(), known.size()));
}

}  // namespace turnpike::hosts
