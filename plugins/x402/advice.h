// Advice: notes for the operator about settings that are valid but risky, and about open payments
// that a change of the registry would otherwise hide. `check`, `reload` and the log show them. Also
// refuses offers that cannot stand although each setting by itself is allowed.
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

// Notes a mistake for offers that would lose money or cannot be made from here.
void check_offers(const LaneBinding& binding, const LaneSettings& settings,
                  std::span<const std::shared_ptr<Terms>> terms, Mistakes& mistakes);

// Adds notes about settings without mistakes, compared with what is offered. Makes no requests.
void advise(const LaneBinding& binding, const LaneSettings& settings,
            std::span<const std::shared_ptr<Terms>> terms);

// True for a host that stands for all addresses of the machine: no client can be sent there.
bool is_unspecified(std::string_view origin) noexcept;

// Adds notes about open payments that nobody works on or whose operation is not offered any more.
// Asks the store.
void advise_of_open_payments(const LaneBinding& binding, Engine& engine, Call& call);

}  // namespace turnpike::x402
