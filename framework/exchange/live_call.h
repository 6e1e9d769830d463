// LiveCall: the Call that plugins see. It is cancelled when the caller leaves or the gateway stops,
// unless it was told to outlive its caller: from the first byte of a reply's body, and while units
// are settled or released, only its deadline ends the work. The deadline is extended by the time
// for which the caller blocked the sending of the reply.
//
// Lives on the stack of serve(), on the fiber of the call; cancelled() may be called by any Thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string_view>

#include <turnpike/call.h>

#include "exchange/invocation.h"
#include "runtime/deadline.h"
#include "runtime/fiber.h"
#include "runtime/wait.h"

namespace turnpike::exchange {

class LiveCall final : public Call {
 public:
  LiveCall(std::string_view request_id, runtime::Deadline deadline, const Caller* caller) noexcept
      : request_id_(request_id), deadline_(deadline), caller_(caller) {}

  [[nodiscard]] std::string_view request_id() const noexcept override { return request_id_; }
  [[nodiscard]] std::int64_t deadline_ns() const noexcept override { return deadline_.ns; }
  [[nodiscard]] bool cancelled() const noexcept override {
    return !outlives_caller_.load(std::memory_order_relaxed) && standing() != Standing::waiting;
  }
  bool sleep_ms(std::uint32_t duration_ms) noexcept override {
    const auto until = runtime::Deadline::after_ms(duration_ms);
    return runtime::sleep_until(until.earlier(deadline_)) == runtime::Wake::deadline &&
           until.ns <= deadline_.ns && !cancelled();
  }

  // Restarts the deadline when the work begins. REQUIRES: nothing waits on the old deadline.
  void restart(runtime::Deadline deadline) noexcept { deadline_ = deadline; }

  // Adds time that was spent waiting for the caller.
  void extend(std::int64_t blocked_ns) noexcept {
    deadline_.ns += blocked_ns;
    blocked_ns_ += blocked_ns;
  }
  [[nodiscard]] std::int64_t blocked_ns() const noexcept { return blocked_ns_; }

  [[nodiscard]] Standing standing() const noexcept {
    return caller_ == nullptr ? Standing::waiting : caller_->standing();
  }

  void outlive_caller() noexcept {
    outlives_caller_.store(true, std::memory_order_relaxed);
    if (!mask_.has_value()) mask_.emplace();
  }

 private:
  const std::string_view request_id_;
  runtime::Deadline deadline_;
  std::int64_t blocked_ns_ = 0;
  const Caller* const caller_;
  std::atomic<bool> outlives_caller_{false};
  std::optional<runtime::CancelMask> mask_;
};

}  // namespace turnpike::exchange
