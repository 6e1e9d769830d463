// Functions that the wrapped providers and lanes share: they bind a plugin where it may block, and
// they destroy its objects. Used by guard.cpp and lane_guard.cpp; safe on any Thread.
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "plugin/contained.h"
#include "plugin/guard.h"
#include "runtime/fiber.h"
#include "runtime/loop.h"

namespace turnpike::plugin {

// Runs `work` on the pool, even when the queue of the pool is full. After the pool has stopped,
// runs it on the calling Thread: by then the loops have stopped, too, so nothing is held up.
inline void run_owed(Guard& guard, const std::shared_ptr<runtime::PoolWork>& work) {
  if (!guard.pool().post(guard.pool_user(), work)) work->run();
}

// An object of the plugin, shared by its wrapper and by calls that outlive the wrapper. Its
// destructor may block, so it never runs on a loop: it runs on the pool, or directly when the last
// reference is dropped on a plain Thread.
template <class Object>
std::shared_ptr<Object> share(Guard& guard, std::unique_ptr<Object> object) {
  struct Discard final : runtime::PoolWork {
    explicit Discard(Object* last) : object(last) {}
    void run() noexcept override { object.reset(); }
    std::unique_ptr<Object> object;
  };
  return {object.release(), [&guard](Object* last) {
            auto discard = std::make_shared<Discard>(last);
            if (runtime::Loop::current() == nullptr) return discard->run();
            run_owed(guard, discard);
          }};
}

// The object that the plugin's bind() returned, or a failure that names the missing object by
// `what`.
template <class Object, class Bind>
Result<std::unique_ptr<Object>> bind_guarded(Guard& guard, std::string_view what, Bind bind) {
  using Bound = Result<std::unique_ptr<Object>>;
  std::optional<Bound> bound;
  const auto bind_here = [&] { bound.emplace(contained([&]() -> Bound { return bind(); })); };
  if (guard.uses_pool() && runtime::Fiber::current() != nullptr) {
    if (!guard.pool().run_to_end(guard.pool_user(), bind_here)) {
      return Failure{FailureKind::unavailable, "its share of the pool is full", {}, false};
    }
  } else {
    const Guard::Tag tag(guard);
    bind_here();
  }
  if (bound->ok() && **bound == nullptr) {
    const std::string message = "bind() returned no " + std::string(what);
    return Failure{FailureKind::plugin_fault, message, {}, false};
  }
  return *std::move(bound);
}

}  // namespace turnpike::plugin
