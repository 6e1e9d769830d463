// Delivery: one event on its way to one endpoint, and what becomes of it after each try. At least
// once, never twice at the same time: what was sent is known by what the receiver answered, and
// where that is not known it is sent again, under the same id.
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
  pending,    // it is due at some time
  delivered,  // the receiver said 2xx
  failed,     // the last try failed, or the receiver said 410
  cancelled,  // its endpoint was disabled first
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
  std::int64_t due_at_ms = 0;     // of one that is pending
  int last_status = 0;            // of the last try; 0: none, or no answer came
  std::string last_problem = {};  // a sentence; empty: none
  std::int64_t last_at_ms = -1;   // -1: it was not tried yet
  std::int64_t created_at_ms = 0;
  std::int64_t ended_at_ms = -1;
};

// One that is to be sent now.
struct DueDelivery {
  std::string id;
  std::string event_id;
  std::string endpoint_id;
  EventType type = EventType::endpoint_test;
  std::int64_t happened_at_ms = 0;
  std::string data;
  std::string url;
  std::string secret;           // bytes
  std::string old_secret = {};  // that signs, too; empty: none does
  std::int64_t lease_until_ms = 0;  // names the lease: whoever lost it changes nothing
};

// How a try ended.
struct Attempt {
  bool is_cut = false;       // the gateway stops: it is nobody's failure, and counts as no try
  int status = 0;            // 0: no answer came
  std::string problem = {};  // why; empty: the status says all
  std::int64_t retry_after_ms = 0;  // what the receiver asked for; 0: nothing
};
bool is_delivered(const Attempt& attempt) noexcept;
bool is_gone(const Attempt& attempt) noexcept;  // 410: it wants no more

// Tries: one at once and one after each of these.
inline constexpr std::int64_t retry_delays_ms[] = {5'000,          5 * 60'000,     30 * 60'000,
                                                   2 * 3'600'000,  5 * 3'600'000,  10 * 3'600'000,
                                                   10 * 3'600'000};
inline constexpr std::int64_t retry_after_ms_max = 24 * 3'600'000;
// An endpoint that answered nothing well for so long is disabled.
inline constexpr std::int64_t failing_ms_max = 5 * 24 * 3'600'000ll;

struct AfterAttempt {
  DeliveryState state = DeliveryState::pending;
  std::int64_t due_at_ms = 0;
};
// `attempts`: with this one. `chance`: any number; it moves the delay by up to a fifth either way.
AfterAttempt after_attempt(const Attempt& attempt, std::uint32_t attempts, std::int64_t now_ms,
                           std::uint32_t chance) noexcept;

// Why the endpoint is disabled after the try; none: it is not. `failing_since_ms`: -1, its last
// delivery went well.
DisabledReason disabled_by(const Attempt& attempt, std::int64_t failing_since_ms,
                           std::int64_t now_ms) noexcept;

}  // namespace turnpike::notices
