// State: whether an operation is available now, as the upstream or the lane that serves it says.
// Plain values; safe on any Thread.
#pragma once

#include <cstdint>
#include <string_view>

namespace turnpike {

enum class Condition : std::uint8_t { ready, blocked, credential_missing, evidence_stale };

// Whether an operation is available now. `reason` is one sentence for the public catalog, valid as
// long as the object that was asked.
struct State {
  Condition condition = Condition::ready;
  std::string_view reason;
  std::uint32_t retry_after_seconds = 0;  // until the next try of a temporary state; 0: not known
};

}  // namespace turnpike
