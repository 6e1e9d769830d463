// refusal_of(): converts an error of a lower layer to a lane's refusal. Private to lanes/; any
// Thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <turnpike/lane.h>

#include "base/error.h"

namespace turnpike::lanes {

inline Refusal refusal_of(base::ErrorCode code, std::string_view message,
                          std::uint32_t retry_after_seconds) {
  return {
      std::string(base::info_of(code).name), std::string(message), retry_after_seconds, {}, {}, {}};
}

inline Refusal refusal_of(const base::Error& error) {
  return refusal_of(error.code, error.message, error.retry_after_seconds);
}

}  // namespace turnpike::lanes
