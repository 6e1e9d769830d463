// The x402 lane, for tests of its users: it reads the registry's terms, and its error codes are
// registered. Tests that include this header link turnpike_x402_lane. Any Thread.
#pragma once

#include <cstdlib>

#include "base/error.h"
#include "x402/lane.h"

namespace turnpike::support {

inline const Lane& x402_lane() {
  static x402::X402Lane lane;
  static const bool has_codes = base::add_lane_codes("x402", lane.traits().codes).ok();
  if (!has_codes) std::abort();
  return lane;
}

// Created at program start, as in a gateway that has loaded the lane.
inline const Lane& x402_lane_at_start = x402_lane();

// Finds an error code of the lane by its public name.
inline base::ErrorCode x402_code(std::string_view name) { return base::find_error(name)->code; }

}  // namespace turnpike::support
