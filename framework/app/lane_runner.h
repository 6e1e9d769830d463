// LaneRunner: gives lane plugins the time for work of their own (BoundLane::run): reconciling,
// asking third parties what they support. One background fiber for each lane that a plugin brought;
// only the lane of the generation in service is run.
//
// Owned by the gateway; started and stopped by its Thread, before the runtime stops.
#pragma once

#include <list>
#include <span>
#include <string>

#include "app/generations.h"
#include "base/log.h"
#include "runtime/runtime.h"
#include "runtime/wait.h"

namespace turnpike::app {

class LaneRunner {
 public:
  LaneRunner(runtime::Runtime& runtime, const Generations& generations, base::Log& log,
             std::span<const std::string> lanes);
  ~LaneRunner();  // cancel(), then waits for the fibers' end, without end
  LaneRunner(const LaneRunner&) = delete;
  LaneRunner& operator=(const LaneRunner&) = delete;

  void cancel();  // the work under way, too
  // Whether all fibers ended by then; one whose plugin holds up the loop does not.
  [[nodiscard]] bool has_ended(runtime::Deadline deadline);

 private:
  struct Worker {
    std::string lane;
    runtime::Event ended;
    runtime::FiberHandle fiber;
  };

  void work(Worker& worker);
  // When to run it again, in ms; nothing: the lane is not in service, or wants no more.
  std::optional<std::uint32_t> run_once(const exchange::Service& service, const std::string& name);

  const Generations& generations_;
  base::Log& log_;
  std::list<Worker> workers_;  // their addresses stay
};

}  // namespace turnpike::app
