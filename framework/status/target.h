// Target: one thing that is looked at, by name. The set of targets is a pure function of the
// installed program and the gateway's hosts and lanes, so that a missing look is noticed: a round
// commits to the set by its hash, and a target without a record is unknown.
//
//   gateway:<check>                    a sentinel: the gateway's own check, made by every node
//   upstream:<id>                      whether an upstream can be reached
//   operation:<capability_id>:<METHOD> a contract look: the declared sample is run
//   traffic:operation:<capability_id>:<METHOD>, traffic:provider:<key>, traffic:gateway
//                                      results of real calls in the last five minutes
//   pricing:<capability_id>:<METHOD>   whether the operation can be sold now
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

// An operation without `monitoring` is unreviewed: it is never run for the status.
using registry::MonitoringClass;

struct Target {
  std::string name;
  TargetKind kind = TargetKind::sentinel;
  // Continuous: looked at each interval. Manual: in release sweeps only.
  MonitoringClass monitoring = MonitoringClass::continuous;
  std::int64_t interval_ms = 0;   // 0: no regular looks
  std::uint32_t per_day_max = 0;  // looks per UTC day, including extra ones; 0: unlimited
  std::string provider;           // key; empty: none
  std::string upstream;           // id; empty: none
  std::string operation;          // "<capability_id>:<METHOD>"; empty: none

  friend bool operator==(const Target&, const Target&) = default;
};

// Active kinds are looked at by this gateway and count as expected.
constexpr bool is_active(TargetKind kind) noexcept {
  return kind == TargetKind::sentinel || kind == TargetKind::reachability ||
         kind == TargetKind::contract;
}

// Facts beside the program that targets are derived from.
struct Surroundings {
  std::vector<std::string> sentinels;  // checks of this deployment: "healthz", "mcp_ping"
  std::vector<std::string> lanes;      // lane names
  std::int64_t round_ms = 60'000;
  std::int64_t evidence_lost_ms = 86'400'000;
};

// Targets ascending by name, and the rules' settings that operators may change, so that rounds
// commit to these too.
struct TargetSet {
  std::int64_t round_ms = 60'000;
  // An incident whose evidence is missing for this long is closed.
  std::int64_t evidence_lost_ms = 86'400'000;
  std::vector<Target> targets;

  [[nodiscard]] const Target* find(std::string_view name) const noexcept;
  // Canonical JSON; rounds commit to its hash.
  [[nodiscard]] std::string canonical() const;
  [[nodiscard]] std::string hash() const;  // "sha256:<hex>" of it

  friend bool operator==(const TargetSet&, const TargetSet&) = default;
};

// Operations that are not applicable have no target at all. A route that is blocked in the program
// is never called, so its operations are unreviewed.
TargetSet targets_of(const registry::Program& program, const Surroundings& surroundings);

// Parses exactly the text that canonical() writes. The error is a sentence.
Result<TargetSet, std::string> read_target_set(std::string_view json);

// Looks of a target are due on a grid of the clock: at phase_ms + k * interval_ms since 1970. The
// phase is derived from the name alone, so that targets are spread and everyone can compute the due
// times. Sentinels, traffic, pricing and lanes have phase 0: they belong to a round as a whole.
// phase_ms: the first 8 bytes of SHA-256(name) as a big-endian number, modulo the interval.
std::int64_t phase_ms(const Target& target) noexcept;
// The number of regular looks due in [from_ms, to_ms), per node.
std::int64_t due_count(const Target& target, std::int64_t from_ms, std::int64_t to_ms) noexcept;
// The same with a precomputed phase, for frequent calls.
std::int64_t due_count(std::int64_t phase, std::int64_t interval_ms, std::int64_t from_ms,
                       std::int64_t to_ms) noexcept;
bool is_on_grid(const Target& target, std::int64_t due_at_ms) noexcept;

}  // namespace turnpike::status
