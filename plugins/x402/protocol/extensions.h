// Checks the echo of a challenge's extensions (docs/protocols.md, "Matching a payment to its
// offer"). If a caller sends back an extension that we offered, it must contain our `info`: the
// caller may add members but not change ours. Immutable values; safe on any thread.
#pragma once

#include <span>
#include <string>

#include "x402/protocol/json.h"
#include "x402/protocol/payload.h"

namespace turnpike::x402 {

struct OfferedExtension {
  std::string name;
  JsonText info;
};

// Returns false if the payment is to be refused with extension_echo_mismatch. Ignores extensions
// that were not offered or not sent back.
bool echoes(const PaymentPayload& payload, std::span<const OfferedExtension> offered);

}  // namespace turnpike::x402
