// Signed and chained rounds, as a leader closes them, for tests of the store. Their records, book
// and changes need not be consistent with one another, since the store reads none of them. Values
// and free functions; any Thread.
#pragma once

#include <optional>
#include <string>

#include "status/store.h"
#include "storage/node.h"

namespace turnpike::support {

inline constexpr char status_stream[] = "st_test";
inline constexpr std::int64_t round_length_ms = 60'000;

inline crypto::Ed25519Seed status_seed(std::uint8_t which = 1) {
  crypto::Ed25519Seed seed{};
  seed[0] = which;
  return seed;
}

// The round after `newest`, of [started_at_ms, started_at_ms + round_length_ms), by the holder of
// the lease.
inline status::ClosedRound round_after(const std::optional<status::NewestRound>& newest,
                                       const status::Lease& lease, std::int64_t started_at_ms) {
  status::ClosedRound closed;
  status::RoundHead head;
  head.stream = status_stream;
  head.round = newest ? newest->round.head.round + 1 : 1;
  head.prev = newest ? newest->round.head.head : std::string(status::first_prev);
  const std::string number = std::to_string(head.round);
  closed.lines = "{\"node\":\"" + lease.holder + "\",\"seq\":" + number + "}\n";
  closed.targets = R"({"targets":[]})";
  closed.book = "{\"round\":" + number + "}";
  head.head = status::chained_head(head.prev, closed.lines);
  head.count = 1;
  head.generation = "gen_1";
  head.expected_targets_hash = "sha256:targets";
  head.rules_hash = "sha256:rules";
  head.state_hash = "sha256:state" + number;
  head.started_at_ms = started_at_ms;
  head.ended_at_ms = started_at_ms + round_length_ms;
  head.epoch = lease.epoch;
  head.node = lease.holder;
  head.nodes = {"n_1", "n_2"};
  closed.key = crypto::ed25519_public_key(status_seed());
  head.kid = status::key_id(closed.key);
  closed.round = status::sign(head, status_seed());
  return closed;
}

inline status::Segment status_segment(const std::string& scope, std::int64_t length_ms,
                                      std::int64_t started_at_ms, std::uint64_t passed = 1) {
  status::Segment segment;
  segment.scope = scope;
  segment.length_ms = length_ms;
  segment.started_at_ms = started_at_ms;
  segment.expected = passed + 5;
  segment.passed = passed;
  segment.failed = 2;
  segment.unknown = 3;
  segment.traffic_rounds = 4;
  segment.good = 39'000;
  segment.provider_fault = 700;
  segment.gateway_fault = 300;
  segment.latencies = {7, 0, 9};
  segment.status = status::Level::degraded;
  segment.first_round = 1;
  segment.last_round = passed;
  return segment;
}

inline status::Incident status_incident(const std::string& id, std::int64_t started_at_ms) {
  status::Incident incident;
  incident.id = id;
  incident.scope = "provider:weather";
  incident.state = status::IncidentState::open;
  incident.severity = status::Level::degraded;
  incident.signals = {"contract", "reachability"};
  incident.affected = {"weather-now:GET", "with \"quotes\":POST"};
  incident.difference = "/data/0/id was string, is number";
  incident.started_at_ms = started_at_ms;
  incident.opened_at_ms = started_at_ms + 60'000;
  incident.first_round = 1;
  incident.last_round = 2;
  return incident;
}

}  // namespace turnpike::support
