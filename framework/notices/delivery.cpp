#include "notices/delivery.h"

#include <algorithm>
#include <iterator>

namespace turnpike::notices {

std::string_view name_of(DeliveryState state) noexcept {
  switch (state) {
    case DeliveryState::pending: return "pending";
    case DeliveryState::delivered: return "delivered";
    case DeliveryState::failed: return "failed";
    case DeliveryState::cancelled: return "cancelled";
  }
  return "";
}

DeliveryState delivery_state_of(std::string_view name) noexcept {
  for (const auto state :
       {DeliveryState::delivered, DeliveryState::failed, DeliveryState::cancelled}) {
    if (name == name_of(state)) return state;
  }
  return DeliveryState::pending;
}

bool is_delivered(const Attempt& attempt) noexcept {
  return attempt.status >= 200 && attempt.status < 300;
}

bool is_gone(const Attempt& attempt) noexcept { return attempt.status == 410; }

AfterAttempt after_attempt(const Attempt& attempt, std::uint32_t attempts, std::int64_t now_ms,
                           std::uint32_t chance) noexcept {
  if (is_delivered(attempt)) return {DeliveryState::delivered, -1};
  if (is_gone(attempt) || attempts > std::size(retry_delays_ms)) {
    return {DeliveryState::failed, -1};
  }
  const std::int64_t delay_ms = retry_delays_ms[std::max(attempts, 1u) - 1];
  const std::int64_t moved_ms = delay_ms * (800 + chance % 401) / 1'000;
  const std::int64_t asked_ms = std::min(attempt.retry_after_ms, retry_after_ms_max);
  return {DeliveryState::pending, now_ms + std::max(moved_ms, asked_ms)};
}

DisabledReason disabled_by(const Attempt& attempt, std::int64_t failing_since_ms,
                           std::int64_t now_ms) noexcept {
  if (is_gone(attempt)) return DisabledReason::gone;
  if (is_delivered(attempt) || failing_since_ms < 0) return DisabledReason::none;
  return now_ms - failing_since_ms >= failing_ms_max ? DisabledReason::failing
                                                     : DisabledReason::none;
}

}  // namespace turnpike::notices
