// The credits lane: an operation's Credits are held on the caller's account before the upstream is
// called, and charged in the same commit as the call's usage fact, or returned. A lane like any
// plugin's, but built in, since it uses the ledger. A call with an Idempotency-Key claims the key
// first: a repeat needs no units (ledger/replay.h).
//
// Owned by app/; ledger and replays outlive it. Its bound lanes are used by all loop Threads at
// once.
#pragma once

#include <cstdint>
#include <memory>

#include <turnpike/lane.h>

#include "base/limits.h"
#include "ledger/ledger.h"

namespace turnpike::lanes {

class CreditsLane final : public Lane {
 public:
  // A hold outlives its call by the maximum time of sending the reply.
  CreditsLane(ledger::Ledger& ledger, ledger::Replays& replays,
              std::int64_t transfer_ms_max = base::limits::transfer_ms_max) noexcept
      : ledger_(ledger), replays_(replays), transfer_ms_max_(transfer_ms_max) {}
  [[nodiscard]] LaneTraits traits() const noexcept override;
  // Refuses every setting: prices come from the registry.
  Result<std::unique_ptr<BoundLane>> bind(const LaneBinding& binding, Host& host) override;

 private:
  ledger::Ledger& ledger_;
  ledger::Replays& replays_;
  const std::int64_t transfer_ms_max_;
};

// The name of `outcome` in usage facts.
[[nodiscard]] std::string_view name_of(Outcome outcome) noexcept;

}  // namespace turnpike::lanes
