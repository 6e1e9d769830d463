// Call: one execution: its deadline, whether the caller still waits for the result, and its request
// id. Owned by the host, valid until the plugin's function returns. Used by the one thread or fiber
// that runs the call, except cancelled(), which any Thread may read.
#pragma once

#include <cstdint>
#include <string_view>

namespace turnpike {

class Call {
 public:
  virtual ~Call() = default;
  // The UUIDv7 of the request, as in X-Request-Id.
  [[nodiscard]] virtual std::string_view request_id() const noexcept = 0;
  // The deadline on the scale of Clock::monotonic_ns(). It may move to a later time while a reply
  // is given to a ReplySink: time that the sink spends waiting for the caller does not count. So
  // read the deadline again before each wait.
  [[nodiscard]] virtual std::int64_t deadline_ns() const noexcept = 0;
  [[nodiscard]] virtual bool cancelled() const noexcept = 0;
  // Waits. Returns false when the deadline or a cancellation ended the wait early.
  virtual bool sleep_ms(std::uint32_t duration_ms) noexcept = 0;
};

}  // namespace turnpike
