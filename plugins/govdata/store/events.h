// Governance events: what has happened, or will happen, to proposals and forum topics according to
// the records of the store. Each event is a row of `governance_event`.
//
// The table is a function of the records alone and does not depend on a clock. A future event, such
// as the end of a vote, is in the table from the import on, and readers take only rows whose
// event_time is not after their clock. So an event appears in a feed at the millisecond it happens,
// without a write, and deriving all events again at any time gives the same bytes. Facts that
// depend on the clock in other ways (a proposal's outcome as of now, a signal's priority) are
// computed by readers. Writer::finish() derives the events of its run's items in the transaction of
// the import.
//
// If a schedule is replaced (voting is extended, a proposal is edited), its events from before the
// time when the replacement was observed stay, and the later ones are dropped. If one run replaces
// it several times, only the last schedule counts. A cancellation applies to every schedule, no
// matter when it became known.
//
// One Thread, inside a write Transaction of the Database; throws SqliteError.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "govdata/store/sqlite.h"

namespace turnpike::govdata {

enum class EventType : std::uint8_t {
  forum_discussion_active,
  forum_topic_created,
  proposal_created,
  proposal_updated,
  proposal_voting_ended,
  proposal_voting_ending_soon,
  proposal_voting_started
};
inline constexpr std::size_t event_type_count = 7;

std::string_view name_of(EventType type);
std::optional<EventType> event_type_of(std::string_view name);

// Derives the events of the proposals and topics in the temporary tables `touched_proposal`,
// `touched_topic` and `observed_topic`. If the store was derived by other rules, derives all
// events.
void derive_touched_events(Database& database, std::int64_t now_ms);
// Derives all events anew.
void rebuild_events(Database& database, std::int64_t now_ms);
// False if the store's events were never derived, or derived by other rules.
bool events_are_derived(Database& database);

}  // namespace turnpike::govdata
