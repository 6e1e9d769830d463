// The public halves of the signing keys of all nodes, in the store that they share: each node tells
// the others of its own. Plain functions over a Store; any fiber, any thread; they wait.
#pragma once

#include <vector>

#include <turnpike/store.h>

#include "x402/offers/keys.h"

namespace turnpike::x402 {

// Writes those of `ring` that the store does not have as they are.
Done publish_keys(const KeyRing& ring, Store& store, Call& call);

// Whether any node ever signed anything.
Result<bool> has_published_keys(Store& store, Call& call);

// Of all nodes, the newest first.
Result<std::vector<PublishedKey>> published_keys(Store& store, Call& call);

}  // namespace turnpike::x402
