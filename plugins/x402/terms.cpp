#include "x402/terms.h"

#include <utility>

#include "x402/json_object.h"
#include "x402/policy.h"
#include "x402/protocol/digest.h"
#include "x402/protocol/encoding.h"
#include "x402/protocol/json.h"

namespace turnpike::x402 {
namespace {

// Notes a mistake at `what` of the asset in the registry.
void refuse(const Terms::Entry& entry, std::string_view what, std::string_view message,
            Mistakes& mistakes) {
  mistakes.add("registry.assets." + entry.asset_key + "." + std::string(what), message);
}

void check_domain(const Terms::Entry& entry, Mistakes& mistakes) {
  const PaymentRequirements& terms = entry.requirements;
  const auto domain = expected_domain(terms.network, terms.asset);
  const bool signs_for_token = terms.extra.asset_transfer_method.empty();
  if (!signs_for_token || !domain ||
      (domain->name == terms.extra.name && domain->version == terms.extra.version)) {
    return;
  }
  refuse(entry, "name",
         "the token " + terms.asset + " on " + terms.network + " signs as name \"" +
             std::string(domain->name) + "\", version \"" + std::string(domain->version) +
             "\": write that, or nobody can pay with it",
         mistakes);
}

void check_addresses(const Terms::Entry& entry, Mistakes& mistakes) {
  const PaymentRequirements& terms = entry.requirements;
  if (!evm_chain_id(terms.network)) return;
  const auto asset = parse_address(terms.asset), pay_to = parse_address(terms.pay_to);
  const auto misspelt = [](const std::string& address) {
    return "the address " + address +
           " has a wrong checksum (EIP-55): copy it again, or write it in lower case";
  };
  if (!asset) refuse(entry, "address", misspelt(terms.asset), mistakes);
  if (!pay_to) {
    mistakes.add(entry.pay_to_at(), misspelt(terms.pay_to));
  } else if (*pay_to == Address{}) {
    mistakes.add(entry.pay_to_at(),
                 "is the zero address: tokens refuse to move there, and what arrives is lost");
  } else if (pay_to == asset) {
    mistakes.add(entry.pay_to_at(),
                 "is the token's own contract: what is paid to it is lost; write an address whose "
                 "key is yours");
  }
}

}  // namespace

void Terms::refresh(const Facilitators& facilitators) {
  auto offered = std::make_shared<Offered>();
  std::string all;
  for (const Entry& entry : entries_) {
    const auto kind = facilitators.extra_of(entry.requirements.scheme, entry.requirements.network);
    if (!kind) continue;
    PaymentRequirements requirements = entry.requirements;
    if (is_solana(requirements.network)) {
      if (kind->fee_payer.empty()) continue;
      requirements.extra.fee_payer = kind->fee_payer;
    }
    offered->canonical.push_back(canonical_json(requirements));
    offered->accepts.push_back(std::move(requirements));
    offered->offer_ids.push_back(entry.offer_id);
    all += offered->canonical.back();
  }
  const Word digest = sha256(all);
  for (std::size_t at = 0; at < 8; ++at) offered->digest = offered->digest << 8 | digest[at];
  is_payable_.store(!offered->accepts.empty(), std::memory_order_relaxed);
  const std::scoped_lock lock(mutex_);
  offered_ = std::move(offered);
}

std::shared_ptr<const Offered> Terms::offered() const {
  const std::scoped_lock lock(mutex_);
  return offered_;
}

std::vector<Terms::Entry> read_terms(const PricedOperation& operation,
                                     std::uint32_t max_timeout_seconds, Mistakes& mistakes) {
  std::vector<Terms::Entry> entries;
  const auto json = JsonText::parse(std::string(operation.terms));
  if (!json.ok()) {
    mistakes.add("", "the registry's terms are unreadable");
    return entries;
  }
  for (const auto member : json->root()) {
    const JsonValue term = member.value;
    Terms::Entry entry;
    PaymentRequirements& requirements = entry.requirements;
    requirements.scheme = term["scheme"].string();
    requirements.network = term["network"].string();
    requirements.asset = term["asset"].string();
    requirements.amount = term["atomic_amount"].string();
    requirements.pay_to = term["pay_to"].string();
    requirements.max_timeout_seconds = max_timeout_seconds;
    requirements.extra.name = term["name"].string();
    requirements.extra.version = term["version"].string();
    requirements.extra.asset_transfer_method = term["transfer"].string();
    if (policy_of(operation.policy).flow == PaymentFlow::upfront) {
      requirements.extra.payment_flow = name_of(PaymentFlow::upfront);
    }
    entry.asset_key = term["asset_key"].string();
    entry.network_key = term["network_key"].string();
    entry.decimals = static_cast<std::uint32_t>(term["decimals"].natural().value_or(0));
    if (!is_solana(requirements.network) && !evm_chain_id(requirements.network)) {
      refuse(entry, "network", "payments on " + requirements.network + " are not supported",
             mistakes);
    }
    check_domain(entry, mistakes);
    check_addresses(entry, mistakes);
    entry.offer_id = term["offer_id"].string();
    entries.push_back(std::move(entry));
  }
  return entries;
}

std::string offer_id_of(const PaymentRequirements& requirements) {
  JsonObject json;
  json.text("asset", requirements.asset);
  json.text("atomic_amount", requirements.amount);
  json.text("network", requirements.network);
  json.text("pay_to", requirements.pay_to);
  json.text("scheme", requirements.scheme);
  return "off_" + hex_encode(bytes_of(sha256(std::move(json).end()))).substr(2, 32);
}

}  // namespace turnpike::x402
