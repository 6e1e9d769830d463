// Reads the terms under `x402` in the registry (registry/README.md): networks and assets in a
// section of their own, what a call costs in them within prices, and the policy of calls. Used when
// a registry is compiled, before there is any bound lane.
//
// A pure function; safe on any Thread.
#pragma once

#include <turnpike/lane.h>

namespace turnpike::x402 {

ReadTerms read_registry_terms(const RegistryParts& parts);

}  // namespace turnpike::x402
