#include "catalog/readiness.h"

namespace turnpike::catalog {

namespace {

std::string_view default_reason(Condition condition) noexcept {
  switch (condition) {
    case Condition::ready:
      return {};
    case Condition::blocked:
      return "The provider is not available.";
    case Condition::credential_missing:
      return "The credential for the provider is missing.";
    case Condition::evidence_stale:
      return "The evidence of freshness is missing or stale.";
  }
  return "The provider reports a state that the gateway does not know.";
}

ShownReadiness shown(const State& state) noexcept {
  if (state.condition == Condition::ready) return {};
  return {false, state.reason.empty() ? default_reason(state.condition) : state.reason};
}

}  // namespace

bool is_offered(const registry::Program& program, const registry::Operation& operation) noexcept {
  return operation.price.has_value() && program.routes()[operation.route].readiness.ready;
}

bool is_callable(const registry::Program& program, const registry::Operation& operation,
                 const ReadinessSource& source) noexcept {
  return is_offered(program, operation) &&
         source.state(operation.index).condition != Condition::credential_missing;
}

ShownReadiness operation_readiness(const registry::Route& route, std::uint32_t operation,
                                   const ReadinessSource& source) noexcept {
  if (!route.readiness.ready) {
    const std::string_view reason = route.readiness.reason;
    return {false, reason.empty() ? "The operator has blocked this operation." : reason};
  }
  return shown(source.state(operation));
}

ShownReadiness payment_readiness(std::uint32_t operation, const ReadinessSource& source) noexcept {
  return shown(source.payment_state(operation));
}

ShownReadiness route_readiness(const registry::Route& route,
                               const ReadinessSource& source) noexcept {
  for (const std::uint32_t operation : route.operations) {
    const ShownReadiness shown = operation_readiness(route, operation, source);
    if (!shown.ready) return shown;
  }
  return {};
}

}  // namespace turnpike::catalog
