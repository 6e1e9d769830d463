#include "hosts/service_documents.h"

#include <utility>

#include <nlohmann/json.hpp>

#include <turnpike/abi.h>

namespace turnpike::hosts {

using Json = nlohmann::ordered_json;

ServiceDocument liveness_document() { return {200, R"({"status":"ok"})"}; }

ServiceDocument readiness_document(const Health& health) {
  Json checks = Json::array();
  bool is_ready = true;
  for (const HealthCheck& check : health.checks) {
    Json entry = {{"name", check.name}, {"ready", check.ready}};
    if (!check.detail.empty()) entry["detail"] = check.detail;
    checks.push_back(std::move(entry));
    is_ready = is_ready && check.ready;
  }
  const Json body = {{"status", is_ready ? "ready" : "not_ready"},
                     {"checks", std::move(checks)},
                     {"relaxed", health.relaxed}};
  return {is_ready ? 200 : 503, body.dump(-1, ' ', false, Json::error_handler_t::replace)};
}

ServiceDocument version_document(const BuildInfo& build, const catalog::View* view) {
  Json body = {{"version", build.version},
               {"build", build.build},
               {"abi", abi_number},
               {"api_version", "0.2.36"},
               {"environment", build.environment},
               {"generation", nullptr}};
  if (view != nullptr) {
    const registry::Generation& generation = view->generation();
    body["generation"] = {{"epoch_id", generation.epoch_id},
                          {"id", generation.id},
                          {"sequence", generation.sequence},
                          {"codec", "canonical_json_v1"},
                          {"payload_hash", generation.payload_hash}};
  }
  return {200, body.dump()};
}

void send(Turn& turn, const ServiceDocument& document) {
  turn.reply({.status = document.status, .body = document.body});
}

}  // namespace turnpike::hosts
