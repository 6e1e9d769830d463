// Reads providers: one provider per file, with its upstreams and routes. A file may also add to a
// provider that another file defines.
//
// Internal to registry/. Used by one Thread at a time.
#pragma once

#include <span>

#include "registry/draft.h"
#include "registry/reader.h"

namespace turnpike::registry {

// Reads `provider:` if it is a map; run for all files before the rest.
void read_provider(const Cursor& root, Draft& draft);
// Reads `upstreams:`; run for all files before any routes. `plugins`: the loaded ones; empty: any.
void read_upstreams(const Cursor& root, std::span<const Source> sources,
                    std::span<const std::string> plugins, Draft& draft);
// Reads `defaults:` and `routes:`. `lane`: traits of the lane with terms, or empty ones.
void read_routes(const Cursor& root, std::span<const Source> sources, const LaneTraits& lane,
                 Draft& draft);

}  // namespace turnpike::registry
