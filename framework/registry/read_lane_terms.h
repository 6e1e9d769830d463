// Terms of a lane: the parts of the registry under the lane's name. They are gathered from all
// files and read by the lane in one step; its mistakes are reported at their places.
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
// `index`: the price in the draft, or no_node.
void gather_price(const Cursor& price, std::span<const Source> sources, std::uint32_t index,
                  Draft& draft);
void gather_policies(const Cursor& root, std::span<const Source> sources, Draft& draft);

// REQUIRES: all parts are gathered, and draft.lane.word is the name of `lane`.
void read_lane_terms(const Lane& lane, Draft& draft, Problems& problems);

}  // namespace turnpike::registry
