// Reads Stripe's events. An event has no effect except that an object is looked up: events may be
// duplicated, late, out of order, or forged by a holder of the webhook secret.
//
// Pure functions; any Thread may call them.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include <turnpike/processor.h>

#include "stripe/json.h"

namespace turnpike::stripe {

// The types of events that are used. Stripe's list of events takes at most 20 types.
std::span<const std::string_view> event_types() noexcept;

enum class EventKind : std::uint8_t {
  told,     // it has hints
  unused,   // its type is not in event_types()
  foreign,  // about an object of another origin, or of the other mode (live or test)
  strange,  // not an event
};

struct ReadEvent {
  EventKind kind = EventKind::strange;
  std::vector<Hint> hints;
};

// The deployment and the mode that an event must belong to.
struct Owner {
  std::string_view deployment_id;
  bool is_live = false;
};

ReadEvent read_event(JsonValue event, const Owner& owner);

}  // namespace turnpike::stripe
