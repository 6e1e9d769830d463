// Cursors of the capability list: the end of a page, bound to the generation, the projection and
// the filter of the request, and signed against forgery. Version 5 is emitted; versions 3 (no
// projection) and 4 (no filter digest) are still read, with their narrower binding.
//
// Pure functions of their arguments; safe on any Thread.
#pragma once

#include <string>
#include <string_view>

#include <turnpike/result.h>

#include "base/error.h"

namespace turnpike::catalog {

inline constexpr std::string_view public_projection = "public.v5";

// The values that a cursor is bound to. `filter` is filter_digest() of the request.
struct CursorBinding {
  std::string_view generation;
  std::string_view projection;
  std::string_view filter;
};

// Digest of the filters of a list request; an absent filter is empty.
std::string filter_digest(std::string_view provider_key, std::string_view method,
                          std::string_view search = {});

// `key`: the secret that all nodes share; `after`: the last capability id of the page.
std::string make_cursor(const CursorBinding& binding, std::string_view after, std::string_view key);

// Returns the capability id to continue after. Errors: catalog.cursor_invalid (not ours, altered,
// or for another filter), catalog.cursor_stale (another generation or projection: restart paging).
Result<std::string, base::Error> read_cursor(std::string_view cursor, const CursorBinding& binding,
                                             std::string_view key);

}  // namespace turnpike::catalog
