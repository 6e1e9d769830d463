// Charts as SVG that the server draws: rectangles with attributes alone, so the pages' policy,
// paper and browsers without script all take them. The figures of a chart stand in a table beside
// it. Pure functions; any Thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "site/templates.h"

namespace turnpike::hosts::dashboard {

// One span of time, or whatever else is counted: two parts, one on the other; neither is negative.
struct Bar {
  std::string label;
  std::int64_t good = 0;
  std::int64_t failed = 0;
};

// The bars in their order, with the label of the first and the last and the height of the highest.
// `description` says to those who do not see it what it shows. No bars: empty.
site::Markup bars(std::span<const Bar> bars, std::string_view description);

// How much of a limit is used. Whatever is above the limit is shown as all of it.
site::Markup meter(std::uint64_t used, std::uint64_t limit, std::string_view description);

}  // namespace turnpike::hosts::dashboard
