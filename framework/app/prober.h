// Prober: asks every upstream in service periodically whether it answers, so that a store that
// appears, a dead upstream or an open circuit breaker shows in readiness without a caller paying
// for the discovery, and the operator is told (exchange/call_reports.h). One background fiber;
// upstreams are asked one after the other, each with a short deadline of its own.
//
// Owned by the gateway; started and stopped by its Thread, before the runtime stops.
#pragma once

#include <cstdint>

#include "app/serving.h"
#include "exchange/call_reports.h"
#include "runtime/runtime.h"
#include "runtime/wait.h"

namespace turnpike::app {

class Prober {
 public:
  Prober(runtime::Runtime& runtime, const Serving& serving, exchange::CallReports& reports,
         std::uint32_t interval_ms);
  ~Prober();  // cancel(), then waits for the fiber's end, without end
  Prober(const Prober&) = delete;
  Prober& operator=(const Prober&) = delete;

  void cancel() { fiber_.cancel(); }  // the probe under way, too
  // Whether the fiber ended by then; one whose plugin holds up the loop does not.
  [[nodiscard]] bool has_ended(runtime::Deadline deadline) {
    return ended_.wait(deadline) == runtime::Wake::ready;
  }

 private:
  void run();
  void probe_all();

  const Serving& serving_;
  exchange::CallReports& reports_;
  const std::uint32_t interval_ms_;
  runtime::Event ended_;
  runtime::FiberHandle fiber_;
};

}  // namespace turnpike::app
