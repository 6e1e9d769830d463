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

// Members stand in the order in which they are written.
using BoardJson = nlohmann::ordered_json;

// Names of providers and words of operators may be any bytes: what is no UTF-8 is replaced.
std::string board_text(const BoardJson& value);

BoardJson time_or_null(std::int64_t at_ms);  // 0: null
BoardJson generation_json(const registry::Generation& generation);
BoardJson manifest_json(const registry::Generation& generation);
// Which evidence a document follows from. Before the first round it names the stream and round 0.
BoardJson evidence_json(const BoardFacts& facts);
std::string_view name_of_class(MonitoringClass monitoring) noexcept;

// The last five minutes, of the target with that name.
BoardJson traffic_json(const BoardFacts& facts, std::string_view target, Reading reading);

// One method of a capability.
BoardJson method_json(const BoardFacts& facts, const registry::Operation& operation,
                      Reading reading);
// A capability without its history: how its methods do together, and each of them.
struct CapabilityShown {
  ShownLevel together;
  BoardJson methods;
};
CapabilityShown capability_shown(const BoardFacts& facts, const registry::Route& route,
                                 Reading reading);

// The summary of a provider; `operations` are counts of them by level.
BoardJson provider_json(const BoardFacts& facts, std::uint32_t provider, Reading reading);

// Incidents that a document shows: those that are of one of the scopes, or touch an operation of
// them. Suspicions that did not come true are shown nowhere but in the log.
BoardJson incidents_json(const BoardFacts& facts, const std::vector<std::string>& scopes);
BoardJson all_incidents_json(const BoardFacts& facts);

// `health_history` of these scopes, added up by day. JSON text: it is most of a document and is the
// same in both of its forms.
std::string history_text(const BoardFacts& facts, const std::vector<std::string>& scopes);

// A document whose history stands before its last member, the evidence.
std::string with_history(const BoardJson& head, std::string_view history, const BoardFacts& facts);

// part / whole in percent with two places, rounded down, as a JSON number; null of nothing. 100 is
// all of them and no less.
std::string percentage_text(std::uint64_t part, std::uint64_t whole);

}  // namespace turnpike::status
