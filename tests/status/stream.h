// Stream: evidence on a virtual clock. It makes the looks that are due with the results that the
// test sets, closes rounds, and keeps everything so that it can be read again. One Thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "crypto/signature.h"
#include "status/book.h"
#include "status/evidence.h"
#include "status/rules.h"
#include "status/store.h"
#include "status/target.h"

namespace turnpike::status {

inline constexpr std::int64_t minute_ms = 60'000;
// 2026-11-23T00:00:00.000Z, a Monday.
inline constexpr std::int64_t test_begin_ms = 1'795'392'000'000;

inline Target sentinel(const std::string& check) {
  Target target;
  target.name = "gateway:" + check;
  target.kind = TargetKind::sentinel;
  target.interval_ms = minute_ms;
  return target;
}

inline Target upstream(const std::string& id, const std::string& provider,
                       std::int64_t interval_ms = minute_ms) {
  Target target;
  target.name = "upstream:" + id;
  target.kind = TargetKind::reachability;
  target.interval_ms = interval_ms;
  target.provider = provider;
  target.upstream = id;
  return target;
}

inline Target operation(const std::string& name, const std::string& provider,
                        const std::string& upstream_id, std::int64_t interval_ms = minute_ms,
                        MonitoringClass monitoring = MonitoringClass::continuous) {
  Target target;
  target.name = "operation:" + name;
  target.kind = TargetKind::contract;
  target.monitoring = monitoring;
  target.interval_ms = monitoring == MonitoringClass::continuous ? interval_ms : 0;
  target.provider = provider;
  target.upstream = upstream_id;
  target.operation = name;
  return target;
}

// Targets with only a name: "traffic:gateway", "traffic:provider:p", "pricing:op", "lane:x402".
inline Target plain(const std::string& name, TargetKind kind, const std::string& provider = "",
                    const std::string& operation_name = "") {
  Target target;
  target.name = name;
  target.kind = kind;
  target.interval_ms = minute_ms;
  target.provider = provider;
  target.operation = operation_name;
  return target;
}

inline TargetSet set_of(std::vector<Target> targets) {
  std::sort(targets.begin(), targets.end(),
            [](const Target& left, const Target& right) { return left.name < right.name; });
  TargetSet set;
  set.targets = std::move(targets);
  return set;
}

// A dozen targets: two providers, three operations, and the targets of their surroundings.
inline TargetSet dozen() {
  return set_of({sentinel("healthz"), sentinel("mcp_ping"), upstream("a", "alpha"),
                 upstream("b", "beta"), operation("a1:GET", "alpha", "a"),
                 operation("a2:GET", "alpha", "a", 5 * minute_ms),
                 operation("b1:POST", "beta", "b"),
                 plain("traffic:gateway", TargetKind::traffic),
                 plain("traffic:provider:alpha", TargetKind::traffic, "alpha"),
                 plain("traffic:operation:a1:GET", TargetKind::traffic, "alpha", "a1:GET"),
                 plain("pricing:a1:GET", TargetKind::pricing, "alpha", "a1:GET"),
                 plain("lane:x402", TargetKind::lane)});
}

inline RecordKind record_kind(TargetKind kind) {
  switch (kind) {
    case TargetKind::sentinel: return RecordKind::sentinel;
    case TargetKind::reachability: return RecordKind::probe;
    case TargetKind::contract: return RecordKind::contract;
    case TargetKind::traffic: return RecordKind::traffic;
    case TargetKind::pricing:
    case TargetKind::lane: break;
  }
  return RecordKind::pricing;
}

inline Traffic traffic_of(std::uint32_t provider_fault, std::uint32_t gateway_fault = 0) {
  return {.is_thin = false,
          .good = traffic_parts - provider_fault - gateway_fault,
          .provider_fault = provider_fault,
          .gateway_fault = gateway_fault,
          .counts = std::nullopt};
}

class Stream {
 public:
  // The result of a look; nothing if it is not made.
  using Looker = std::function<std::optional<LookResult>(const Target&, const std::string& node,
                                                         std::int64_t due_at_ms)>;

  explicit Stream(TargetSet targets) : set(std::move(targets)) {
    for (std::size_t at = 0; at < seed.size(); ++at) seed[at] = static_cast<std::uint8_t>(at + 1);
  }

  TargetSet set;
  std::vector<std::string> nodes = {"n_1"};
  std::string generation = "g_1";
  std::uint64_t epoch = 1;
  std::int64_t now_ms = test_begin_ms;
  crypto::Ed25519Seed seed{};
  // The names of targets whose looks fail, and of targets whose looks are not made.
  std::set<std::string> failing;
  std::set<std::string> silent;
  std::map<std::string, Traffic> traffic;  // by target; absent: too few calls
  std::map<std::string, Reason> reasons;
  std::map<std::string, std::string> differences;
  Looker looker;  // asked before the sets above
  bool signs = false;  // true: fills `stored`

  Book book;
  std::vector<StoredRound> stored;
  std::vector<std::string> sets;  // canonical, for each stored round
  Changes changes;                // of the newest round
  std::vector<IncidentEvent> events;
  std::map<std::tuple<std::string, std::int64_t, std::int64_t>, Segment> segments;

  // Makes the looks that are due in [now_ms, now_ms + length_ms).
  std::vector<Record> looks(std::int64_t length_ms = minute_ms) {
    std::vector<Record> records;
    for (const Target& target : set.targets) {
      const std::vector<std::string> alone = {"n_1"};
      const bool is_sentinel = target.kind == TargetKind::sentinel;
      const std::int64_t interval_ms = target.interval_ms;
      if (interval_ms == 0) continue;
      std::int64_t due = now_ms + (phase_ms(target) - now_ms % interval_ms + interval_ms) %
                                      interval_ms;
      for (; due < now_ms + length_ms; due += interval_ms) {
        for (const std::string& node : is_sentinel ? nodes : alone) {
          if (auto record = look(target, node, due)) records.push_back(std::move(*record));
        }
      }
    }
    return records;
  }

  std::optional<Record> look(const Target& target, const std::string& node, std::int64_t due) {
    if (silent.contains(target.name)) return std::nullopt;
    Record record;
    record.kind = record_kind(target.kind);
    record.target = target.name;
    record.node = node;
    record.due_at_ms = due;
    record.started_at_ms = due;
    if (target.kind == TargetKind::traffic) {
      const auto found = traffic.find(target.name);
      record.traffic = found == traffic.end() ? Traffic() : found->second;
      const auto level = traffic_level(*record.traffic);
      record.result = !level                          ? LookResult::unknown
                      : *level == Level::operational ? LookResult::pass
                                                      : LookResult::fail;
      return record;
    }
    record.latency_ms = 7;
    record.result = failing.contains(target.name) ? LookResult::fail : LookResult::pass;
    if (looker) {
      const auto seen = looker(target, node, due);
      if (!seen) return std::nullopt;
      record.result = *seen;
    }
    if (record.result == LookResult::fail) {
      const auto reason = reasons.find(target.name);
      record.reason = reason == reasons.end() ? Reason::timeout : reason->second;
      if (const auto difference = differences.find(target.name); difference != differences.end()) {
        record.difference = difference->second;
      }
    }
    if (record.result == LookResult::skipped) record.reason = Reason::budget;
    return record;
  }

  RoundHead next_head(std::int64_t length_ms = minute_ms) const {
    RoundHead head;
    head.stream = "st_01";
    head.round = book.round() + 1;
    head.prev = stored.empty() ? std::string(first_prev) : stored.back().round.head.head;
    head.generation = generation;
    head.started_at_ms = now_ms;
    head.ended_at_ms = now_ms + length_ms;
    head.epoch = epoch;
    head.node = nodes.empty() ? "n_1" : nodes.front();
    head.nodes = nodes;
    head.kid = key_id(crypto::ed25519_public_key(seed));
    return head;
  }

  // Numbers the records, applies them, and moves the clock to the end of the round.
  void close(RoundHead head, std::vector<Record> records) {
    std::string lines;
    std::uint64_t sequence = book.records();
    for (Record& record : records) {
      record.sequence = ++sequence;
      record.generation = head.generation;
      if (signs) lines += line_of(record) + "\n";
    }
    head.count = records.size();
    changes = book.apply(set, head, records);
    for (const Incident& incident : changes.incidents) scopes_by_id[incident.id] = incident.scope;
    for (const IncidentEvent& event : changes.events) events.push_back(event);
    for (const Segment& segment : changes.segments) {
      segments[{segment.scope, segment.length_ms, segment.started_at_ms}] = segment;
    }
    now_ms = head.ended_at_ms;
    if (!signs) return;
    head.head = chained_head(head.prev, lines);
    head.expected_targets_hash = set.hash();
    head.rules_hash = rules_hash();
    head.state_hash = book.hash();
    stored.push_back({sign(std::move(head), seed), std::move(lines)});
    sets.push_back(set.canonical());
  }

  void round(std::int64_t length_ms = minute_ms) { close(next_head(length_ms), looks(length_ms)); }
  void rounds(int count) {
    for (int at = 0; at < count; ++at) round();
  }

  [[nodiscard]] std::string evidence(std::size_t from = 0) const {
    std::string text;
    for (std::size_t at = from; at < stored.size(); ++at) {
      if (at == from || sets[at] != sets[at - 1]) append_targets(text, sets[at]);
      append_round(text, stored[at]);
    }
    return text;
  }

  [[nodiscard]] Level level(std::string_view scope) const {
    const ScopeFigures* const figures = book.scope(scope);
    return figures == nullptr ? Level::unknown : figures->level;
  }

  // The names of the edges so far, of one scope or of all, as "first_failure opened".
  [[nodiscard]] std::string edges(std::string_view scope = {}) const {
    std::string text;
    for (const IncidentEvent& event : events) {
      const bool is_of = scope.empty() || scopes_by_id.at(event.incident_id) == scope;
      if (is_of) text += (text.empty() ? "" : " ") + event.note;
    }
    return text;
  }
  std::map<std::string, std::string> scopes_by_id;
};

}  // namespace turnpike::status
