// Readiness in the public views: the registry's programmed readiness, combined with the live state
// of the upstream. ReadinessSource is the port for the live half; the composition root implements
// it over the upstreams that were bound for a generation.
//
// Owned jointly by the View of a generation; called from any Thread for every public read, so it
// must neither wait nor lock.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <turnpike/provider.h>

#include "registry/program.h"

namespace turnpike::catalog {

class ReadinessSource {
 public:
  virtual ~ReadinessSource() = default;
  // The live state of the operation with this index in Program::operations(). The reason stays
  // valid as long as the source.
  [[nodiscard]] virtual State state(std::uint32_t operation) const noexcept = 0;
  // The live state of its payment per call; called for operations that offer it.
  [[nodiscard]] virtual State payment_state(std::uint32_t /*operation*/) const noexcept {
    return {};
  }
};

// True if the program allows calls of the operation: it has a price and is not blocked. Temporary
// states, such as an open circuit breaker, do not count.
bool is_offered(const registry::Program& program, const registry::Operation& operation) noexcept;
// As is_offered(), and the provider's credential is present: the operation can be tried.
bool is_callable(const registry::Program& program, const registry::Operation& operation,
                 const ReadinessSource& source) noexcept;

// A reason is present exactly when not ready; valid as long as the Program and the source.
struct ShownReadiness {
  bool ready = true;
  std::string_view reason;
};

// The route's programmed readiness takes precedence, since the operator set it.
ShownReadiness operation_readiness(const registry::Route& route, std::uint32_t operation,
                                   const ReadinessSource& source) noexcept;

// The readiness of an operation's payment per call.
ShownReadiness payment_readiness(std::uint32_t operation, const ReadinessSource& source) noexcept;

// A capability is ready only when all its operations are, so that a page never promises too much.
ShownReadiness route_readiness(const registry::Route& route,
                               const ReadinessSource& source) noexcept;

}  // namespace turnpike::catalog
