// What the two halves of the derivation share: an event before it is written, its reasons, and the
// id that names it. Private to events.h's implementation; one Thread.
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

// Codes and points; what they add up to is the importance, 0 to 100.
class EventReasons {
 public:
  void add(std::string_view code, int points) {
    list_.push_back({{"code", code}, {"points", points}});
    sum_ += points;
  }
  // Adds what is missing or too much, so that the points add up to the importance.
  int importance();
  [[nodiscard]] std::string json() const { return list_.dump(); }

 private:
  nlohmann::ordered_json list_ = nlohmann::ordered_json::array();
  int sum_ = 0;
};

struct DerivedEvent {
  EventType type = EventType::proposal_created;
  std::string bucket;  // what tells events of one type and item apart
  std::int64_t revision = 1;
  std::int64_t event_time = 0;
  std::int64_t discovered_time = 0;
  Confidence confidence = Confidence::exact;
  MaybeInteger deadline_at;
  EventReasons reasons;
  nlohmann::ordered_json details;
};

std::string event_id(const EventItem& item, EventType type, const std::string& bucket);

// Replaces the events of the item. Of two with one id the first is written.
void write_events(Database& database, const EventItem& item, std::vector<DerivedEvent> events);

void derive_proposal_events(Database& database, std::int64_t proposal_pk);
void derive_topic_events(Database& database, std::int64_t topic_pk);

}  // namespace turnpike::govdata
