// PageRequest: the validated form of a request for a page of the capability list. The hosts pass
// the texts they received (HTTP query, MCP arguments); one set of rules here applies to all.
// Values; safe on any Thread.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include <turnpike/message.h>
#include <turnpike/result.h>

#include "base/error.h"

namespace turnpike::catalog {

// The parameters as received, percent-decoded; absent ones are nullopt.
struct PageParameters {
  std::optional<std::string> limit = {};
  std::optional<std::string> cursor = {};
  std::optional<std::string> provider_key = {};
  std::optional<std::string> method = {};
  std::optional<std::string> q = {};
};

struct PageRequest {
  std::uint32_t limit = 50;
  std::string cursor = {};        // empty: the first page
  std::string provider_key = {};  // empty: any
  std::optional<Method> method = {};
  // Lower-case words separated by single blanks; each must occur in the path, the summary, or the
  // key or name of the provider. Empty: any.
  std::string search = {};

  // Options that the host sets.
  bool shows_payments = false;  // entries include the terms of payment per call
  // Bound on the page's text: the page may end before `limit`, with a cursor, but has at least one
  // entry.
  std::size_t bytes_max = std::numeric_limits<std::size_t>::max();
};

inline constexpr std::uint32_t page_limit_max = 1000;
inline constexpr std::uint32_t provider_key_bytes_max = 128;
inline constexpr std::uint32_t search_bytes_max = 200;
inline constexpr std::uint32_t search_words_max = 8;

// Errors: catalog.limit_invalid, catalog.filter_invalid, catalog.cursor_invalid.
Result<PageRequest, base::Error> read_page_request(const PageParameters& parameters);

}  // namespace turnpike::catalog
