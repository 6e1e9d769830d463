// Backend: the access of the public hosts to the program in service. The composition root
// implements it: it knows the published Service and View of the generation, pins them for a call,
// and knows how the parts of the process are doing.
//
// Owned by app/, outlives the hosts; called from all loop Threads, on the fiber of a request.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "catalog/view.h"
#include "exchange/serve.h"

namespace turnpike::hosts {

// One thing that the gateway needs in order to serve.
struct HealthCheck {
  std::string name;  // "registry", "database"
  bool ready = true;
  std::string detail;  // the reason when not ready; no secrets, no addresses
};

struct Health {
  std::vector<HealthCheck> checks;
  std::vector<std::string> relaxed;  // guarantees that this deployment does without, as sentences
};

class Backend {
 public:
  virtual ~Backend() = default;
  // Runs exchange::serve() with the context of the calling loop. May suspend. The views in what it
  // returns hold until the fiber waits again.
  virtual exchange::Served serve(const exchange::Invocation& invocation,
                                 exchange::ReplyWriter& writer) = 0;
  // Null: no valid program is installed.
  [[nodiscard]] virtual std::shared_ptr<const catalog::View> view() = 0;
  // The health by what is known now: must not wait.
  [[nodiscard]] virtual Health health() = 0;
};

}  // namespace turnpike::hosts
