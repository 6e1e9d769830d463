// Charts as SVG made by the server: only rectangles with attributes, so that they work under the
// pages' policy, in print and without scripts. A table beside each chart has its figures. Pure
// functions; any Thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "site/templates.h"

namespace turnpike::hosts::dashboard {

// One bar, for a span of time or another category: two stacked parts; neither is negative.
struct Bar {
  std::string label;
  std::int64_t good = 0;
  std::int64_t failed = 0;
};

// Draws the bars in order, with the labels of the first and the last bar and the value of the
// highest one. `description`: for readers who cannot see the chart. Returns an empty Markup without
// bars.
site::Markup bars(std::span<const Bar> bars, std::string_view description);

// Draws the used part of a limit; more than the limit is drawn as the whole limit.
site::Markup meter(std::uint64_t used, std::uint64_t limit, std::string_view description);

}  // namespace turnpike::hosts::dashboard
