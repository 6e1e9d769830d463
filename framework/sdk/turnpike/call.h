// Call: the circumstances of one execution: its deadline, whether somebody still waits for it, and
// its name. Owned by the host, valid until the plugin's function returns. Used by the one thread or
// fiber that runs the call, except cancelled(), which any Thread may read.
#pragma once

#include <cstdint>
#include <string_view>

namespace turnpike {

class Call {
 public:
  virtual ~Call() = default;
  // UUIDv7 of the request, as in X-Request-Id.
  [[nodiscard]] virtual std::string_view request_id() const noexcept = 0;
  // On the scale of Clock::monotonic_ns(). It may move on while a reply is given to a ReplySink:
  // the time that the sink waited for the caller does not count. So ask anew before each wait.
  [[nodiscard]] virtual std::int64_t deadline_ns() const noexcept = 0;
  [[nodiscard]] virtual bool cancelled() const noexcept = 0;
  // Waits; false when the deadline or a cancellation ended the wait early.
  virtual bool sleep_ms(std::uint32_t duration_ms) noexcept = 0;
};

}  // namespace turnpike
