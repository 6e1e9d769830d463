// Reads prices: the cost of operations in Credits, and the terms of lanes.
//
// Internal to registry/. Used by one Thread at a time.
#pragma once

#include <span>

#include "registry/draft.h"
#include "registry/reader.h"

namespace turnpike::registry {

// The top-level section of one file. Terms of a lane are kept for the lane to read.
void read_prices(const Cursor& section, std::span<const Source> sources, Draft& draft);

}  // namespace turnpike::registry
