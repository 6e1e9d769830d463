// OwnCall: a Call for work that no request started: in bind() and in a lane's command, where the
// store and HTTP need a Call. Its deadline is `timeout_ms` after its construction. It is never
// cancelled and has no request id. Lives on the stack of the code that uses it; sleep_ms() blocks
// the thread, which bind() and commands may do.
//
// Helpers are compiled into the plugin that uses them (see mistakes.h).
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string_view>

#include <turnpike/call.h>
#include <turnpike/host.h>

namespace turnpike {

class OwnCall final : public Call {
 public:
  OwnCall(const Clock& clock, std::int64_t timeout_ms)
      : clock_(clock), deadline_ns_(clock.monotonic_ns() + timeout_ms * 1'000'000) {}

  [[nodiscard]] std::string_view request_id() const noexcept override { return {}; }
  [[nodiscard]] std::int64_t deadline_ns() const noexcept override { return deadline_ns_; }
  [[nodiscard]] bool cancelled() const noexcept override { return false; }
  bool sleep_ms(std::uint32_t duration_ms) noexcept override {
    const std::int64_t left_ms = (deadline_ns_ - clock_.monotonic_ns()) / 1'000'000;
    const std::int64_t wait_ms = std::min(left_ms, std::int64_t{duration_ms});
    std::mutex mutex;
    std::condition_variable never;
    std::unique_lock lock(mutex);
    const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(wait_ms);
    while (wait_ms > 0 && never.wait_until(lock, until) != std::cv_status::timeout) {
    }
    return left_ms >= std::int64_t{duration_ms};
  }

 private:
  const Clock& clock_;
  const std::int64_t deadline_ns_;
};

}  // namespace turnpike
