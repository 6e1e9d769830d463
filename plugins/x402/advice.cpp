#include "x402/advice.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

namespace turnpike::x402 {
namespace {

constexpr std::uint32_t advised_records = 200;
constexpr std::size_t looked_at_max = 1'000;
constexpr std::size_t named_max = 10;

void add(const LaneBinding& binding, std::string message, std::string where = {}) {
  if (binding.notes != nullptr) binding.notes->push_back({std::move(message), std::move(where)});
}

bool is_eip3009(const PaymentRequirements& terms) noexcept {
  return evm_chain_id(terms.network) && terms.extra.asset_transfer_method.empty();
}

void advise_of_chains(const LaneBinding& binding, const LaneSettings& settings,
                      const std::set<std::string>& offered, const std::set<std::string>& eip3009) {
  for (const std::string& network : eip3009) {
    const bool is_there =
        std::any_of(settings.chains.begin(), settings.chains.end(),
                    [&network](const ChainSettings& chain) { return chain.network == network; });
    if (is_there) continue;
    add(binding,
        "no chain is configured for " + network +
            ": a settlement whose answer is lost stays open, and what a facilitator says to be "
            "settled is believed unseen",
        "chains");
  }
  for (const ChainSettings& chain : settings.chains) {
    const std::string where = "chains." + chain.network;
    if (!offered.contains(chain.network)) {
      add(binding, "no price that is offered is paid on this network", where);
    }
    if (is_in_the_clear(chain.url, chain.allow_private_addresses)) {
      add(binding, "is asked over http: whoever is on the way can make up its answers",
          where + ".rpc_url");
    }
  }
}

void advise_of_facilitators(const LaneBinding& binding, const LaneSettings& settings,
                            const std::set<std::string>& offered) {
  for (std::size_t at = 0; at < settings.facilitators.size(); ++at) {
    const FacilitatorSettings& facilitator = settings.facilitators[at];
    if (!is_in_the_clear(facilitator.url, facilitator.allow_private_addresses)) continue;
    add(binding,
        "is asked over http: whoever is on the way reads payments and credentials, and can make up "
        "its answers",
        "facilitators[" + std::to_string(at) + "].url");
  }
  for (const std::string& network : offered) {
    const bool is_served = std::any_of(
        settings.facilitators.begin(), settings.facilitators.end(), [&network](const auto& one) {
          return one.networks.empty() ||
                 std::any_of(one.networks.begin(), one.networks.end(),
                             [&network](const auto& own) { return names_network(own, network); });
        });
    if (is_served) continue;
    add(binding, "none is for " + network + ": prices on it are never offered", "facilitators");
  }
}

}  // namespace

bool is_unspecified(std::string_view origin) noexcept {
  const std::string_view host = origin.substr(std::min(origin.find("//"), origin.size() - 2) + 2);
  return host == "0.0.0.0" || host.starts_with("0.0.0.0:") || host.starts_with("[::]");
}

void check_offers(const LaneBinding& binding, const LaneSettings& settings,
                  std::span<const std::shared_ptr<Terms>> terms, Mistakes& mistakes) {
  bool offers = false;
  for (const auto& shared : std::set(terms.begin(), terms.end())) {
    if (shared == nullptr) continue;
    for (const Terms::Entry& entry : shared->entries()) {
      offers = true;
      if (!settings.is_lost(entry.requirements.pay_to)) continue;
      mistakes.add(entry.pay_to_at(),
                   entry.requirements.pay_to +
                       " is among `lost_addresses` of lanes.x402: ask for payments to another");
    }
  }
  if (!offers || !is_unspecified(binding.public_origin)) return;
  mistakes.add("",
               "hosts.api.base_url: is needed where the API listens on all addresses: offers "
               "would be for " +
                   std::string(binding.public_origin));
}

void advise(const LaneBinding& binding, const LaneSettings& settings,
            std::span<const std::shared_ptr<Terms>> terms) {
  std::set<std::string> offered, eip3009;
  for (const auto& shared : std::set(terms.begin(), terms.end())) {
    if (shared == nullptr) continue;
    for (const Terms::Entry& entry : shared->entries()) {
      offered.insert(entry.requirements.network);
      if (is_eip3009(entry.requirements)) eip3009.insert(entry.requirements.network);
    }
  }
  if (offered.empty()) return;
  if (const auto did = did_web(binding.public_origin); did.ok() && !did->is_fetchable) {
    add(binding, "hosts.api.base_url is not https: nobody can fetch did.json to verify offers");
  }
  advise_of_chains(binding, settings, offered, eip3009);
  advise_of_facilitators(binding, settings, offered);
}

void advise_of_open_payments(const LaneBinding& binding, Engine& engine, Call& call) {
  std::set<std::string> offered;
  for (const PricedOperation& operation : binding.operations) {
    if (!operation.is_offered || operation.is_blocked) continue;
    offered.insert(std::string(name_of(operation.method)) + " " + std::string(operation.path));
  }
  std::size_t open = 0, looked_at = 0;
  std::string named;
  for (std::string after; looked_at < looked_at_max;) {
    auto page = engine.payments.open_after(after, advised_records, call);
    if (!page.ok() || page->keys.empty()) break;
    after = page->end;
    for (const std::string& key : page->keys) {
      ++looked_at;
      const auto found = engine.payments.find(key, call);
      if (!found.ok() || !*found) continue;
      const PaymentRecord& record = (*found)->record;
      const bool is_offered = offered.contains(record.operation);
      if (is_offered && engine.is_leased(record)) continue;
      if (++open > named_max) continue;
      named += (named.empty() ? "" : ", ") + key + " (" + record.operation + ", ";
      named.append(name_of(record.state)).append(is_offered ? ")" : ", not offered any more)");
    }
  }
  if (open == 0) return;
  add(binding, std::to_string(open) + (looked_at < looked_at_max ? "" : " or more") +
                   (open == 1 ? " payment is open: " : " payments are open: ") + named +
                   (open > named_max ? ", ..." : "") +
                   "; they are brought to their end, see `turnpike x402 unknown`");
}

}  // namespace turnpike::x402
