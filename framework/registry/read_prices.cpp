#include "registry/read_prices.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

namespace turnpike::registry {
namespace {

constexpr std::int64_t version_max = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t credit_cost_max = 1'000'000'000;
constexpr std::size_t terms_max = 64;

constexpr bool is_among(std::string_view text, std::string_view allowed) noexcept {
  return text.find_first_not_of(allowed) == std::string_view::npos;
}

// CAIP-2: namespace of 3 to 8, reference of 1 to 32 characters.
bool is_chain_id(std::string_view text) noexcept {
  const std::size_t colon = text.find(':');
  if (colon == text.npos || colon < 3 || colon > 8) return false;
  const std::string_view reference = text.substr(colon + 1);
  return is_among(text.substr(0, colon), "-abcdefghijklmnopqrstuvwxyz0123456789") &&
         !reference.empty() && reference.size() <= 32 &&
         is_among(reference, "-_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789");
}

bool is_evm(std::string_view network) noexcept { return network.starts_with("eip155:"); }

// The address at `value` on `network`, in the form of the network's namespace.
std::optional<std::string> read_address(const Cursor& value, std::string_view network) {
  const auto text = value.text(1, 128);
  if (!text) return std::nullopt;
  std::string_view expected = "1 to 128 letters and digits";
  bool sound = is_among(*text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-");
  if (is_evm(network)) {
    expected = "0x and 40 hex digits, in quotes";
    sound = value.quoted() && text->size() == 42 && text->starts_with("0x") &&
            is_among(text->substr(2), "0123456789abcdefABCDEF");
  } else if (network.starts_with("solana:")) {
    expected = "32 to 44 base58 characters";
    sound = text->size() >= 32 && text->size() <= 44 &&
            is_among(*text, "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz");
  }
  if (sound) return std::string(*text);
  value.report(Rule::address_form, {*text, network, expected});
  return std::nullopt;
}

SourcePlace place_of(const Cursor& value) { return value.problems().source_of(value.place()); }

void read_network(const Cursor& field, Draft& draft) {
  auto name = field.key_name();
  if (!field.map_of({"id", "pay_to"})) return;
  X402Network network;
  const auto id_field = field.need("id", "the CAIP-2 id, such as eip155:8453");
  const auto id = id_field ? id_field->text(1, 64) : std::nullopt;
  if (id && !is_chain_id(*id)) {
    id_field->report(Rule::bad_name, {*id, "a CAIP-2 id, such as eip155:8453"});
  }
  network.id = id.value_or("");
  const auto pay_to = field.find("pay_to");
  if (pay_to && id) network.pay_to = read_address(*pay_to, network.id).value_or("");
  network.pay_to_at = place_of(pay_to.value_or(field));
  if (name) draft.networks.add(std::move(*name), std::move(network), "x402 network", field);
}

// Hex digits of addresses have either case.
bool is_same_token(const X402Asset& asset, const X402Term& term) noexcept {
  const auto same_digit = [](char left, char right) { return (left | 0x20) == (right | 0x20); };
  if (asset.network != term.network) return false;
  return asset.asset == term.asset ||
         (is_evm(asset.network) && std::equal(asset.asset.begin(), asset.asset.end(),
                                              term.asset.begin(), term.asset.end(), same_digit));
}

void read_transfer(const Cursor& field, X402Asset& asset) {
  constexpr std::string_view transfers[] = {"eip3009", "permit2"};
  const auto transfer = field.find("transfer");
  const auto chosen = transfer ? transfer->one_of(transfers) : std::nullopt;
  if (!chosen) return;
  const bool is_other = !asset.network.empty() && !is_evm(asset.network);
  if (is_other) transfer->report(Rule::transfer_misplaced, {asset.network});
  if (*chosen == 1) asset.transfer = transfers[1];
}

// The EIP-712 domain of a token: payers of EIP-3009 sign over it; Permit2 has its own.
void read_domain(const Cursor& field, X402Asset& asset) {
  constexpr std::size_t text_bytes_max = 100;
  const bool needed = is_evm(asset.network) && asset.transfer.empty();
  const auto name =
      needed ? field.need("name", "the name in the token's EIP-712 domain") : field.find("name");
  const auto version =
      needed ? field.need("version", "the version in its EIP-712 domain") : field.find("version");
  if (name) asset.name = name->text(1, text_bytes_max).value_or("");
  if (version) asset.version = version->text(1, text_bytes_max).value_or("");
}

void read_asset(const Cursor& field, Draft& draft) {
  auto key = field.key_name();
  X402Asset asset;
  if (field.map_of({"network", "address", "decimals", "name", "version", "transfer"})) {
    const auto network = field.need("network", "the name of an x402 network");
    const std::uint32_t* found =
        network ? draft.networks.resolve(*network, "x402 network") : nullptr;
    if (found != nullptr) {
      const auto& entry = draft.networks.entries()[*found];
      asset.network_key = entry.name;
      asset.network = entry.value.id;
      asset.pay_to = entry.value.pay_to;
      asset.pay_to_at = entry.value.pay_to_at;
      read_transfer(field, asset);
      read_domain(field, asset);
    }
    const auto address = field.need("address", "the token's contract or mint");
    if (address) asset.asset = read_address(*address, asset.network).value_or("");
    asset.at = place_of(field);
    asset.address_at = place_of(address.value_or(field));
    asset.name_at = place_of(field.find("name").value_or(field));
    const auto decimals = field.need("decimals", "the digits after the point of one token");
    if (decimals) {
      asset.decimals = static_cast<std::uint32_t>(decimals->integer({0, 36}).value_or(0));
    }
  }
  if (!key) return;
  asset.key = *key;
  draft.assets.add(std::move(*key), std::move(asset), "x402 asset", field);
}

// A positive decimal number up to 2^256, as text: it may exceed every integer type.
std::optional<std::string> read_amount(const Cursor& value) {
  constexpr std::size_t digits_max = 77;
  if (!value.expect(NodeKind::scalar, "an amount in atomic units")) return std::nullopt;
  const std::string_view text = value.raw_text();
  if (!text.empty() && text.size() <= digits_max && text.front() != '0' &&
      is_among(text, "0123456789")) {
    return std::string(text);
  }
  value.report(Rule::not_amount, {std::to_string(digits_max), text});
  return std::nullopt;
}

void read_term(const Cursor& item, const Draft& draft, Price& price) {
  if (!item.map_of({"asset", "amount", "scheme"})) return;
  X402Term term;
  term.scheme = "exact";
  constexpr std::string_view schemes[] = {"exact"};
  if (const auto scheme = item.find("scheme")) static_cast<void>(scheme->one_of(schemes));
  const auto amount = item.need("amount", "the price in atomic units of the asset");
  if (amount) term.atomic_amount = read_amount(*amount).value_or("");
  const auto asset = item.need("asset", "the name of an x402 asset");
  const std::uint32_t* found = asset ? draft.assets.resolve(*asset, "x402 asset") : nullptr;
  if (found == nullptr) return;
  const X402Asset& known = draft.assets.entries()[*found].value;
  for (const X402Term& other : price.x402_terms) {
    if (!is_same_token(known, other)) continue;
    if (other.asset_key == known.key) {
      asset->report(Rule::duplicate_item, {known.key});
    } else {
      asset->report(Rule::same_token, {known.key, other.asset_key, known.network});
    }
    return;
  }
  term.network = known.network;
  term.asset = known.asset;
  term.pay_to = known.pay_to;
  term.asset_key = known.key;
  term.transfer = known.transfer;
  if (draft.x402_enabled && known.pay_to.empty()) {
    asset->report(Rule::pay_to_missing, {known.key, known.network_key});
  }
  price.x402_terms.push_back(std::move(term));
}

Price read_price(const Cursor& field, const Draft& draft) {
  Price price;
  if (!field.map_of({"version", "credit_cost", "no_charge_when", "x402"})) return price;
  if (const auto version = field.need("version", "a number to raise at every change of terms")) {
    price.version = static_cast<std::uint32_t>(version->integer({1, version_max}).value_or(0));
  }
  if (const auto cost = field.need("credit_cost", "whole Credits for one call")) {
    price.credit_cost = static_cast<std::uint32_t>(cost->integer({1, credit_cost_max}).value_or(0));
  }
  if (const auto conditions = field.find("no_charge_when")) {
    price.no_charge_when = read_no_charge(*conditions);
  }
  const auto terms = field.find("x402");
  if (terms && terms->list_of(terms_max, "a list of {asset, amount}")) {
    for (const Cursor& item : terms->items()) read_term(item, draft, price);
  }
  // In one order, so that equal programs have equal hashes; a payer chooses among them anyway.
  std::sort(price.x402_terms.begin(), price.x402_terms.end(),
            [](const X402Term& left, const X402Term& right) {
              return std::pair(left.network, left.asset) < std::pair(right.network, right.asset);
            });
  price.x402_enabled = draft.x402_enabled && !price.x402_terms.empty();
  for (X402Term& term : price.x402_terms) term.offer_id = offer_id_of(term);
  return price;
}

}  // namespace

void read_x402(const Cursor& section, Draft& draft) {
  if (!draft.x402_place.empty()) {
    section.report_key(Rule::duplicate_definition, {"section", "x402", draft.x402_place});
    return;
  }
  draft.x402_place = section.problems().text_of(section.place());
  if (!section.map_of({"enabled", "networks", "assets"})) return;
  if (const auto enabled = section.find("enabled")) {
    draft.x402_enabled = enabled->boolean().value_or(false);
  }
  const auto networks = section.find("networks");
  if (networks && networks->expect(NodeKind::map, "a map from names to networks")) {
    for (const Cursor& field : networks->fields()) read_network(field, draft);
  }
  const auto assets = section.find("assets");
  if (assets && assets->expect(NodeKind::map, "a map from names to assets")) {
    for (const Cursor& field : assets->fields()) read_asset(field, draft);
  }
}

void read_prices(const Cursor& section, Draft& draft) {
  if (!section.expect(NodeKind::map, "a map from names to prices")) return;
  for (const Cursor& field : section.fields()) {
    auto name = field.key_name();
    if (name && *name == "unavailable") {
      field.report_key(Rule::bad_name, {*name, "a name other than `unavailable`"});
      continue;
    }
    Price price = read_price(field, draft);
    if (!name) continue;
    price.policy_key = *name;
    draft.prices.add(std::move(*name), std::move(price), "price policy", field);
  }
}

}  // namespace turnpike::registry
