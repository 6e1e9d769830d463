// The documents of the board, one function each. Pure functions of the facts; any Thread.
#pragma once

#include <cstdint>
#include <string>

#include "status/board_facts.h"

namespace turnpike::status {

BoardOrigin origin_of(const BoardFacts& facts);
BoardDocument status_document(const BoardFacts& facts);
BoardDocument gateway_document(const BoardFacts& facts);
// It has no stale form: what is stale has no authority. Empty: there is no round that has it.
BoardDocument authority_document(const BoardFacts& facts);
BoardDocument operation_document(const BoardFacts& facts, const registry::Route& route);
BoardDocument provider_document(const BoardFacts& facts, std::uint32_t provider);
BoardDocument badge_document(const BoardFacts& facts, std::uint32_t provider);

}  // namespace turnpike::status
