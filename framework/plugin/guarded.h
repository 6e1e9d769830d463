// Code that the wrapped objects of all slots share: calls a plugin where it may block, destroys its
// objects there, and forwards the offers of any plugin (turnpike/offers.h). Used by guard.cpp and
// lane_guard.cpp; safe on any Thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <turnpike/offers.h>

#include "plugin/contained.h"
#include "plugin/guard.h"
#include "plugin/offers.h"
#include "plugin/pool_call.h"
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

// Runs `work(call)`, which calls the plugin and returns a Result, for a waiting caller: directly,
// or on the pool, where it gets a Call of its own, since it may outlive the caller's. `work` must
// therefore own everything that it uses.
template <class Work>
auto call_plugin(Guard& guard, Call& call, Work work) -> decltype(work(call)) {
  using Outcome = decltype(work(call));
  const Guard::Visit visit(guard);
  const auto finished = [&](Outcome outcome) -> Outcome {
    if (outcome.ok()) return outcome;
    return guard.finish(std::move(outcome).error(), call.request_id()).error();
  };
  if (!guard.uses_pool()) {
    const Guard::Tag tag(guard);
    return finished(contained([&] { return work(call); }));
  }
  const auto circumstances = std::make_shared<PoolCircumstances>(call);
  auto reply = guard.pool().call(
      guard.pool_user(),
      [circumstances, work = std::move(work)] {
        return contained([&] { return work(*circumstances); });
      },
      runtime::Deadline{call.deadline_ns()});
  using runtime::PoolOutcome;
  if (reply.outcome == PoolOutcome::done) return finished(*std::move(reply.value));
  circumstances->stop();
  if (reply.outcome == PoolOutcome::refused) {
    return finished(Failure{FailureKind::unavailable, "its share of the pool is full", {}, false});
  }
  const bool is_late = reply.outcome == PoolOutcome::deadline;
  return finished(Failure{is_late ? FailureKind::timeout : FailureKind::cancelled,
                          is_late ? "it had not returned at the deadline" : "the caller left",
                          {},
                          true});
}

// A request of the intake whose views point into itself.
class OwnedIntake {
 public:
  explicit OwnedIntake(const IntakeRequest& request)
      : texts_{std::string(request.path), std::string(request.query), std::string(request.body),
               std::string(request.peer)},
        method_(request.method) {
    for (const HeaderField& field : request.headers) {
      owned_.push_back({std::string(field.name), std::string(field.value)});
    }
    for (const OwnedHeader& header : owned_) fields_.push_back({header.name, header.value});
  }
  OwnedIntake(const OwnedIntake&) = delete;
  OwnedIntake& operator=(const OwnedIntake&) = delete;
  [[nodiscard]] IntakeRequest view() const {
    return {method_, texts_[0], texts_[1], fields_, texts_[2], texts_[3]};
  }

 private:
  const std::string texts_[4];
  const Method method_;
  std::vector<OwnedHeader> owned_;
  std::vector<HeaderField> fields_;
};

// Forwards the offers of a bound object, for the wrapper of one that implements `Interface`.
template <class Interface>
class GuardedBound : public Interface {
 public:
  // `offering` is the plugin's object, also held by abandoned calls.
  GuardedBound(Guard& guard, std::shared_ptr<BoundObject> offering)
      : guard_(guard), offering_(std::move(offering)) {}

  Result<std::optional<Document>> document(std::string_view path, Call& call) override {
    return call_plugin(guard_, call, [object = offering_, path = std::string(path)](Call& own) {
      return object->document(path, own);
    });
  }

  Result<IntakeReply> receive(const IntakeRequest& request, Call& call) override {
    const auto kept = std::make_shared<OwnedIntake>(request);
    return call_plugin(guard_, call, [object = offering_, kept](Call& own) -> Result<IntakeReply> {
      auto reply = object->receive(kept->view(), own);
      if (!reply.ok()) return reply;
      std::string problem = problem_of_reply(*reply);
      if (problem.empty()) return reply;
      return Failure{FailureKind::plugin_fault, std::move(problem), {}, true};
    });
  }

  Result<std::uint32_t> run(Call& call) override {
    return call_plugin(guard_, call, [object = offering_](Call& own) { return object->run(own); });
  }

 protected:
  Guard& guard_;

 private:
  const std::shared_ptr<BoundObject> offering_;
};

// Forwards the offers of a slot's object, for the wrapper of one that implements `Interface`.
template <class Interface>
class GuardedSlot : public Interface {
 public:
  GuardedSlot(Guard& guard, Interface& inner) : guard_(guard), inner_(inner) {}

  [[nodiscard]] Offers offers() const noexcept override { return inner_.offers(); }

  // Runs on a plain Thread of a separate process: nothing else waits for it.
  int command(std::string_view word, const CommandInput& input, Console& console,
              Host& host) override {
    const auto code =
        contained([&]() -> Result<int> { return inner_.command(word, input, console, host); });
    if (code.ok()) return *code;
    console.error("the plugin failed: " + code.error().message);
    return 1;
  }

 protected:
  Guard& guard_;
  Interface& inner_;
};

}  // namespace turnpike::plugin
