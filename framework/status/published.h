// Compares a published document (GET /v1/status/gateway) with the state derived from the evidence.
//
// Pure functions; safe on any Thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "status/book.h"
#include "status/round.h"
#include "status/target.h"

namespace turnpike::status {

// The number of the round that the document was made after; nullopt: not such a document, or no
// round.
std::optional<std::uint64_t> published_after(const nlohmann::json& document);

// `book` is the state after the round of `head`, `days` are the gateway's segments that it made.
// Returns the first differing figure in a sentence; nullopt: every recomputable figure matches. A
// document that says "unknown" because its evidence is stale or unverified makes no claim and
// matches.
//
// Compared: the status; each provider's statuses, operations and traffic; sentinels; automatic
// incidents; the days of the history that the evidence covers; and for all days, the consistency of
// the sums. Numbers of refused calls cannot be recomputed.
std::optional<std::string> compare_published(const nlohmann::json& document, const RoundHead& head,
                                             const Book& book, const TargetSet& targets,
                                             const std::map<std::int64_t, Segment>& days);

}  // namespace turnpike::status
