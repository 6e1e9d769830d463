// The credits lane: an operation's Credits are held on the caller's account before the upstream is
// called, and charged in the same commit as the call's usage fact, or given back. A lane like any
// plugin's, but built in, since it stands on the ledger.
//
// Owned by app/; the ledger outlives it. Its bound lanes are used by all loop Threads at once.
#pragma once

#include <memory>

#include <turnpike/lane.h>

#include "ledger/ledger.h"

namespace turnpike::lanes {

class CreditsLane final : public Lane {
 public:
  explicit CreditsLane(ledger::Ledger& ledger) noexcept : ledger_(ledger) {}
  [[nodiscard]] LaneTraits traits() const noexcept override;
  // Refuses every setting: what a call costs is the registry's.
  Result<std::unique_ptr<BoundLane>> bind(const LaneBinding& binding, Host& host) override;

 private:
  ledger::Ledger& ledger_;
};

// The name of `outcome` in usage facts.
[[nodiscard]] std::string_view name_of(Outcome outcome) noexcept;

}  // namespace turnpike::lanes
