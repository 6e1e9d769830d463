#include "registry/read_prices.h"

#include <limits>
#include <string>
#include <utility>

#include "registry/read_lane_terms.h"

namespace turnpike::registry {
namespace {

constexpr std::int64_t version_max = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t credit_cost_max = 1'000'000'000;

Price read_price(const Cursor& field, std::string_view lane) {
  Price price;
  if (!field.map_of({"version", "credit_cost", "no_charge_when"}, lane)) return price;
  if (const auto version = field.need("version", "a number to raise at every change of terms")) {
    price.version = static_cast<std::uint32_t>(version->integer({1, version_max}).value_or(0));
  }
  if (const auto cost = field.need("credit_cost", "whole Credits for one call")) {
    price.credit_cost = static_cast<std::uint32_t>(cost->integer({1, credit_cost_max}).value_or(0));
  }
  if (const auto conditions = field.find("no_charge_when")) {
    price.no_charge_when = read_no_charge(*conditions);
  }
  return price;
}

}  // namespace

void read_prices(const Cursor& section, std::span<const Source> sources, Draft& draft) {
  if (!section.expect(NodeKind::map, "a map from names to prices")) return;
  for (const Cursor& field : section.fields()) {
    auto name = field.key_name();
    if (name && *name == "unavailable") {
      field.report_key(Rule::bad_name, {*name, "a name other than `unavailable`"});
      continue;
    }
    Price price = read_price(field, draft.lane.word);
    bool is_new = false;
    if (name) {
      price.policy_key = *name;
      is_new = draft.prices.add(std::move(*name), std::move(price), "price policy", field);
    }
    const auto added = static_cast<std::uint32_t>(draft.prices.entries().size() - 1);
    gather_price(field, sources, is_new ? added : no_node, draft);
  }
}

}  // namespace turnpike::registry
