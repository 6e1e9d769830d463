// The documents about the service on every public host: liveness, readiness, and the build and
// generation that serve. Pure functions; any Thread.
#pragma once

#include <string>

#include "catalog/view.h"
#include "hosts/backend.h"
#include "hosts/turn.h"

namespace turnpike::hosts {

// The facts in /version beside the generation.
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
// 503 when a dependency of the gateway is not ready.
ServiceDocument readiness_document(const Health& health);
// `view` may be null: no valid program is installed.
ServiceDocument version_document(const BuildInfo& build, const catalog::View* view);

void send(Turn& turn, const ServiceDocument& document);

}  // namespace turnpike::hosts
