// The types that the derivations of proposal and topic events share. Private to the implementation
// of events.h. One Thread at a time.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "govdata/store/events.h"
#include "govdata/store/records.h"

namespace turnpike::govdata {

// The item that events are about.
struct EventItem {
  std::string_view kind;  // proposal or forum_topic
  std::int64_t pk = 0;
  std::string dao_id, provider, external_id;
};

// The reasons for an event's importance, as codes with points. The importance is their sum, 0 to
// 100.
class EventReasons {
 public:
  void add(std::string_view code, int points) {
    list_.push_back({{"code", code}, {"points", points}});
    sum_ += points;
  }
  // The sum, limited to 0 to 100. If the limit applies, adds a reason `bounded`, so that the points
  // still add up to the importance.
  int importance();
  [[nodiscard]] std::string json() const { return list_.dump(); }

 private:
  nlohmann::ordered_json list_ = nlohmann::ordered_json::array();
  int sum_ = 0;
};

struct DerivedEvent {
  EventType type = EventType::proposal_created;
  std::string bucket;  // distinguishes events of one type and item
  std::int64_t revision = 1;
  std::int64_t event_time = 0;
  std::int64_t discovered_time = 0;
  Confidence confidence = Confidence::exact;
  MaybeInteger deadline_at;
  EventReasons reasons;
  nlohmann::ordered_json details;
};

std::string event_id(const EventItem& item, EventType type, const std::string& bucket);

// Replaces the events of the item. Of several events with one id only the first is written.
void write_events(Database& database, const EventItem& item, std::vector<DerivedEvent> events);

void derive_proposal_events(Database& database, std::int64_t proposal_pk);
void derive_topic_events(Database& database, std::int64_t topic_pk);

}  // namespace turnpike::govdata
