// OperatorHost: the host for operators, on a listener of its own that must not be reachable from
// outside: `/metrics` (Prometheus text), `/debug/fibers` (what every request waits for, and how
// long), `/healthz`; below `/internal/v1`, for operator credentials, corrections of usage
// (correction_route.h) and statements about the status (status_route.h); below `/console`, pages
// for operators (console.h).
//
// Owned by app/, given to wire::Server as a handler; called on the fibers of all loop Threads.
#pragma once

#include <turnpike/host.h>

#include "base/metrics.h"
#include "hosts/operator/console.h"
#include "hosts/operator/correction_route.h"
#include "hosts/operator/status_route.h"
#include "hosts/routed_host.h"
#include "runtime/runtime.h"
#include "wire/server.h"

namespace turnpike::hosts::operators {

// All parts outlive the host.
struct OperatorHostParts {
  runtime::Runtime& runtime;
  const base::Metrics& metrics;
  identity::Operators& operators;
  ledger::CorrectionStore& corrections;
  status::StatusStore& status;
  ConsoleParts console;
  const Clock& clock;
  Random& random;
  base::Log& log;
  AccessLog& access_log;
};

// The objects that the handlers use.
struct OperatorRooms {
  runtime::Runtime& runtime;
  const base::Metrics& metrics;
  const CorrectionRoute& corrections;
  const StatusRoute& status;
};

class OperatorHost final : public wire::Handler {
 public:
  explicit OperatorHost(const OperatorHostParts& parts);

  void handle(wire::Request& request, wire::Responder& responder) noexcept override {
    host_.handle(request, responder);
  }
  void refuse(const base::Error& error, wire::Request& request,
              wire::Responder& responder) noexcept override {
    host_.refuse(error, request, responder);
  }

 private:
  [[nodiscard]] std::vector<BoundRoute> rows() const;

  const CorrectionRoute corrections_;
  const StatusRoute status_;
  const OperatorRooms rooms_;
  const Console console_;
  const ConsoleRefusals refusals_;
  const Pages& pages_;
  RoutedHost host_;
};

}  // namespace turnpike::hosts::operators
