// Prober: asks every upstream in service periodically whether it answers, so that a store that
// appears, a dead upstream or an open circuit breaker shows in readiness without a caller paying
// for the discovery. One background fiber; upstreams are asked one after the other, each with a
// short deadline of its own.
//
// Owned by the gateway; started and stopped by its Thread, before the runtime stops.
#pragma once

#include <cstdint>

#include "app/generations.h"
#include "runtime/runtime.h"
#include "runtime/wait.h"

namespace turnpike::app {

class Prober {
 public:
  Prober(runtime::Runtime& runtime, const Generations& generations, std::uint32_t interval_ms);
  ~Prober();  // cancels the probe under way and waits for the fiber's end
  Prober(const Prober&) = delete;
  Prober& operator=(const Prober&) = delete;

 private:
  void run();
  void probe_all();

  const Generations& generations_;
  const std::uint32_t interval_ms_;
  runtime::Event ended_;
  runtime::FiberHandle fiber_;
};

}  // namespace turnpike::app
