#include "x402/processor_settings.h"

#include <algorithm>
#include <utility>

#include "x402/protocol/encoding.h"
#include "x402/protocol/requirements.h"

namespace turnpike::x402 {
namespace {

constexpr std::string_view default_network = "eip155:8453";
constexpr std::uint32_t cent_decimals = 2;
constexpr std::uint32_t decimals_max = 36;

std::string text_of(const Settings& settings, std::string_view key, Mistakes& mistakes) {
  return mistakes.take(settings.string(key, ""));
}

// Returns the USDC that clients know on `network`; null if there is none.
const KnownAsset* usdc_on(std::string_view network) noexcept {
  const auto all = known_assets();
  const auto found = std::find_if(all.begin(), all.end(), [network](const KnownAsset& known) {
    return known.network == network;
  });
  return found == all.end() ? nullptr : &*found;
}

bool is_same_token(std::string_view left, std::string_view right) {
  if (left == right) return true;
  const auto one = parse_address(left), other = parse_address(right);
  return one && other && *one == *other;
}

void check_address(const PricedAsset& own, const LaneSettings& lane, Mistakes& mistakes) {
  if (is_solana(own.network)) {
    constexpr std::size_t key_bytes = 32;
    const auto bytes = base58_decode(own.pay_to, key_bytes);
    if (!bytes || bytes->size() != key_bytes) mistakes.add("pay_to", "is no address of Solana");
    return;
  }
  const auto pay_to = parse_address(own.pay_to), asset = parse_address(own.address);
  if (!asset) {
    mistakes.add("asset", "is no address, or its checksum (EIP-55) is wrong: copy it again");
  }
  if (!pay_to) {
    mistakes.add("pay_to", "is no address, or its checksum (EIP-55) is wrong: copy it again");
  } else if (*pay_to == Address{} || pay_to == asset) {
    mistakes.add("pay_to", "is an address whose money is lost; write one whose key is yours");
  } else if (lane.is_lost(own.pay_to)) {
    mistakes.add("pay_to", "is among `lost_addresses` of lanes.x402");
  }
}

PricedAsset read_own(const Settings& settings, const ProcessorSettings& read,
                     const LaneSettings& lane, Mistakes& mistakes) {
  PricedAsset own;
  own.network = read.network.empty() ? std::string(default_network) : read.network;
  own.pay_to = text_of(settings, "pay_to", mistakes);
  own.address = read.asset;
  const KnownAsset* known = read.asset.empty() ? usdc_on(own.network)
                                               : known_asset(own.network, read.asset);
  if (known != nullptr) {
    own.address = known->address;
    own.name = known->domain.name;
    own.version = known->domain.version;
    own.decimals = known->decimals;
    for (const std::string_view key : {"name", "version", "decimals"}) {
      if (settings.find(key) != nullptr) mistakes.add(key, "is known of this asset: leave it out");
    }
  } else if (read.asset.empty()) {
    mistakes.add("asset", "no USDC is known on " + own.network + ": write the token's address");
    return own;
  } else {
    own.name = text_of(settings, "name", mistakes);
    own.version = text_of(settings, "version", mistakes);
    mistakes.note(read_number(settings, "decimals", own.decimals, cent_decimals, decimals_max));
    const bool needs_domain = !is_solana(own.network) && (own.name.empty() || own.version.empty());
    if (needs_domain) mistakes.add("name", "name and version of the token's EIP-712 domain");
    if (settings.find("decimals") == nullptr) mistakes.add("decimals", "is needed of this asset");
  }
  check_address(own, lane, mistakes);
  return own;
}

}  // namespace

ProcessorSettings read_processor_settings(const Settings& settings, const LaneSettings& lane,
                                          std::string_view environment, Mistakes& mistakes) {
  ProcessorSettings read;
  mistakes.only(settings, {"network", "asset", "pay_to", "name", "version", "decimals"});
  read.takes_test_money = environment != "production";
  if (!may_have_fields(settings)) return read;
  read.network = text_of(settings, "network", mistakes);
  read.asset = text_of(settings, "asset", mistakes);
  const bool is_network =
      read.network.empty() || is_solana(read.network) || evm_chain_id(read.network);
  if (!is_network) mistakes.add("network", "expected a CAIP-2 id such as eip155:8453, in quotes");
  if (is_test_network(read.network) && !read.takes_test_money) {
    mistakes.add("network", "is a test network: in production its money buys no Credits");
  }
  if (settings.find("pay_to") != nullptr) {
    if (is_network) read.own = read_own(settings, read, lane, mistakes);
    return read;
  }
  for (const std::string_view key : {"name", "version", "decimals"}) {
    if (settings.find(key) != nullptr) mistakes.add(key, "is the registry's, without `pay_to`");
  }
  return read;
}

std::vector<PricedAsset> assets_for_sale(const ProcessorSettings& settings,
                                         const std::vector<PricedAsset>& of_prices) {
  if (settings.own) return {*settings.own};
  std::vector<PricedAsset> sold;
  for (const PricedAsset& asset : of_prices) {
    const bool is_meant = settings.asset.empty()
                              ? known_asset(asset.network, asset.address) != nullptr
                              : is_same_token(settings.asset, asset.address);
    const bool is_there = settings.network.empty() || settings.network == asset.network;
    const bool is_worthless = is_test_network(asset.network) && !settings.takes_test_money;
    if (!is_meant || !is_there || is_worthless) continue;
    PricedAsset taken = asset;
    const KnownAsset* const known = known_asset(asset.network, asset.address);
    if (known != nullptr) taken.decimals = known->decimals;
    if (taken.decimals >= cent_decimals) sold.push_back(std::move(taken));
  }
  return sold;
}

}  // namespace turnpike::x402
