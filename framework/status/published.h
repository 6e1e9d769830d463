// Comparing what was published (GET /v1/status/gateway) with what follows from the evidence.
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

// The round after which the document was made; nothing: it is no such document, or of no round.
std::optional<std::uint64_t> published_after(const nlohmann::json& document);

// `book` is after the round of `head`, `days` are the segments of the gateway that it made. The
// first figure that differs, in a sentence; nothing: all that can be recomputed is right. A
// document that says "unknown" since its evidence is stale or unverified claims nothing, which is
// right.
//
// Compared are the status, of each provider its statuses, operations and traffic, sentinels,
// automatic incidents, and the days of the history that the evidence holds; that the sums of the
// history add up, for all days. Numbers of refused calls are not recomputable.
std::optional<std::string> compare_published(const nlohmann::json& document, const RoundHead& head,
                                             const Book& book, const TargetSet& targets,
                                             const std::map<std::int64_t, Segment>& days);

}  // namespace turnpike::status
