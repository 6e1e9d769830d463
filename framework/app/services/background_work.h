// BackgroundWork: the fibers of one service that run beside calls, until the service stops.
//
// Owned by the service, as its last member: what the fibers use outlives them. Any Thread may call
// it.
#pragma once

#include <list>
#include <mutex>
#include <string>

#include "runtime/deadline.h"
#include "runtime/loop.h"
#include "runtime/wait.h"

namespace turnpike::app {

class BackgroundWork {
 public:
  explicit BackgroundWork(runtime::Loop& loop) : loop_(loop) {}
  ~BackgroundWork();  // cancel(), then waits for the fibers without a deadline
  BackgroundWork(const BackgroundWork&) = delete;
  BackgroundWork& operator=(const BackgroundWork&) = delete;

  // Runs `work` on a fiber of the loop, which reports show as `name`. After cancel() the fiber is
  // cancelled from its beginning.
  void spawn(std::string name, runtime::Task work);
  // Frees what is kept of fibers that have ended; for services that spawn again and again.
  void forget_ended();

  void cancel();
  // Whether all fibers have ended by `deadline`. REQUIRES: cancel() was called, and nobody spawns
  // or forgets meanwhile.
  [[nodiscard]] bool has_ended(runtime::Deadline deadline);

 private:
  struct Work {
    runtime::FiberHandle fiber;
    runtime::Event ended;
  };

  runtime::Loop& loop_;
  std::mutex mutex_;  // guards the next two
  bool is_cancelled_ = false;
  std::list<Work> list_;  // a list, for stable addresses
};

}  // namespace turnpike::app
