// Prices: what operations cost in Credits, and by the terms of a lane.
//
// Internal to registry/. Used by one Thread at a time.
#pragma once

#include <span>

#include "registry/draft.h"
#include "registry/reader.h"

namespace turnpike::registry {

// The top-level section of one file. Terms of a lane are kept for it to read.
void read_prices(const Cursor& section, std::span<const Source> sources, Draft& draft);

}  // namespace turnpike::registry
