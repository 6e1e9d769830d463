// Governance events: what the records of the store say happened, or will happen, to proposals and
// forum topics, one row of `governance_event` each.
//
// The table is a function of the records alone. No clock takes part: an event that the records
// foresee (a vote that will end) stands in the table from the import on, and readers take only rows
// whose event_time is not after their clock. So an event appears in a feed on the millisecond it
// happens, without a writer, and deriving everything anew gives the same bytes whenever it is done.
// What the clock decides beyond that (a proposal's outcome as of now, a signal's priority) is
// computed when it is read. Writer::finish() derives the items of its run anew in the transaction
// of the import.
//
// Of a schedule that was replaced (voting extended, a proposal edited), the events before the
// replacement was observed stay; those after it go. Where one run replaced it several times, only
// the last one counts. A cancellation is applied to every schedule, however late it was learnt.
//
// One Thread, inside a write Transaction of its Database; throws SqliteError.
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

// Derives the events of the proposals and topics named in the temporary tables `touched_proposal`,
// `touched_topic` and `observed_topic`, or of all where the store was derived by other rules.
void derive_touched_events(Database& database, std::int64_t now_ms);
// Derives all events anew.
void rebuild_events(Database& database, std::int64_t now_ms);
// False for a store that was filled before events were derived, or by other rules.
bool events_are_derived(Database& database);

}  // namespace turnpike::govdata
