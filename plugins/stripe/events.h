// Which of Stripe's events are reasons to look something up, and what to look up. An event has no
// effect of its own: it may be doubled, late, out of order, or forged by whoever has the secret.
//
// Pure functions; any Thread.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include <turnpike/processor.h>

#include "stripe/json.h"

namespace turnpike::stripe {

// All that are used; Stripe's list takes at most 20.
std::span<const std::string_view> event_types() noexcept;

enum class EventKind : std::uint8_t {
  told,     // there are hints
  unused,   // of a type that means nothing here
  foreign,  // about what this deployment did not make, or of the other mode
  strange,  // no event at all
};

struct ReadEvent {
  EventKind kind = EventKind::strange;
  std::vector<Hint> hints;
};

// Whose an object must be.
struct Owner {
  std::string_view deployment_id;
  bool is_live = false;
};

ReadEvent read_event(JsonValue event, const Owner& owner);

}  // namespace turnpike::stripe
