// Runs test bodies on fibers and on plain Threads, since waits must work the same on both. Used by
// the test's Thread.
#pragma once

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "runtime/runtime.h"

namespace turnpike::runtime {

// Starts fibers or Threads; all have ended when it is destroyed.
class Lines {
 public:
  explicit Lines(bool on_fibers, std::uint32_t loops = 2) : on_fibers_(on_fibers) {
    RuntimeOptions options;
    options.loops = loops;
    runtime_ = std::make_unique<Runtime>(options);
  }
  ~Lines() { join(); }
  void start(std::function<void()> function) {
    if (!on_fibers_) {
      threads_.emplace_back(std::move(function));
      return;
    }
    ++started_;
    const auto& loop = runtime_->loops()[started_ % runtime_->loops().size()];
    loop->spawn([this, function = std::move(function)] {
      function();
      ended_.release();
    });
  }
  void join() {
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
    for (; started_ > 0; --started_) static_cast<void>(ended_.acquire(Deadline::never()));
  }
  Runtime& runtime() { return *runtime_; }

 private:
  const bool on_fibers_;
  Semaphore ended_{0};
  std::unique_ptr<Runtime> runtime_;
  std::vector<std::thread> threads_;
  std::size_t started_ = 0;
};

// Runs `function` on one fiber of the runtime's first loop and waits for its end.
inline void on_fiber(Runtime& runtime, std::function<void()> function) {
  Event ended;
  runtime.loops()[0]->spawn([&] {
    function();
    ended.set();
  });
  static_cast<void>(ended.wait(Deadline::never()));
}

}  // namespace turnpike::runtime
