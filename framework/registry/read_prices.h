// Prices and x402: what operations cost, and in which assets they may be paid for per call.
//
// Internal to registry/. Used by one Thread at a time.
#pragma once

#include "registry/draft.h"
#include "registry/reader.h"

namespace turnpike::registry {

// The top-level sections of one file. All x402 sections are read before any price.
void read_x402(const Cursor& section, Draft& draft);
void read_prices(const Cursor& section, Draft& draft);

}  // namespace turnpike::registry
