// A call that is never cancelled and never waits. One Thread.
#pragma once

#include <cstdint>
#include <string_view>

#include <turnpike/call.h>

namespace turnpike::lanes {

class PlainCall final : public Call {
 public:
  [[nodiscard]] std::string_view request_id() const noexcept override { return "r"; }
  [[nodiscard]] std::int64_t deadline_ns() const noexcept override { return 30'000'000'000; }
  [[nodiscard]] bool cancelled() const noexcept override { return false; }
  bool sleep_ms(std::uint32_t) noexcept override { return true; }
};

}  // namespace turnpike::lanes
