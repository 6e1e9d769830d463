// The documents of one capability and of one provider.
#include <algorithm>
#include <utility>

#include "status/board_documents.h"
#include "status/board_parts.h"

namespace turnpike::status {
namespace {

std::vector<std::string> scopes_of(const BoardFacts& facts, const registry::Route& route) {
  std::vector<std::string> scopes;
  for (const std::uint32_t index : route.operations) {
    scopes.push_back("operation:" + facts.name_of_operation(index));
  }
  return scopes;
}

// Appends the members from capability_id to observed_at.
void add_capability(BoardJson& shown, const BoardFacts& facts, const registry::Route& route,
                    const ShownLevel& together) {
  shown["capability_id"] = route.id;
  shown["route"] = {{"id", route.id}, {"revision", route.revision}};
  shown["provider_key"] = facts.program().providers()[route.provider].key;
  shown["status"] = name_of(together.level);
  shown["evidence_status"] = name_of(together.evidence);
  shown["observed_at"] = time_or_null(together.observed_at_ms);
}

BoardJson operation_head(const BoardFacts& facts, const registry::Route& route,
                         const std::vector<std::string>& scopes, Reading reading) {
  CapabilityShown capability = capability_shown(facts, route, reading);
  BoardJson shown = {{"schema_version", "service.status.operation.v1"}};
  add_capability(shown, facts, route, capability.together);
  shown["generation"] = generation_json(facts.input().generation);
  shown["operations"] = std::move(capability.methods);
  shown["incidents"] = incidents_json(facts, scopes);
  return shown;
}

// The capabilities of a provider, as in their own documents, without members that the provider's
// document already has.
BoardJson capabilities_of(const BoardFacts& facts, std::uint32_t provider, Reading reading) {
  BoardJson shown = BoardJson::array();
  for (const registry::Route& route : facts.program().routes()) {
    if (route.provider != provider) continue;
    CapabilityShown capability = capability_shown(facts, route, reading);
    BoardJson one = BoardJson::object();
    add_capability(one, facts, route, capability.together);
    one["operations"] = std::move(capability.methods);
    shown.push_back(std::move(one));
  }
  return shown;
}

BoardJson provider_head(const BoardFacts& facts, std::uint32_t provider,
                        const std::vector<std::string>& scopes, Reading reading) {
  BoardJson shown = {{"schema_version", "service.status.provider.v1"}};
  shown["generation"] = generation_json(facts.input().generation);
  shown.update(provider_json(facts, provider, reading));
  shown["operations"] = capabilities_of(facts, provider, reading);
  shown["incidents"] = incidents_json(facts, scopes);
  return shown;
}

}  // namespace

BoardDocument operation_document(const BoardFacts& facts, const registry::Route& route) {
  const std::vector<std::string> scopes = scopes_of(facts, route);
  const std::string history = history_text(facts, scopes);
  std::int64_t valid_until_ms = facts.valid_until_ms_of_operation(
      facts.name_of_operation(route.operations.front()));
  for (const std::uint32_t index : route.operations) {
    valid_until_ms = std::min(
        valid_until_ms, facts.valid_until_ms_of_operation(facts.name_of_operation(index)));
  }
  return facts.document(valid_until_ms, [&](Reading reading) {
    return with_history(operation_head(facts, route, scopes, reading), history, facts);
  });
}

BoardDocument provider_document(const BoardFacts& facts, std::uint32_t provider) {
  const std::string& key = facts.program().providers()[provider].key;
  std::vector<std::string> scopes = {"provider:" + key};
  const std::string history = history_text(facts, scopes);
  for (const std::uint32_t index : facts.operations_of(provider)) {
    scopes.push_back("operation:" + facts.name_of_operation(index));
  }
  return facts.document(facts.valid_until_ms_of_provider(key), [&](Reading reading) {
    return with_history(provider_head(facts, provider, scopes, reading), history, facts);
  });
}

}  // namespace turnpike::status
