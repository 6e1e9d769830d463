// The free lane: `<path>:free` with the caller's API key. Nothing is charged, held, recorded or
// replayed; the limits of the operation's bucket bound the requests of an account. A lane like any
// plugin's, but built in, since it uses the quota store.
//
// A permit is held from the admission until the upstream's part has ended, whatever its outcome. A
// caller that has a complete reply may therefore always begin its next call.
//
// Owned by app/; the store outlives it. Its bound lanes are used by all loop Threads at once.
#pragma once

#include <memory>

#include <turnpike/lane.h>

#include "quota/store.h"

namespace turnpike::lanes {

class FreeLane final : public Lane {
 public:
  explicit FreeLane(quota::QuotaStore& store) noexcept : store_(store) {}
  [[nodiscard]] LaneTraits traits() const noexcept override;
  // Refuses every setting: free variants come from the registry.
  Result<std::unique_ptr<BoundLane>> bind(const LaneBinding& binding, Host& host) override;

 private:
  quota::QuotaStore& store_;
};

}  // namespace turnpike::lanes
