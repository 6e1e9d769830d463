// OperatorHost: what the people who run the gateway look at, on a listener of its own that must not
// be reachable from outside: `/metrics` (Prometheus text), `/debug/fibers` (what every request
// waits for, and how long), `/healthz`.
//
// Owned by app/, given to wire::Server as a handler; called on the fibers of all loop Threads.
#pragma once

#include "base/metrics.h"
#include "runtime/runtime.h"
#include "wire/server.h"

namespace turnpike::hosts::operators {

class OperatorHost final : public wire::Handler {
 public:
  // Both outlive the host.
  OperatorHost(runtime::Runtime& runtime, const base::Metrics& metrics)
      : runtime_(runtime), metrics_(metrics) {}

  void handle(wire::Request& request, wire::Responder& responder) noexcept override;
  void refuse(const base::Error& error, wire::Request& request,
              wire::Responder& responder) noexcept override;

 private:
  runtime::Runtime& runtime_;
  const base::Metrics& metrics_;
};

}  // namespace turnpike::hosts::operators
