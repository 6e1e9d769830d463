// GET /meta/pricing: the prices of the routes that the registry bound to this provider, under the
// names of v1.
#include <algorithm>
#include <array>

#include "govdata/serve/routes.h"
#include "govdata/store/decimal.h"

namespace turnpike::govdata {
namespace {

struct PriceEntry {
  std::string_view key;
  Operation operation;
  std::string_view tier;
};

// The two classes of v1. Brief, evidence and single items are in the more expensive one.
constexpr std::array<PriceEntry, operation_count> entries = {{
    {"daos", Operation::daos, "standard"},
    {"activity", Operation::activity, "standard"},
    {"governanceEvents", Operation::events, "standard"},
    {"governanceSignals", Operation::signals, "standard"},
    {"proposalLookup", Operation::lookup, "standard"},
    {"freshness", Operation::freshness, "standard"},
    {"brief", Operation::brief, "plus"},
    {"evidence", Operation::evidence, "plus"},
    {"item", Operation::item, "plus"},
    {"pricing", Operation::pricing, "standard"},
}};

constexpr int usdc_decimals = 6;

Json entry_of(const PriceEntry& entry, const PricedRoute* route) {
  const bool priced = route != nullptr && route->credit_cost > 0;
  const bool x402 = priced && !route->x402_atomic_amount.empty();
  return {
      {"routeId", route != nullptr ? Json(route->route_id) : Json(nullptr)},
      {"method", route != nullptr ? route->method : "GET"},
      {"path", route != nullptr ? Json(route->path) : Json(nullptr)},
      {"tier", entry.tier},
      {"paid", true},
      {"price", x402 ? Json(scaled_down(route->x402_atomic_amount, usdc_decimals)) : Json(nullptr)},
      {"creditCost", priced ? Json(route->credit_cost) : Json(nullptr)},
      {"x402AtomicAmount", x402 ? Json(route->x402_atomic_amount) : Json(nullptr)},
      {"pricingStatus", priced ? "priced" : "pricing_unavailable"},
  };
}

}  // namespace

Json pricing_of(const ServiceOptions& options) {
  Json all = Json::object();
  for (const PriceEntry& entry : entries) {
    const auto route =
        std::find_if(options.routes.begin(), options.routes.end(),
                     [&](const PricedRoute& bound) { return bound.operation == entry.operation; });
    all[std::string(entry.key)] =
        entry_of(entry, route == options.routes.end() ? nullptr : &*route);
  }
  return {{"token", "USDC"},
          {"network", options.pricing_network},
          {"decimals", usdc_decimals},
          {"currency", "USD"},
          {"entries", all}};
}

}  // namespace turnpike::govdata
