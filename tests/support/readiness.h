// EverythingReady: a catalog's view in which each operation can be called. Any Thread.
#pragma once

#include <cstdint>

#include "catalog/readiness.h"

namespace turnpike::support {

class EverythingReady final : public catalog::ReadinessSource {
 public:
  [[nodiscard]] State state(std::uint32_t) const noexcept override { return {}; }
};

}  // namespace turnpike::support
