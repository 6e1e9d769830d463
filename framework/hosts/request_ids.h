// RequestIds: generates request ids on each loop without a lock.
//
// Owned by a host; next() is called on the fibers of all loop Threads.
#pragma once

#include <memory>
#include <vector>

#include "base/ids.h"
#include "runtime/runtime.h"

namespace turnpike::hosts {

class RequestIds {
 public:
  // All arguments outlive the object.
  RequestIds(const runtime::Runtime& runtime, const Clock& clock, Random& random) {
    for (std::size_t loop = 0; loop < runtime.loops().size(); ++loop) {
      sources_.push_back(std::make_unique<Source>(Source{base::UuidSource(clock, random)}));
    }
  }

  [[nodiscard]] base::UuidText next() noexcept {
    return sources_[runtime::Loop::current()->index()]->ids.next();
  }

 private:
  struct alignas(64) Source {  // one per loop: a UuidSource is not thread-safe
    base::UuidSource ids;
  };
  std::vector<std::unique_ptr<Source>> sources_;  // by index of the loop
};

}  // namespace turnpike::hosts
