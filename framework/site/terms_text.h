// The terms of calls as text: prices, free variants, conditions without a charge, and freshness, as
// Markdown for tables and sentences. Pure functions but for the Slots; any Thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "registry/program.h"
#include "site/templates.h"
#include "text/words.h"

namespace turnpike::site {

using text::credits_text;
using text::grouped;

// Returns "1 Credit", "1 to 3 Credits".
std::string credits_text(std::uint32_t cheapest, std::uint32_t dearest);

// Sets a number of Credits: NAME is the number, NAME_UNIT the unit's word.
void set_credits(Slots slots, std::string_view name, std::int64_t credits);

// Returns "60 s", "15 min", "2 h", "7 days": the largest unit that divides the duration.
std::string duration_text(std::uint64_t seconds);

// Returns "60 requests in 60 s, 4 at once; 1,000 in 1 day; 100,000 in all".
std::string free_text(const registry::FreePolicy& policy);

// Returns "the reply has no body; null or an empty list is at /data/items"; empty: no condition is
// declared.
std::string no_charge_text(const registry::NoCharges& conditions);

// Returns text in a code span, or escaped where a code span in a table cannot hold it.
std::string code_text(std::string_view text);

}  // namespace turnpike::site
