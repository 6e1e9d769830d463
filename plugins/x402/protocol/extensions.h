// Echo of a challenge's extensions (docs/protocols.md, "Matching a payment to its offer"): what a
// caller sends back of an extension that we offered must contain our `info`; it may add, never
// change. Immutable values; safe on any thread.
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

// False: refuse with extension_echo_mismatch. Extensions that were not offered, or not sent back,
// do not matter.
bool echoes(const PaymentPayload& payload, std::span<const OfferedExtension> offered);

}  // namespace turnpike::x402
