// Audit events as text for people: actor, action, time, and origin. Pure, except that read_events()
// asks the store on the blocking pool; any Thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <turnpike/result.h>

#include "base/error.h"
#include "hosts/route.h"
#include "identity/audit.h"
#include "site/templates.h"

namespace turnpike::hosts::web {

// Names of people and keys, by id.
using NamesById = std::map<std::string, std::string, std::less<>>;

// Returns "made the key" for "key.create"; an action without a text is returned unchanged.
std::string_view words_of(std::string_view action) noexcept;
// Returns the actions that an account's log can have, in display order.
std::span<const std::string_view> actions_of_accounts() noexcept;

// Returns the name of a principal such as "user:usr_...", or a description.
std::string who_is(std::string_view principal, const NamesById& names);

// Some events, newest first, and the start of the next older page.
struct EventsPage {
  std::vector<identity::AuditEvent> events;
  std::optional<std::int64_t> next;  // sequence; nothing: no older events
};
Result<EventsPage, base::Error> read_events(identity::AuditStore& audit,
                                            identity::AuditQuery query);

// Reads the sequence behind which a page begins; 0: at the newest event. Error:
// request.query_rejected.
inline constexpr Parameter after_parameter{
    .name = "after",
    .description = "Where the page before ended.",
    .schema = R"({"type": "string", "pattern": "^[1-9][0-9]*$"})"};
Result<std::int64_t, base::Error> read_after(const Asked& asked);

// Fills {{>EVENTS}}.
void fill_events(site::Slots slots, const std::vector<identity::AuditEvent>& events,
                 const NamesById& names);

// A page of a person's own events.
struct EventsView {
  static constexpr std::string_view layout = "people/events.html";
  const std::vector<identity::AuditEvent>& events;
  const NamesById& names;
  std::string next;  // path of the page with older events; empty: none
  void fill(site::Slots slots) const;
};

}  // namespace turnpike::hosts::web
