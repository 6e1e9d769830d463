// The lane's settings: `lanes.x402` in the deployment's configuration. The registry says what
// operations cost, and which networks and assets they may be paid in.
//
// Read once per bind(); plain values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <turnpike/helpers/mistakes.h>
#include <turnpike/settings.h>

#include "x402/offers/jws.h"
#include "x402/remote/chain.h"
#include "x402/remote/facilitator.h"

namespace turnpike::x402 {

struct LaneSettings {
  std::vector<FacilitatorSettings> facilitators;
  std::vector<ChainSettings> chains;
  std::uint32_t max_timeout_seconds = 300;      // how long a payer's signature is valid
  std::uint32_t max_validity_seconds = 86'400;  // how far ahead an accepted one may end
  std::uint32_t offer_window_seconds = 300;     // an offer is good for one to two of these
  Algorithm signing_algorithm = Algorithm::es256k;
  // `pay_to` addresses whose keys are lost: no payment to one of them is accepted or collected.
  std::vector<std::string> lost_addresses;

  [[nodiscard]] bool is_lost(std::string_view address) const noexcept;
};

// Notes every mistake with its place; the setting concerned then has its default. Where nothing is
// offered, there need be no facilitators.
LaneSettings read_settings(const Settings& settings, bool needs_facilitators, Mistakes& mistakes);

}  // namespace turnpike::x402
