// Audit events as people read them: who did what, when, and from where. Pure but for the store that
// read_events() asks, on the blocking pool; any Thread.
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

// What is known by a name of its own: people, keys. By id.
using NamesById = std::map<std::string, std::string, std::less<>>;

// "made the key" of "key.create"; of an action without words of its own: the action.
std::string_view words_of(std::string_view action) noexcept;
// The actions that an account's own log can have, in the order in which they are offered.
std::span<const std::string_view> actions_of_accounts() noexcept;

// Who a principal is: "user:usr_..." by name, else in plain words.
std::string who_is(std::string_view principal, const NamesById& names);

// Some events, newest first, and where those before them begin.
struct EventsPage {
  std::vector<identity::AuditEvent> events;
  std::optional<std::int64_t> next;  // sequence; nothing: these were the oldest
};
Result<EventsPage, base::Error> read_events(identity::AuditStore& audit,
                                            identity::AuditQuery query);

// The sequence behind which a page begins, as the query says; 0: at the newest event.
// request.query_rejected.
inline constexpr Parameter after_parameter{
    .name = "after",
    .description = "Where the page before ended.",
    .schema = R"({"type": "string", "pattern": "^[1-9][0-9]*$"})"};
Result<std::int64_t, base::Error> read_after(const Asked& asked);

// Fills {{>EVENTS}}.
void fill_events(site::Slots slots, const std::vector<identity::AuditEvent>& events,
                 const NamesById& names);

// One page of the events of a person, who reads them.
struct EventsView {
  static constexpr std::string_view layout = "people/events.html";
  const std::vector<identity::AuditEvent>& events;
  const NamesById& names;
  std::string next;  // path of the page with older ones; empty: there is none
  void fill(site::Slots slots) const;
};

}  // namespace turnpike::hosts::web
