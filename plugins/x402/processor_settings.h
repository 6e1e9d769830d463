// The processor's settings: `processors.x402` of the deployment's configuration. Facilitators,
// chains and times are those of `lanes.x402` (settings.h); what is taken for Credits is what the
// registry's prices take, unless the operator says otherwise here.
//
// Read once per bind(); plain values.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <turnpike/helpers/mistakes.h>
#include <turnpike/settings.h>

#include "x402/premises.h"
#include "x402/settings.h"

namespace turnpike::x402 {

struct ProcessorSettings {
  std::string network = {};  // empty: any
  std::string asset = {};    // empty: USDC
  bool takes_test_money = false;
  // The asset with an address of the operator's; nothing: those of the registry's prices.
  std::optional<PricedAsset> own = {};
};

// Every mistake is noted with its place. `environment`: a test network's money is worth nothing, so
// it buys nothing in production.
ProcessorSettings read_processor_settings(const Settings& settings, const LaneSettings& lane,
                                          std::string_view environment, Mistakes& mistakes);

// What a purchase may be paid in: `of_prices` are the assets of the registry in service.
std::vector<PricedAsset> assets_for_sale(const ProcessorSettings& settings,
                                         const std::vector<PricedAsset>& of_prices);

}  // namespace turnpike::x402
