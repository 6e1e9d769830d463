// Builds the topology of a book, and drops the state of targets that left the set.
//
// Part of the Book; not thread-safe.
#pragma once

#include "status/book_state.h"

namespace turnpike::status {

// Keeps the looks of targets that are in both sets.
void build_topology(Book::State& state, const TargetSet& targets);

// Keeps exactly one track per alive node for each sentinel.
void set_nodes(Book::State& state, const std::vector<std::string>& nodes);

}  // namespace turnpike::status
