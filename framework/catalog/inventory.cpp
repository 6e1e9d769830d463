#include "catalog/inventory.h"

#include <algorithm>
#include <vector>

#include "base/limits.h"
#include "catalog/capability_json.h"
#include "crypto/digest.h"
#include "text/canonical_json.h"

namespace turnpike::catalog {

namespace {

using nlohmann::json;

// REQUIRES: strings, integers and booleans of a compiled program, for which canonical JSON always
// exists.
std::string hash_of(const json& value) {
  return "sha256:" + crypto::sha256_hex(text::canonical_json(value).value());
}

base::Error incomplete(std::string_view what) {
  base::Error error;
  error.code = base::ErrorCode::catalog_inventory_incomplete;
  error.message = "The inventory cannot be formed in full: " + std::string(what) + ".";
  error.retry_after_seconds = 5;
  return error;
}

// The revisions that the operation depends on; every reader can recompute the hash.
json closure_json(const registry::Program& program, const registry::Route& route) {
  const registry::Provider& provider = program.providers()[route.provider];
  const registry::Upstream& upstream = program.upstreams()[route.upstream];
  json closure = {{"provider", {{"id", provider.id}, {"revision", provider.revision}}},
                  {"upstream", {{"id", upstream.id}, {"revision", upstream.revision}}}};
  json hashed = closure;
  hashed["route"] = {{"id", route.id}, {"revision", route.revision}};
  closure["hash"] = hash_of(hashed);
  return closure;
}

json entry_json(const registry::Program& program, const registry::Operation& operation) {
  const registry::Route& route = program.routes()[operation.route];
  const std::string key = std::string(name_of(operation.method)) + " " + route.matcher.pattern;
  return {{"operation_key", key},
          {"route", {{"id", route.id}, {"revision", route.revision}}},
          {"closure", closure_json(program, route)},
          {"request_bounds",
           {{"max_query_bytes", operation.query->max_encoded_bytes},
            {"max_forwarded_query_bytes", base::limits::request_query_bytes_max},
            {"max_body_bytes", route.body->forbidden ? 0 : route.body->max_bytes}}},
          {"classification", operation.price ? "merchant_priced" : "pricing_unavailable"}};
}

}  // namespace

Result<InventoryText, base::Error> inventory_text(const registry::Installed& installed,
                                                  Features features) {
  const registry::Program& program = *installed.program;
  if (installed.generation.payload_hash != program.payload_hash()) {
    return incomplete("the installed manifest names another program than the one in service");
  }
  std::vector<json> entries;
  entries.reserve(program.operations().size());
  for (const registry::Operation& operation : program.operations()) {
    entries.push_back(entry_json(program, operation));
  }
  const auto key_of = [](const json& entry) -> const std::string& {
    return entry.at("operation_key").get_ref<const std::string&>();
  };
  std::sort(entries.begin(), entries.end(),
            [&](const auto& left, const auto& right) { return key_of(left) < key_of(right); });
  const auto twice = std::adjacent_find(
      entries.begin(), entries.end(),
      [&](const auto& left, const auto& right) { return key_of(left) == key_of(right); });
  if (twice != entries.end()) return incomplete("two operations share one key");

  json hashed = entries;
  const TermsDocuments* const payments = payment_documents(program, features);
  std::string contract;  // name of the member for the contract version of payments
  if (payments != nullptr) {
    contract = std::string(program.lane_terms()->traits.name) + "_contract_version";
    hashed = {{contract, payments->contract_version}, {"entries", std::move(hashed)}};
  }
  Json head = {{"schema_version", payments != nullptr ? "service.operation-pricing-inventory.v3"
                                                      : "service.operation-pricing-inventory.v2"},
               {"generation", generation_json(installed.generation)}};
  InventoryText text;
  text.before_observed_at = text_of(head);
  text.before_observed_at.pop_back();  // the closing '}'
  text.before_observed_at += ",\"observed_at\":\"";
  text.after_observed_at = "\",";
  if (payments != nullptr) {
    text.after_observed_at += text_of(contract) + ":" + text_of(payments->contract_version) + ",";
  }
  text.after_observed_at += "\"entry_set_hash\":\"" + hash_of(hashed) +
                            "\",\"entries\":" + text::canonical_json(entries).value() + "}";
  return text;
}

}  // namespace turnpike::catalog
