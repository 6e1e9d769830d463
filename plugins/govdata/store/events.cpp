#include "govdata/store/events.h"

#include <algorithm>

#include "govdata/store/event_rows.h"
#include "govdata/store/digest.h"

namespace turnpike::govdata {
namespace {

// Must be changed when the derivation changes, so that stores derive their events anew.
constexpr std::int64_t derivation_rules = 1;

constexpr std::array<std::string_view, event_type_count> event_type_names = {
    "forum_discussion_active", "forum_topic_created",   "proposal_created",
    "proposal_updated",        "proposal_voting_ended", "proposal_voting_ending_soon",
    "proposal_voting_started"};

std::vector<std::int64_t> keys_of(Database& database, std::string_view sql) {
  std::vector<std::int64_t> keys;
  auto row = database.prepare(sql);
  while (row.step()) keys.push_back(row.integer(0));
  return keys;
}

void derive_items(Database& database, const std::vector<std::int64_t>& proposals,
                  const std::vector<std::int64_t>& topics, std::int64_t now_ms) {
  for (const std::int64_t pk : proposals) derive_proposal_events(database, pk);
  for (const std::int64_t pk : topics) derive_topic_events(database, pk);
  auto write = database.prepare("INSERT OR REPLACE INTO meta(key, value) VALUES (?1, ?2)");
  for (const auto& [key, value] :
       {std::pair<std::string_view, std::int64_t>{"derivation_rules", derivation_rules},
        {"last_derived_at", now_ms}}) {
    const std::string text = std::to_string(value);
    write.bind(1, key).bind(2, text).run();
  }
}

}  // namespace

std::string_view name_of(EventType type) { return event_type_names[std::size_t(type)]; }

std::optional<EventType> event_type_of(std::string_view name) {
  const auto found = std::find(event_type_names.begin(), event_type_names.end(), name);
  if (found == event_type_names.end()) return std::nullopt;
  return static_cast<EventType>(found - event_type_names.begin());
}

int EventReasons::importance() {
  const int bounded = std::clamp(sum_, 0, 100);
  if (bounded != sum_) add("bounded", bounded - sum_);
  return bounded;
}

std::string event_id(const EventItem& item, EventType type, const std::string& bucket) {
  constexpr char separator = 0x1f;
  constexpr std::size_t digits = 32;
  std::string text;
  for (const std::string_view part : {std::string_view(item.dao_id),
                                      std::string_view(item.provider), item.kind,
                                      std::string_view(item.external_id), name_of(type)}) {
    text.append(part);
    text += separator;
  }
  return "evt_" + sha256_hex(text + bucket).substr(0, digits);
}

void write_events(Database& database, const EventItem& item, std::vector<DerivedEvent> events) {
  database.prepare("DELETE FROM governance_event WHERE item_kind=?1 AND item_pk=?2")
      .with(item.kind, item.pk)
      .run();
  for (DerivedEvent& event : events) {
    const std::string id = event_id(item, event.type, event.bucket);
    const std::int64_t importance = event.reasons.importance();
    const std::string reasons = event.reasons.json();
    const std::string details = event.details.dump();
    database
        .prepare(
            "INSERT OR IGNORE INTO governance_event(event_id, dao_id, event_type, item_kind,"
            " item_pk, revision, event_time, discovered_time, time_confidence, importance,"
            " deadline_at, reasons_json, payload_json)"
            " VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13)")
        .with(id, item.dao_id, name_of(event.type), item.kind, item.pk, event.revision,
              event.event_time, event.discovered_time, name_of(event.confidence), importance,
              event.deadline_at, reasons, details)
        .run();
  }
}

void derive_touched_events(Database& database, std::int64_t now_ms) {
  if (!events_are_derived(database)) return rebuild_events(database, now_ms);
  derive_items(
      database, keys_of(database, "SELECT pk FROM touched_proposal"),
      keys_of(database, "SELECT pk FROM touched_topic UNION SELECT pk FROM observed_topic"),
      now_ms);
}

void rebuild_events(Database& database, std::int64_t now_ms) {
  database.execute("DELETE FROM governance_event");
  derive_items(database, keys_of(database, "SELECT proposal_pk FROM proposal"),
               keys_of(database, "SELECT topic_pk FROM forum_topic"), now_ms);
}

bool events_are_derived(Database& database) {
  return database.number(
             "SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'derivation_rules'") ==
         derivation_rules;
}

}  // namespace turnpike::govdata
