// The public halves of all nodes' signing keys, in the store that the nodes share. Each node
// publishes its own keys to the others there. Plain functions over a Store; any fiber, any thread;
// they wait.
#pragma once

#include <vector>

#include <turnpike/store.h>

#include "x402/offers/keys.h"

namespace turnpike::x402 {

// Writes the keys of `ring` that the store lacks or holds in another state.
Done publish_keys(const KeyRing& ring, Store& store, Call& call);

// Whether any node has ever published a key.
Result<bool> has_published_keys(Store& store, Call& call);

// The keys of all nodes, newest first.
Result<std::vector<PublishedKey>> published_keys(Store& store, Call& call);

}  // namespace turnpike::x402
