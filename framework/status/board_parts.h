// The parts that several documents of the board have in common, as JSON: generation, evidence,
// operations, providers, traffic, history. Pure functions of the facts; any Thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "status/board_facts.h"

namespace turnpike::status {

// Keeps members in the order in which they are written.
using BoardJson = nlohmann::ordered_json;

// Serializes a document. Names and operators' texts may be any bytes: invalid UTF-8 is replaced.
std::string board_text(const BoardJson& value);

BoardJson time_or_null(std::int64_t at_ms);  // 0: null
BoardJson generation_json(const registry::Generation& generation);
BoardJson manifest_json(const registry::Generation& generation);
// The evidence that a document is derived from. Before the first round: the stream and round 0.
BoardJson evidence_json(const BoardFacts& facts);
std::string_view name_of_class(MonitoringClass monitoring) noexcept;

// Traffic of the named target in the last five minutes.
BoardJson traffic_json(const BoardFacts& facts, std::string_view target, Reading reading);

// One method of a capability.
BoardJson method_json(const BoardFacts& facts, const registry::Operation& operation,
                      Reading reading);
// A capability without its history: the combined level of its methods, and each method.
struct CapabilityShown {
  ShownLevel together;
  BoardJson methods;
};
CapabilityShown capability_shown(const BoardFacts& facts, const registry::Route& route,
                                 Reading reading);

// The summary of a provider; `operations` counts them by level.
BoardJson provider_json(const BoardFacts& facts, std::uint32_t provider, Reading reading);

// The incidents that a document shows: those of the given scopes and those that affect one of their
// operations. Unconfirmed suspicions appear in the log only.
BoardJson incidents_json(const BoardFacts& facts, const std::vector<std::string>& scopes);
BoardJson all_incidents_json(const BoardFacts& facts);

// `health_history` of these scopes, summed by day. Returned as JSON text, since it is the largest
// part of a document and identical in both forms.
std::string history_text(const BoardFacts& facts, const std::vector<std::string>& scopes);

// A document with the history inserted before its last member, the evidence.
std::string with_history(const BoardJson& head, std::string_view history, const BoardFacts& facts);

// 100 * part / whole with two decimals, rounded down, as a JSON number; null if `whole` is 0. It is
// 100 only if nothing is missing.
std::string percentage_text(std::uint64_t part, std::uint64_t whole);

}  // namespace turnpike::status
