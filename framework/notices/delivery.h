// Delivery: one event on its way to one endpoint, and its state after each try. At least once,
// never twice at the same time: only the receiver's reply confirms a delivery, and without a reply
// the delivery is sent again under the same id.
//
// Values and pure functions; any Thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "notices/endpoint.h"
#include "notices/event.h"

namespace turnpike::notices {

enum class DeliveryState : std::uint8_t {
  pending,    // due at some time
  delivered,  // the receiver replied 2xx
  failed,     // the last try failed, or the receiver replied 410
  cancelled,  // its endpoint was disabled before
};
std::string_view name_of(DeliveryState state) noexcept;
DeliveryState delivery_state_of(std::string_view name) noexcept;

struct Delivery {
  std::string id;  // "dlv_..."
  std::string account_id;
  std::string event_id;  // "evt_...": the webhook-id
  std::string endpoint_id;
  EventType type = EventType::endpoint_test;
  DeliveryState state = DeliveryState::pending;
  std::uint32_t attempts = 0;
  std::int64_t due_at_ms = 0;     // of a pending delivery
  int last_status = 0;            // of the last try; 0: no try, or no reply
  std::string last_problem = {};  // a sentence; empty: none
  std::int64_t last_at_ms = -1;   // -1: not tried yet
  std::int64_t created_at_ms = 0;
  std::int64_t ended_at_ms = -1;
};

// A delivery that is leased for sending now.
struct DueDelivery {
  std::string id;
  std::string event_id;
  std::string endpoint_id;
  EventType type = EventType::endpoint_test;
  std::int64_t happened_at_ms = 0;
  std::string data;
  std::string url;
  std::string secret;           // raw bytes
  std::string old_secret = {};  // signs as well; empty: none
  std::int64_t lease_until_ms = 0;  // fencing token: a stale holder changes nothing
};

// The outcome of a try.
struct Attempt {
  bool is_cut = false;       // cancelled by a stop of the gateway: neither a failure nor a try
  int status = 0;            // 0: no reply
  std::string problem = {};  // the reason; empty: the status says all
  std::int64_t retry_after_ms = 0;  // from the receiver; 0: none
};
bool is_delivered(const Attempt& attempt) noexcept;
bool is_gone(const Attempt& attempt) noexcept;  // 410: the receiver wants no more deliveries

// The delays between tries: the first try is immediate, and one follows after each delay.
inline constexpr std::int64_t retry_delays_ms[] = {5'000,          5 * 60'000,     30 * 60'000,
                                                   2 * 3'600'000,  5 * 3'600'000,  10 * 3'600'000,
                                                   10 * 3'600'000};
inline constexpr std::int64_t retry_after_ms_max = 24 * 3'600'000;
// An endpoint without a successful delivery for this long is disabled.
inline constexpr std::int64_t failing_ms_max = 5 * 24 * 3'600'000ll;

struct AfterAttempt {
  DeliveryState state = DeliveryState::pending;
  std::int64_t due_at_ms = 0;
};
// `attempts`: including this one. `chance`: any number; it is the jitter, up to a fifth of the
// delay either way.
AfterAttempt after_attempt(const Attempt& attempt, std::uint32_t attempts, std::int64_t now_ms,
                           std::uint32_t chance) noexcept;

// Returns why the endpoint is disabled after the try; none: it is not. `failing_since_ms`: -1 if
// its last delivery succeeded.
DisabledReason disabled_by(const Attempt& attempt, std::int64_t failing_since_ms,
                           std::int64_t now_ms) noexcept;

}  // namespace turnpike::notices
