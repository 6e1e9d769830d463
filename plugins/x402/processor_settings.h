// The processor's settings: `processors.x402` in the deployment's configuration. Facilitators,
// chains and times come from `lanes.x402` (settings.h). Credits are sold for the assets that the
// registry's prices ask for, unless the operator says otherwise here.
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
  // The asset with an address of the operator's; nullopt: the assets of the registry's prices.
  std::optional<PricedAsset> own = {};
};

// Notes every mistake with its place. `environment`: in production a test network's money, which is
// worthless, buys nothing.
ProcessorSettings read_processor_settings(const Settings& settings, const LaneSettings& lane,
                                          std::string_view environment, Mistakes& mistakes);

// Returns what a purchase may be paid in; `of_prices` are the assets of the registry in service.
std::vector<PricedAsset> assets_for_sale(const ProcessorSettings& settings,
                                         const std::vector<PricedAsset>& of_prices);

}  // namespace turnpike::x402
