// Readiness as the public views show it: what the registry programmed, and on top of that what the
// upstream says now. ReadinessSource is the port through which the live half arrives; the
// composition root implements it over the upstreams that were bound for a generation.
//
// Owned jointly by the View of a generation; asked from any Thread for every public read, so it
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
  // Whether it can also be paid for per call; asked of operations that offer it.
  [[nodiscard]] virtual State payment_state(std::uint32_t /*operation*/) const noexcept {
    return {};
  }
};

// Whether the operator programmed the operation so that it can be called: it has a price and is not
// blocked. What passes by itself, such as an open breaker, does not count.
bool is_offered(const registry::Program& program, const registry::Operation& operation) noexcept;
// The same, with the provider's credential there: what is offered and can be tried.
bool is_callable(const registry::Program& program, const registry::Operation& operation,
                 const ReadinessSource& source) noexcept;

// A reason is present exactly when not ready; valid as long as the Program and the source.
struct ShownReadiness {
  bool ready = true;
  std::string_view reason;
};

// The programmed readiness of the route comes first: it is the operator's word.
ShownReadiness operation_readiness(const registry::Route& route, std::uint32_t operation,
                                   const ReadinessSource& source) noexcept;

// The readiness of an operation's payment per call.
ShownReadiness payment_readiness(std::uint32_t operation, const ReadinessSource& source) noexcept;

// A capability is ready when all its operations are: a page never promises more than holds.
ShownReadiness route_readiness(const registry::Route& route,
                               const ReadinessSource& source) noexcept;

}  // namespace turnpike::catalog
