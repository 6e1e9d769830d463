// Advice: what an operator should know of settings that are valid, and open payments that a change
// of the registry would otherwise hide: `check`, `reload` and the log say it. And what makes an
// offer refused that each setting for itself allows.
//
// Plain functions, called by bind().
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include <turnpike/lane.h>

#include "x402/engine.h"
#include "x402/settings.h"
#include "x402/terms.h"

namespace turnpike::x402 {

// What is offered, but would lose its payers' money or cannot be offered from here.
void check_offers(const LaneBinding& binding, const LaneSettings& settings,
                  std::span<const std::shared_ptr<Terms>> terms, Mistakes& mistakes);

// Of settings, without mistakes, against what is offered; asks nobody.
void advise(const LaneBinding& binding, const LaneSettings& settings,
            std::span<const std::shared_ptr<Terms>> terms);

// A host that stands for every address of the machine: nobody can be sent there.
bool is_unspecified(std::string_view origin) noexcept;

// Of payments that nobody works on and whose outcome is open. Asks the store.
void advise_of_open_payments(const LaneBinding& binding, Engine& engine, Call& call);

}  // namespace turnpike::x402
