// Fold: applies one round to a book. run() lists the steps in order.
//
// Lives on the stack of Book::apply().
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "status/book_state.h"
#include "status/incidents.h"

namespace turnpike::status {

class Fold {
 public:
  Fold(Book::State& state, const TargetSet& targets, const RoundHead& head,
       std::span<const Record> records)
      : state_(state),
        targets_(targets),
        head_(head),
        records_(records),
        now_ms_(head.ended_at_ms) {}

  Changes run();

 private:
  // ---- fold.cpp ----
  [[nodiscard]] bool is_coherent() const;
  void doubt_everything();
  void take_round();
  void advance();
  void expect_looks(std::int64_t from_ms, std::int64_t to_ms);
  void answer_early_looks();
  void answer(const Member& member, const EarlyLook& look);
  void take(const Record& record);
  void take_look(const Member& member, Track& track, const Record& record);
  void take_regular(const Member& member, Track& track, const Record& record);
  void take_traffic(const Member& member, const Record& record);
  void judge_targets();
  void judge_target(Member& member);
  void judge_scopes();
  void judge_scope(ScopeParts& parts);
  [[nodiscard]] std::vector<Seen> seen_of(const ScopeParts& parts, const TargetKind* kind) const;
  [[nodiscard]] std::optional<Level> pricing_of(const ScopeParts& parts) const;
  [[nodiscard]] std::optional<Level> traffic_of(const ScopeParts& parts) const;
  void set_times(const ScopeParts& parts);
  void mark_segments();

  // ---- fold_incidents.cpp ----
  struct Cause {  // the failures of one scope in this round
    std::vector<FailedTarget> failed;
    std::int64_t started_at_ms = 0;  // of absorbed suspicions; 0: none
    bool is_absorbed = false;
  };
  using Causes = std::vector<Cause>;  // by scope
  [[nodiscard]] Causes causes_of() const;
  void blame(Causes& causes, std::string_view scope, const Member& member) const;
  void blame_targets(Causes& causes) const;
  void blame_traffic(Causes& causes) const;
  [[nodiscard]] const Member* member(std::string_view target) const;
  [[nodiscard]] bool is_provider_caused(const Target& target) const;
  void follow_incidents();
  void doubt_incidents();
  void follow(const ScopeParts& parts, Causes& causes);
  std::size_t begin_incident(const ScopeParts& parts, const Cause& cause);
  void gather(IncidentCase& kept, const Cause& cause) const;
  void follow_edges(Incident& incident, Situation now, const ScopeParts* parts, Cause& cause);
  void follow_edge(const IncidentRule& rule, Incident& incident, const Situation& now);
  void change_state(const IncidentRule& rule, Incident& incident);
  void end_incident(Incident& incident);
  [[nodiscard]] Situation situation_of(const Incident& incident) const;
  void add_facts(Situation& now, const ScopeParts& parts, const Incident& incident,
                 const Cause& cause) const;
  [[nodiscard]] Level cause_level(const ScopeParts& parts, const IncidentCase& kept) const;
  void describe(Incident& incident) const;
  void forget_old_incidents();
  [[nodiscard]] const Track* track_of(const FailedTarget& failed) const;

  Book::State& state_;
  const TargetSet& targets_;
  const RoundHead& head_;
  const std::span<const Record> records_;
  const std::int64_t now_ms_;
  std::map<std::string, std::size_t, std::less<>> unresolved_;  // by scope, in state_.incidents
  bool windows_changed_ = false;  // set when an incident ended
  Changes changes_;
};

}  // namespace turnpike::status
