// The documents of the board, one function each. Pure functions of the facts; any Thread.
#pragma once

#include <cstdint>
#include <string>

#include "status/board_facts.h"

namespace turnpike::status {

BoardOrigin origin_of(const BoardFacts& facts);
BoardDocument status_document(const BoardFacts& facts);
BoardDocument gateway_document(const BoardFacts& facts);
// There is no stale form, since a stale document has no authority. Empty: no round covers it.
BoardDocument authority_document(const BoardFacts& facts);
BoardDocument operation_document(const BoardFacts& facts, const registry::Route& route);
BoardDocument provider_document(const BoardFacts& facts, std::uint32_t provider);
BoardDocument badge_document(const BoardFacts& facts, std::uint32_t provider);

}  // namespace turnpike::status
