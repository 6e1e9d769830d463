// PluginRunner: runs the background work of plugins (BoundObject::run): reconciling, asking third
// parties what they support. One background fiber for each bound object whose plugin declares such
// work; only objects of the generation in service are run.
//
// Owned by the gateway; started and stopped by its Thread, before the runtime stops.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>

#include "app/serving.h"
#include "base/log.h"
#include "runtime/runtime.h"
#include "runtime/wait.h"

namespace turnpike::app {

class PluginRunner {
 public:
  PluginRunner(runtime::Runtime& runtime, const Serving& serving, base::Log& log);
  ~PluginRunner();  // cancel(), then waits for the fibers without a deadline
  PluginRunner(const PluginRunner&) = delete;
  PluginRunner& operator=(const PluginRunner&) = delete;

  void cancel();  // also cancels running work
  // Returns whether all fibers ended by the deadline; a fiber whose plugin blocks the loop does
  // not.
  [[nodiscard]] bool has_ended(runtime::Deadline deadline);

 private:
  // The worker of one bound object, over all generations. A missing object may come back.
  struct Worker {
    std::string plugin;
    std::string upstream_id;
    runtime::Event ended;
    runtime::FiberHandle fiber;
  };

  void supervise();
  void start_new(const exchange::Service& service);
  void work(Worker& worker);
  // Returns when to run it again, in ms; nothing: the object is not in service, or asks for no
  // further run.
  std::optional<std::uint32_t> run_once(const exchange::Service& service, const Worker& worker);

  const Serving& serving_;
  base::Log& log_;
  std::list<Worker> workers_;  // of the supervising fiber; a list, for stable addresses
  runtime::FiberHandle supervisor_;
  runtime::Event ended_;
};

}  // namespace turnpike::app
