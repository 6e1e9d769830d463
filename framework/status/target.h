// Target: one thing that is looked at, by name. The set of targets is a pure function of the
// installed program and of which hosts and lanes the gateway has, so that a look that was left out
// is seen: a round commits to the set by its hash, and what of the set has no record is unknown.
//
//   gateway:<check>                    a sentinel of the gateway's own, looked at by every node
//   upstream:<id>                      whether an upstream can be reached
//   operation:<capability_id>:<METHOD> a contract look: the declared sample is run
//   traffic:operation:<capability_id>:<METHOD>, traffic:provider:<key>, traffic:gateway
//                                      what real calls saw in the last five minutes
//   pricing:<capability_id>:<METHOD>   whether it can be sold now
//   lane:<name>                        whether a lane can take a call now
//
// Values; any Thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <turnpike/result.h>

#include "registry/program.h"

namespace turnpike::status {

enum class TargetKind : std::uint8_t { sentinel, reachability, contract, traffic, pricing, lane };

std::string_view name_of(TargetKind kind) noexcept;

// An operation without `monitoring` is unreviewed: it is never run for status.
using registry::MonitoringClass;

struct Target {
  std::string name;
  TargetKind kind = TargetKind::sentinel;
  // Continuous: looked at each interval. Manual: in release sweeps alone.
  MonitoringClass monitoring = MonitoringClass::continuous;
  std::int64_t interval_ms = 0;   // 0: it has no regular looks
  std::uint32_t per_day_max = 0;  // looks in a UTC day, extra ones included; 0: no bound
  std::string provider;           // key; empty: none
  std::string upstream;           // id; empty: none
  std::string operation;          // "<capability_id>:<METHOD>"; empty: none

  friend bool operator==(const Target&, const Target&) = default;
};

// The active kinds are those that we look at ourselves and that count as expected.
constexpr bool is_active(TargetKind kind) noexcept {
  return kind == TargetKind::sentinel || kind == TargetKind::reachability ||
         kind == TargetKind::contract;
}

// What targets follow from beside the program.
struct Surroundings {
  std::vector<std::string> sentinels;  // checks that this deployment has: "healthz", "mcp_ping"
  std::vector<std::string> lanes;      // by name
  std::int64_t round_ms = 60'000;
  std::int64_t evidence_lost_ms = 86'400'000;
};

// By name, ascending. What operators may set of the rules stands here, too, so that rounds commit
// to it.
struct TargetSet {
  std::int64_t round_ms = 60'000;
  // An incident without evidence is given up after it.
  std::int64_t evidence_lost_ms = 86'400'000;
  std::vector<Target> targets;

  [[nodiscard]] const Target* find(std::string_view name) const noexcept;
  // Canonical JSON; its hash is what rounds commit to.
  [[nodiscard]] std::string canonical() const;
  [[nodiscard]] std::string hash() const;  // "sha256:<hex>" of it

  friend bool operator==(const TargetSet&, const TargetSet&) = default;
};

// Operations that are not applicable have no target at all. A route that is blocked as programmed
// is never called, so its operations are unreviewed.
TargetSet targets_of(const registry::Program& program, const Surroundings& surroundings);

// The set that such a text states: exactly what canonical() writes. The error is a sentence.
Result<TargetSet, std::string> read_target_set(std::string_view json);

// Looks of a target lie on a grid of the clock: at phase_ms + k * interval_ms since 1970, where the
// phase follows from the name alone, so that targets are spread and anybody knows when a look was
// due. Sentinels, traffic, pricing and lanes have phase 0: they belong to a round as a whole.
// phase_ms: the first 8 bytes of SHA-256(name), as a number with the highest byte first, modulo the
// interval.
std::int64_t phase_ms(const Target& target) noexcept;
// How many regular looks are due in [from_ms, to_ms), of one node.
std::int64_t due_count(const Target& target, std::int64_t from_ms, std::int64_t to_ms) noexcept;
// The same, for who asks often and has kept the phase.
std::int64_t due_count(std::int64_t phase, std::int64_t interval_ms, std::int64_t from_ms,
                       std::int64_t to_ms) noexcept;
bool is_on_grid(const Target& target, std::int64_t due_at_ms) noexcept;

}  // namespace turnpike::status
