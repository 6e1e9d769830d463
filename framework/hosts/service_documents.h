// The documents about the service on every public host: whether it lives, whether it is ready,
// which build and which generation serve. Pure functions; any Thread.
#pragma once

#include <string>

#include "catalog/view.h"
#include "hosts/backend.h"
#include "hosts/turn.h"

namespace turnpike::hosts {

// The facts that /version tells beside the generation.
struct BuildInfo {
  std::string version;      // of the release: "0.1.0"
  std::string build;        // commit, or "unknown"
  std::string environment;  // "development"
};

struct ServiceDocument {
  int status = 200;
  std::string body;  // JSON
};

ServiceDocument liveness_document();
// 503 when something that the gateway needs is not ready.
ServiceDocument readiness_document(const Health& health);
// `view` may be null: no valid program is installed.
ServiceDocument version_document(const BuildInfo& build, const catalog::View* view);

void send(Turn& turn, const ServiceDocument& document);

}  // namespace turnpike::hosts
