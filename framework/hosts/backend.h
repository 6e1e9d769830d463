// Backend: the public hosts' access to the program in service. The composition root implements it:
// it knows the published Service and View of the generation, pins both for a call, and knows the
// health of the parts of the process.
//
// Owned by app/, outlives the hosts; called from all loop Threads, on the fiber of a request.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "catalog/view.h"
#include "exchange/serve.h"

namespace turnpike::hosts {

// A dependency that the gateway needs in order to serve.
struct HealthCheck {
  std::string name;  // "registry", "database"
  bool ready = true;
  std::string detail;  // the reason when not ready; no secrets, no addresses
};

struct Health {
  std::vector<HealthCheck> checks;
  std::vector<std::string> relaxed;  // disabled guarantees of this deployment, as sentences
};

class Backend {
 public:
  virtual ~Backend() = default;
  // Runs exchange::serve() with the context of the calling loop. May suspend. The views in the
  // result are valid until the fiber next suspends.
  virtual exchange::Served serve(const exchange::Invocation& invocation,
                                 exchange::ReplyWriter& writer) = 0;
  // Null: no valid program is installed.
  [[nodiscard]] virtual std::shared_ptr<const catalog::View> view() = 0;
  // Returns the health from what is already known: must not wait.
  [[nodiscard]] virtual Health health() = 0;
};

}  // namespace turnpike::hosts
