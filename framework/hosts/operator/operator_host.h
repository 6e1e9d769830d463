// OperatorHost: what the people who run the gateway see and do, on a listener of its own that must
// not be reachable from outside: `/metrics` (Prometheus text), `/debug/fibers` (what every request
// waits for, and how long), `/healthz`, and the corrections of usage below `/internal/v1`, which
// need an operator credential (correction_route.h).
//
// Owned by app/, given to wire::Server as a handler; called on the fibers of all loop Threads.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <turnpike/host.h>

#include "base/ids.h"
#include "base/metrics.h"
#include "hosts/operator/correction_route.h"
#include "runtime/runtime.h"
#include "wire/server.h"

namespace turnpike::hosts::operators {

// All outlive the host.
struct OperatorHostParts {
  runtime::Runtime& runtime;
  const base::Metrics& metrics;
  identity::Operators& operators;
  ledger::CorrectionStore& corrections;
  const Clock& clock;
  Random& random;
  base::Log& log;
};

class OperatorHost final : public wire::Handler {
 public:
  explicit OperatorHost(const OperatorHostParts& parts);

  void handle(wire::Request& request, wire::Responder& responder) override;
  void refuse(const base::Error& error, wire::Request& request,
              wire::Responder& responder) override;

 private:
  class Exchange;
  void correct(Exchange& exchange, const CorrectionRoute::Target& target);

  runtime::Runtime& runtime_;
  const base::Metrics& metrics_;
  const CorrectionRoute corrections_;
  std::vector<std::unique_ptr<base::UuidSource>> ids_;  // by loop, used by its Thread alone
};

}  // namespace turnpike::hosts::operators
