// Advice: what an operator should know of settings that are valid, and open payments that a change
// of the registry would otherwise hide: `check`, `reload` and the log say it.
//
// Plain functions, called by bind().
#pragma once

#include <memory>
#include <span>
#include <vector>

#include <turnpike/lane.h>

#include "x402/engine.h"
#include "x402/settings.h"
#include "x402/terms.h"

namespace turnpike::x402 {

// Of settings against what is offered; asks nobody. Failure: something that is offered would lose
// its payers' money.
Done advise(const LaneBinding& binding, const LaneSettings& settings,
            std::span<const std::shared_ptr<Terms>> terms);

// Of payments that nobody works on and whose outcome is open. Asks the store.
void advise_of_open_payments(const LaneBinding& binding, Engine& engine, Call& call);

}  // namespace turnpike::x402
