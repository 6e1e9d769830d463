// Terms in words: what calls cost, what is free, when nothing is charged and how fresh the data is,
// as Markdown for tables and sentences. Pure functions but for the Slots; any Thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/words.h"
#include "registry/program.h"
#include "site/templates.h"

namespace turnpike::site {

using base::credits_text;
using base::grouped;

// "1 Credit", "1 to 3 Credits".
std::string credits_text(std::uint32_t cheapest, std::uint32_t dearest);

// Fills a figure of Credits: NAME is the number, NAME_UNIT the word that stands beside it.
void set_credits(Slots slots, std::string_view name, std::int64_t credits);

// "60 s", "15 min", "2 h", "7 days": the largest unit that it is a whole number of.
std::string duration_text(std::uint64_t seconds);

// "60 requests in 60 s, 4 at once; 1,000 in 1 day; 100,000 in all".
std::string free_text(const registry::FreePolicy& policy);

// "the reply has no body; null or an empty list is at /data/items"; empty: none is declared.
std::string no_charge_text(const registry::NoCharges& conditions);

// Text in a code span, or escaped where a code span in a table cannot hold it.
std::string code_text(std::string_view text);

}  // namespace turnpike::site
