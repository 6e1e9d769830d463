// Rows of the books as lines of a file: NDJSON, or CSV (turnpike/helpers/csv.h). The operators'
// export and the members' downloads use the same lines. Pure functions; any Thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "ledger/usage.h"

namespace turnpike::hosts {

enum class LineForm : std::uint8_t { ndjson, csv };

inline constexpr const char* usage_columns[] = {
    "billingAccountId", "messageId",      "requestId",       "clientRequestId", "occurredAt",
    "routeId",          "routeRevision",  "method",          "lane",            "creditCost",
    "creditsCharged",   "priceVersion",   "generation",      "outcome",         "outcomeReason",
    "upstreamStatus",   "upstreamMs",     "apiKeyId",        "correctionId",    "correctionKind",
    "creditsRestored",  "correctedAt"};

// The header line; empty for NDJSON.
std::string head_line(LineForm form, std::span<const char* const> columns);
// CSV has no objects: a correction becomes several columns.
std::string line_of(LineForm form, std::span<const char* const> columns,
                    const nlohmann::ordered_json& row);

// A row of the account API, preceded by its account.
nlohmann::ordered_json line_json(const ledger::UsageRow& usage);

}  // namespace turnpike::hosts
