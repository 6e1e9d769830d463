// Building the topology of a book, and dropping what the set of targets no longer has.
//
// A part of the Book; not thread-safe.
#pragma once

#include "status/book_state.h"

namespace turnpike::status {

// Keeps the looks of targets that are in both sets.
void build_topology(Book::State& state, const TargetSet& targets);

// The tracks of sentinels become those of the nodes that were alive.
void set_nodes(Book::State& state, const std::vector<std::string>& nodes);

}  // namespace turnpike::status
