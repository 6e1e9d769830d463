// Calls with a deadline other than the caller's, or without a caller. Used on the stack, by one
// thread or fiber.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

#include <turnpike/call.h>
#include <turnpike/host.h>

namespace turnpike::x402 {

// For work that has no caller: binding, commands.
class OwnCall final : public Call {
 public:
  OwnCall(const Clock& clock, std::int64_t timeout_ms)
      : deadline_ns_(clock.monotonic_ns() + timeout_ms * 1'000'000) {}
  [[nodiscard]] std::string_view request_id() const noexcept override { return {}; }
  [[nodiscard]] std::int64_t deadline_ns() const noexcept override { return deadline_ns_; }
  [[nodiscard]] bool cancelled() const noexcept override { return false; }
  bool sleep_ms(std::uint32_t) noexcept override { return false; }

 private:
  const std::int64_t deadline_ns_;
};

// A caller's call with a later deadline and without cancellation: the time that a payment takes to
// be collected is not the upstream's time.
class ExtendedCall final : public Call {
 public:
  ExtendedCall(Call& call, const Clock& clock, std::int64_t timeout_ms)
      : call_(call), deadline_ns_(clock.monotonic_ns() + timeout_ms * 1'000'000) {}
  [[nodiscard]] std::string_view request_id() const noexcept override { return call_.request_id(); }
  [[nodiscard]] std::int64_t deadline_ns() const noexcept override { return deadline_ns_; }
  [[nodiscard]] bool cancelled() const noexcept override { return false; }
  bool sleep_ms(std::uint32_t duration_ms) noexcept override { return call_.sleep_ms(duration_ms); }

 private:
  Call& call_;
  const std::int64_t deadline_ns_;
};

}  // namespace turnpike::x402
