// PatientCall: a call that nobody cancels and that ends at a deadline. Any Thread.
#pragma once

#include <cstdint>
#include <string_view>

#include <turnpike/call.h>

#include "runtime/deadline.h"

namespace turnpike::support {

class PatientCall final : public Call {
 public:
  explicit PatientCall(std::int64_t patience_ms)
      : deadline_(runtime::Deadline::after_ms(patience_ms)) {}
  [[nodiscard]] std::string_view request_id() const noexcept override { return "test"; }
  [[nodiscard]] std::int64_t deadline_ns() const noexcept override { return deadline_.ns; }
  [[nodiscard]] bool cancelled() const noexcept override { return false; }
  bool sleep_ms(std::uint32_t) noexcept override { return false; }

 private:
  const runtime::Deadline deadline_;
};

}  // namespace turnpike::support
