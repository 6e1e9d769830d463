// Terms of a lane: the parts of the registry that stand under the name of a lane. They are gathered
// from all files, read by the lane in one go, and what it finds wrong is reported at its place.
//
// Internal to registry/. Used by one Thread at a time.
#pragma once

#include <cstdint>
#include <span>

#include <turnpike/lane.h>

#include "registry/draft.h"
#include "registry/reader.h"

namespace turnpike::registry {

void gather_section(const Cursor& root, std::span<const Source> sources, Draft& draft);
// `index` is that of the price in the draft, or no_node.
void gather_price(const Cursor& price, std::span<const Source> sources, std::uint32_t index,
                  Draft& draft);
void gather_policies(const Cursor& root, std::span<const Source> sources, Draft& draft);

// REQUIRES: everything is gathered, and draft.lane.word is the name of `lane`.
void read_lane_terms(const Lane& lane, Draft& draft, Problems& problems);

}  // namespace turnpike::registry
