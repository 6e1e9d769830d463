#include "x402/registry_terms.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "x402/json_object.h"
#include "x402/policy.h"
#include "x402/protocol/digest.h"
#include "x402/protocol/encoding.h"
#include "x402/protocol/requirements.h"
#include "x402/terms.h"

namespace turnpike::x402 {
namespace {

using Json = nlohmann::ordered_json;
using Names = std::initializer_list<std::string_view>;
using Part = TermsMistake::Part;

constexpr std::size_t terms_max = 64;
constexpr std::string_view lower_case = "abcdefghijklmnopqrstuvwxyz0123456789";

constexpr bool is_among(std::string_view text, std::string_view allowed) noexcept {
  return text.find_first_not_of(allowed) == std::string_view::npos;
}

template <class Texts>
std::string listed(const Texts& texts) {
  std::string all;
  for (const std::string_view text : texts) all.append(all.empty() ? "" : ", ").append(text);
  return all;
}

// Returns "; did you mean ...?" for the known name nearest to `name`, or an empty text.
template <class Texts>
std::string meant(std::string_view name, const Texts& known) {
  std::string_view best;
  std::size_t least = std::max<std::size_t>(1, name.size() / 3) + 1;
  for (const std::string_view candidate : known) {
    const std::size_t distance = edit_distance(name, candidate);
    if (distance >= least) continue;
    least = distance;
    best = candidate;
  }
  return best.empty() ? "" : "; did you mean \"" + std::string(best) + "\"?";
}

std::string in_quotes(std::string_view text) { return "\"" + std::string(text) + "\""; }

// One value in its part of the registry. A reader that returns nothing has reported why.
class Value {
 public:
  Value(const Settings& node, Part part, std::uint32_t index, std::vector<TermsMistake>& mistakes)
      : node_(&node), part_(part), index_(index), mistakes_(&mistakes) {}

  [[nodiscard]] bool is_quoted() const noexcept { return node_->quoted; }
  [[nodiscard]] std::string_view raw_text() const noexcept { return node_->text; }

  void report(std::string message) const {
    mistakes_->push_back({part_, index_, where_, std::move(message), false});
  }
  void report_key(std::string message) const {
    mistakes_->push_back({part_, index_, where_, std::move(message), true});
  }

  [[nodiscard]] bool expect(Settings::Kind kind, std::string_view expected) const {
    if (node_->kind == kind) return true;
    constexpr std::string_view names[] = {"nothing", "text", "a list", "a map"};
    report("expected " + std::string(expected) + ", found " +
           std::string(names[static_cast<std::size_t>(node_->kind)]));
    return false;
  }

  [[nodiscard]] bool map_of(Names known) const {
    if (!expect(Settings::Kind::map, "a map with the keys " + listed(known))) return false;
    for (const auto& [key, value] : node_->fields) {
      if (std::find(known.begin(), known.end(), key) != known.end()) continue;
      below(key, value)
          .report_key("unknown key " + in_quotes(key) + meant(key, known) +
                      "; known here: " + listed(known));
    }
    return true;
  }

  [[nodiscard]] std::optional<Value> find(std::string_view key) const {
    const Settings* const found = node_->find(key);
    return found == nullptr ? std::nullopt : std::optional(below(key, *found));
  }
  [[nodiscard]] std::optional<Value> need(std::string_view key, std::string_view expected) const {
    std::optional<Value> found = find(key);
    if (!found) {
      report("the key " + in_quotes(key) + " is missing: " + std::string(expected));
    }
    return found;
  }

  [[nodiscard]] std::vector<std::pair<std::string_view, Value>> fields() const {
    std::vector<std::pair<std::string_view, Value>> all;
    for (const auto& [key, value] : node_->fields) all.emplace_back(key, below(key, value));
    return all;
  }
  [[nodiscard]] std::vector<Value> items() const {
    std::vector<Value> all;
    for (const Settings& item : node_->items) {
      all.push_back(*this);
      all.back().node_ = &item;
      all.back().where_ += "[" + std::to_string(all.size() - 1) + "]";
    }
    return all;
  }

  [[nodiscard]] std::optional<std::string_view> text(std::size_t least, std::size_t most) const {
    if (!expect(Settings::Kind::scalar, "text")) return std::nullopt;
    const std::size_t bytes = node_->text.size();
    if (bytes >= least && bytes <= most) return node_->text;
    report("expected " + std::to_string(least) + " to " + std::to_string(most) +
           " bytes of text, found " + std::to_string(bytes));
    return std::nullopt;
  }
  [[nodiscard]] std::optional<bool> boolean() const {
    if (!expect(Settings::Kind::scalar, "true or false")) return std::nullopt;
    if (!node_->quoted && (node_->text == "true" || node_->text == "false")) {
      return node_->text == "true";
    }
    report("expected true or false, found " + in_quotes(node_->text));
    return std::nullopt;
  }
  [[nodiscard]] std::optional<std::uint32_t> number(std::uint32_t most) const {
    if (!expect(Settings::Kind::scalar, "an integer")) return std::nullopt;
    const std::string& digits = node_->text;
    std::uint32_t value = 0;
    const char* const end = digits.data() + digits.size();
    const auto [rest, problem] = std::from_chars(digits.data(), end, value);
    const bool is_plain = !node_->quoted && (digits.size() == 1 || !digits.starts_with('0'));
    if (is_plain && problem == std::errc{} && rest == end && value <= most) return value;
    report("expected an integer from 0 to " + std::to_string(most) + ", found " +
           in_quotes(digits));
    return std::nullopt;
  }
  [[nodiscard]] std::optional<std::size_t> one_of(Names choices) const {
    if (!expect(Settings::Kind::scalar, "one of " + listed(choices))) return std::nullopt;
    const auto found = std::find(choices.begin(), choices.end(), node_->text);
    if (found != choices.end()) return static_cast<std::size_t>(found - choices.begin());
    report(in_quotes(node_->text) + " is none of " + listed(choices) + meant(node_->text, choices));
    return std::nullopt;
  }
  // Whether `key`, under which this value stands, can name something.
  [[nodiscard]] bool has_name(std::string_view key) const {
    constexpr std::string_view ends = lower_case;
    const bool is_name = !key.empty() && key.size() <= 64 &&
                         is_among(key, "abcdefghijklmnopqrstuvwxyz0123456789._-") &&
                         is_among(key.substr(0, 1), ends) &&
                         is_among(key.substr(key.size() - 1), ends);
    if (!is_name) {
      report_key(in_quotes(key) +
                 " does not fit: expected 1 to 64 lower-case letters and digits, with . _ - "
                 "between them");
    }
    return is_name;
  }
  // Returns the entry of `table` that this value names.
  template <class Entry>
  [[nodiscard]] const Entry* named_in(const std::map<std::string, Entry, std::less<>>& table,
                                      std::string_view kind) const {
    if (!expect(Settings::Kind::scalar, "the name of an " + std::string(kind))) return nullptr;
    const auto found = table.find(node_->text);
    if (found != table.end()) return &found->second;
    std::vector<std::string_view> names;
    for (const auto& [name, entry] : table) names.push_back(name);
    report("no " + std::string(kind) + " is named " + in_quotes(node_->text) +
           meant(node_->text, names));
    return nullptr;
  }

 private:
  [[nodiscard]] Value below(std::string_view key, const Settings& node) const {
    Value value = *this;
    value.node_ = &node;
    value.where_.append(where_.empty() ? "" : ".").append(key);
    return value;
  }

  const Settings* node_;
  Part part_;
  std::uint32_t index_;
  std::string where_;
  std::vector<TermsMistake>* mistakes_;
};

struct Network {
  std::string key;
  std::string id;      // CAIP-2
  std::string pay_to;  // empty: no address is configured
};

// An asset that prices may ask for, with its network and our address there.
struct Asset {
  std::string key;
  Network network;
  std::string address;  // token contract or mint
  std::uint32_t decimals = 0;
  std::string name;  // EIP-712 domain name and version; empty where not applicable
  std::string version;
  std::string transfer;  // "permit2", or empty: EIP-3009, and on other chains their own way
};

struct Section {
  bool is_enabled = false;
  std::map<std::string, Network, std::less<>> networks;
  std::map<std::string, Asset, std::less<>> assets;
};

struct Term {
  const Asset* asset = nullptr;
  std::string amount;
  std::string offer_id;
};

constexpr std::string_view scheme = "exact";

bool is_evm(std::string_view network) noexcept { return network.starts_with("eip155:"); }

// CAIP-2: a namespace of 3 to 8 characters and a reference of 1 to 32.
bool is_chain_id(std::string_view text) noexcept {
  const std::size_t colon = text.find(':');
  if (colon == text.npos || colon < 3 || colon > 8) return false;
  const std::string_view reference = text.substr(colon + 1);
  return is_among(text.substr(0, colon), "-abcdefghijklmnopqrstuvwxyz0123456789") &&
         !reference.empty() && reference.size() <= 32 &&
         is_among(reference, "-_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789");
}

// Reads the address at `value`, in the form that the namespace of `network` requires.
std::string read_address(const Value& value, std::string_view network) {
  const auto text = value.text(1, 128);
  if (!text) return {};
  std::string_view expected = "1 to 128 letters and digits";
  bool sound = is_among(*text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-");
  if (is_evm(network)) {
    expected = "0x and 40 hex digits, in quotes";
    sound = value.is_quoted() && text->size() == 42 && text->starts_with("0x") &&
            is_among(text->substr(2), "0123456789abcdefABCDEF");
  } else if (network.starts_with("solana:")) {
    expected = "32 to 44 base58 characters";
    sound = text->size() >= 32 && text->size() <= 44 &&
            is_among(*text, "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz");
  }
  if (sound) return std::string(*text);
  value.report(in_quotes(*text) + " is no address on " + std::string(network) + ": expected " +
               std::string(expected));
  return {};
}

void read_network(std::string_view key, const Value& value, Section& section) {
  const bool is_named = value.has_name(key);
  if (!value.map_of({"id", "pay_to"})) return;
  Network network{std::string(key), {}, {}};
  const auto id_value = value.need("id", "the CAIP-2 id, such as eip155:8453");
  const auto id = id_value ? id_value->text(1, 64) : std::nullopt;
  if (id && !is_chain_id(*id)) {
    id_value->report(in_quotes(*id) + " does not fit: expected a CAIP-2 id, such as eip155:8453");
  }
  network.id = id.value_or("");
  const auto pay_to = value.find("pay_to");
  if (pay_to && id) network.pay_to = read_address(*pay_to, network.id);
  if (is_named) section.networks.emplace(key, std::move(network));
}

void read_transfer(const Value& value, Asset& asset) {
  const auto transfer = value.find("transfer");
  const auto chosen = transfer ? transfer->one_of({"eip3009", "permit2"}) : std::nullopt;
  if (!chosen) return;
  const std::string& network = asset.network.id;
  if (!network.empty() && !is_evm(network)) {
    transfer->report("`transfer` is about tokens of eip155 networks; " + in_quotes(network) +
                     " is none");
  }
  if (*chosen == 1) asset.transfer = "permit2";
}

// Reads the EIP-712 domain of a token. Payers by EIP-3009 sign over it; Permit2 has its own.
void read_domain(const Value& value, Asset& asset) {
  constexpr std::size_t text_bytes_max = 100;
  const bool is_needed = is_evm(asset.network.id) && asset.transfer.empty();
  const auto name =
      is_needed ? value.need("name", "the name in the token's EIP-712 domain") : value.find("name");
  const auto version = is_needed ? value.need("version", "the version in its EIP-712 domain")
                                 : value.find("version");
  if (name) asset.name = name->text(1, text_bytes_max).value_or("");
  if (version) asset.version = version->text(1, text_bytes_max).value_or("");
}

void read_asset(std::string_view key, const Value& value, Section& section) {
  const bool is_named = value.has_name(key);
  Asset asset;
  asset.key = key;
  if (value.map_of({"network", "address", "decimals", "name", "version", "transfer"})) {
    const auto network = value.need("network", "the name of an x402 network");
    const Network* const found =
        network ? network->named_in(section.networks, "x402 network") : nullptr;
    if (found != nullptr) {
      asset.network = *found;
      read_transfer(value, asset);
      read_domain(value, asset);
    }
    const auto address = value.need("address", "the token's contract or mint");
    if (address) asset.address = read_address(*address, asset.network.id);
    const auto decimals = value.need("decimals", "the digits after the point of one token");
    if (decimals) asset.decimals = decimals->number(36).value_or(0);
  }
  if (is_named) section.assets.emplace(key, std::move(asset));
}

Section read_section(const Settings* settings, std::vector<TermsMistake>& mistakes) {
  Section section;
  if (settings == nullptr) return section;
  const Value value(*settings, Part::section, 0, mistakes);
  if (!value.map_of({"enabled", "networks", "assets"})) return section;
  if (const auto enabled = value.find("enabled")) {
    section.is_enabled = enabled->boolean().value_or(false);
  }
  const auto networks = value.find("networks");
  if (networks && networks->expect(Settings::Kind::map, "a map from names to networks")) {
    for (const auto& [key, field] : networks->fields()) read_network(key, field, section);
  }
  const auto assets = value.find("assets");
  if (assets && assets->expect(Settings::Kind::map, "a map from names to assets")) {
    for (const auto& [key, field] : assets->fields()) read_asset(key, field, section);
  }
  return section;
}

// Reads a positive decimal number of at most 77 digits, and so below 2^256, as text: it may exceed
// every integer type.
std::string read_amount(const Value& value) {
  constexpr std::size_t digits_max = 77;
  if (!value.expect(Settings::Kind::scalar, "an amount in atomic units")) return {};
  const std::string_view text = value.raw_text();
  if (!text.empty() && text.size() <= digits_max && text.front() != '0' &&
      is_among(text, "0123456789")) {
    return std::string(text);
  }
  value.report("expected a whole number of atomic units above 0 with at most " +
               std::to_string(digits_max) + " digits, found " + in_quotes(text));
  return {};
}

// Hex digits of addresses may have either case.
bool is_same_token(const Asset& left, const Asset& right) noexcept {
  const auto same_digit = [](char one, char other) { return (one | 0x20) == (other | 0x20); };
  if (left.network.id != right.network.id) return false;
  return left.address == right.address ||
         (is_evm(left.network.id) &&
          std::equal(left.address.begin(), left.address.end(), right.address.begin(),
                     right.address.end(), same_digit));
}

void read_term(const Value& item, const Section& section, std::vector<Term>& terms) {
  if (!item.map_of({"asset", "amount", "scheme"})) return;
  if (const auto named = item.find("scheme")) static_cast<void>(named->one_of({scheme}));
  Term term;
  const auto amount = item.need("amount", "the price in atomic units of the asset");
  if (amount) term.amount = read_amount(*amount);
  const auto asset = item.need("asset", "the name of an x402 asset");
  term.asset = asset ? asset->named_in(section.assets, "x402 asset") : nullptr;
  if (term.asset == nullptr) return;
  for (const Term& other : terms) {
    if (!is_same_token(*term.asset, *other.asset)) continue;
    if (other.asset == term.asset)
      return asset->report(in_quotes(term.asset->key) + " is in the list twice");
    return asset->report(in_quotes(term.asset->key) + " and " + in_quotes(other.asset->key) +
                         " are one token on " + term.asset->network.id +
                         ": a price asks for it once, by one way of transfer");
  }
  if (section.is_enabled && term.asset->network.pay_to.empty()) {
    asset->report("x402 is enabled and " + in_quotes(term.asset->key) +
                  " is used by prices, but network " + in_quotes(term.asset->network.key) +
                  " has no pay_to");
  }
  terms.push_back(std::move(term));
}

// ---- what the gateway is given ------------------------------------------------------------------

// Writes an amount in atomic units as a decimal number of whole tokens.
std::string decimal_of(const std::string& atomic_amount, std::uint32_t decimals) {
  std::string digits = atomic_amount;
  if (digits.size() <= decimals) digits.insert(0, decimals + 1 - digits.size(), '0');
  if (decimals == 0) return digits;
  digits.insert(digits.size() - decimals, 1, '.');
  digits.erase(digits.find_last_not_of('0') + 1);
  if (digits.ends_with('.')) digits.pop_back();
  return digits;
}

// Members are in the order of canonical JSON. Our address, the way a token is transferred and the
// offer id belong to the deployment, not to the price, so they are no part of the definition.
std::string canonical_of(const std::vector<Term>& terms, bool is_whole) {
  std::string all = "[";
  for (const Term& term : terms) {
    JsonObject entry;
    entry.text("asset", term.asset->address);
    entry.text("atomic_amount", term.amount);
    entry.text("network", term.asset->network.id);
    if (is_whole) {
      entry.text("offer_id", term.offer_id);
      entry.text("pay_to", term.asset->network.pay_to);
    }
    entry.text("scheme", scheme);
    if (is_whole && !term.asset->transfer.empty()) entry.text("transfer", term.asset->transfer);
    all.append(all.size() == 1 ? "" : ",").append(std::move(entry).end());
  }
  return all + "]";
}

std::string canonical_of(const Section& section) {
  std::string all = R"({"assets":[)";
  for (const auto& [key, asset] : section.assets) {
    JsonObject entry;
    entry.text("asset", asset.address);
    entry.number("decimals", asset.decimals);
    entry.text("key", key);
    entry.text("name", asset.name);
    entry.text("network", asset.network.id);
    entry.text("network_key", asset.network.key);
    entry.text("pay_to", asset.network.pay_to);
    // Written only where it was chosen, so that programs from before there was a choice keep their
    // hashes.
    if (!asset.transfer.empty()) entry.text("transfer", asset.transfer);
    entry.text("version", asset.version);
    all.append(all.ends_with('[') ? "" : ",").append(std::move(entry).end());
  }
  return all + R"(],"enabled":)" + (section.is_enabled ? "true}" : "false}");
}

std::string binding_of(const std::vector<Term>& terms) {
  Json all = Json::array();
  for (const Term& term : terms) {
    const Asset& asset = *term.asset;
    all.push_back({{"asset", asset.address},
                   {"asset_key", asset.key},
                   {"atomic_amount", term.amount},
                   {"decimals", asset.decimals},
                   {"name", asset.name},
                   {"network", asset.network.id},
                   {"network_key", asset.network.key},
                   {"offer_id", term.offer_id},
                   {"pay_to", asset.network.pay_to},
                   {"scheme", scheme},
                   {"transfer", asset.transfer},
                   {"version", asset.version}});
  }
  return all.dump();
}

std::string billing_of(const std::vector<Term>& terms) {
  Json shown = Json::array();
  for (const Term& term : terms) {
    shown.push_back({{"scheme", scheme},
                     {"network", term.asset->network.id},
                     {"asset", term.asset->address},
                     {"atomic_amount", term.amount},
                     {"offer_id", term.offer_id}});
  }
  return Json{{"enabled", true}, {"terms", std::move(shown)}}.dump();
}

// What payers' tools read before they ask for a challenge (draft-payment-discovery-00 and what x402
// crawlers read). The challenge itself decides.
std::string openapi_of(const std::vector<Term>& terms) {
  Json info = {{"authMode", "payment"}, {"protocols", Json::array()}};
  for (const Term& term : terms) {
    const Asset& asset = *term.asset;
    info["protocols"].push_back({{"x402",
                                  {{"scheme", scheme},
                                   {"network", asset.network.id},
                                   {"asset", asset.address},
                                   {"payTo", asset.network.pay_to},
                                   {"amount", term.amount}}}});
    const bool is_dollar = asset.name == "USD Coin" || asset.name == "USDC";
    if (!is_dollar) continue;
    info["price"] = {{"mode", "fixed"},
                     {"currency", "USD"},
                     {"amount", decimal_of(term.amount, asset.decimals)}};
  }
  return Json{{"x-payment-info", std::move(info)}}.dump();
}

std::string offer_id_of(const Term& term) {
  PaymentRequirements requirements;
  requirements.scheme = scheme;
  requirements.network = term.asset->network.id;
  requirements.asset = term.asset->address;
  requirements.amount = term.amount;
  requirements.pay_to = term.asset->network.pay_to;
  return x402::offer_id_of(requirements);
}

PriceTerms read_price(const Value& value, const Section& section) {
  std::vector<Term> terms;
  if (!value.expect(Settings::Kind::list, "a list of {asset, amount}")) return {};
  const std::vector<Value> items = value.items();
  if (items.size() > terms_max) {
    value.report(std::to_string(items.size()) + " entries; at most " + std::to_string(terms_max) +
                 " are allowed");
    return {};
  }
  for (const Value& item : items) read_term(item, section, terms);
  // Sorted, so that equal programs have equal hashes; a payer chooses among the terms anyway.
  std::sort(terms.begin(), terms.end(), [](const Term& left, const Term& right) {
    return std::pair(left.asset->network.id, left.asset->address) <
           std::pair(right.asset->network.id, right.asset->address);
  });
  for (Term& term : terms) term.offer_id = offer_id_of(term);
  PriceTerms read;
  read.is_offered = section.is_enabled && !terms.empty();
  read.canonical = canonical_of(terms, true);
  read.definition = canonical_of(terms, false);
  read.binding = binding_of(terms);
  if (!terms.empty()) read.amount = terms.front().amount;
  read.billing = billing_of(terms);
  read.openapi = openapi_of(terms);
  const bool takes_permits = std::any_of(terms.begin(), terms.end(), [](const Term& term) {
    return term.asset->transfer == "permit2";
  });
  if (takes_permits) read.statuses.push_back(412);
  return read;
}

CallPolicy read_policy(const Value& value, CallPolicy policy) {
  if (!value.map_of({"flow", "verify", "on_failure", "binding"})) return policy;
  if (const auto flow = value.find("flow")) {
    policy.flow = static_cast<PaymentFlow>(flow->one_of({"authorization", "upfront"}).value_or(0));
  }
  if (const auto verify = value.find("verify")) {
    policy.verifies_first = verify->boolean().value_or(true);
  }
  if (const auto failure = value.find("on_failure")) {
    policy.unearned =
        static_cast<UnearnedPayment>(failure->one_of({"retry", "refund"}).value_or(0));
    if (policy.flow != PaymentFlow::upfront) {
      failure->report(
          "`on_failure` is about payments collected before the work: say `flow: upfront` before "
          "it");
    }
  }
  if (const auto binding = value.find("binding")) {
    policy.binding =
        static_cast<PaymentBinding>(binding->one_of({"accepted", "required"}).value_or(0));
  }
  return policy;
}

PolicyTerms terms_of(const CallPolicy& policy) {
  PolicyTerms terms;
  terms.binding = words_of(policy);
  // Written only where it differs from the default, so that routes without it keep their form.
  if (terms.binding != words_of(CallPolicy())) terms.canonical = in_quotes(terms.binding);
  Json billing = {{"flow", name_of(policy.flow)}};
  if (policy.flow == PaymentFlow::upfront) billing["on_failure"] = name_of(policy.unearned);
  if (policy.binding == PaymentBinding::required) billing["binding"] = name_of(policy.binding);
  terms.billing = billing.dump();
  return terms;
}

}  // namespace

ReadTerms read_registry_terms(const RegistryParts& parts) {
  ReadTerms read;
  const Section section = read_section(parts.section, read.mistakes);
  read.is_enabled = section.is_enabled;
  read.canonical = canonical_of(section);
  for (std::uint32_t at = 0; at < parts.prices.size(); ++at) {
    const Value value(*parts.prices[at], Part::price, at, read.mistakes);
    read.prices.push_back(read_price(value, section));
  }
  std::vector<CallPolicy> policies;
  for (std::uint32_t at = 0; at < parts.policies.size(); ++at) {
    const auto& [settings, over] = parts.policies[at];
    CallPolicy policy = over < policies.size() ? policies[over] : CallPolicy();
    if (settings != nullptr) {
      policy = read_policy(Value(*settings, Part::policy, at, read.mistakes), policy);
    }
    policies.push_back(policy);
    read.policies.push_back(terms_of(policy));
  }
  return read;
}

}  // namespace turnpike::x402
