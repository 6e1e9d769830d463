// Providers: a provider with its upstreams and routes, one a file. A file may also continue a
// provider that another file defines.
//
// Internal to registry/. Used by one Thread at a time.
#pragma once

#include <span>

#include "registry/draft.h"
#include "registry/reader.h"

namespace turnpike::registry {

// `provider:` where it is a map; run for all files before the rest.
void read_provider(const Cursor& root, Draft& draft);
// `upstreams:`; run for all files before any routes. `plugins` are those loaded; empty: any.
void read_upstreams(const Cursor& root, std::span<const Source> sources,
                    std::span<const std::string> plugins, Draft& draft);
// `defaults:` and `routes:`. `lane` is the lane with terms, or none.
void read_routes(const Cursor& root, std::span<const Source> sources, const LaneTraits& lane,
                 Draft& draft);

}  // namespace turnpike::registry
