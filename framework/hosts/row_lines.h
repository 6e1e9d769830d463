// Rows of the books as lines of a file: NDJSON, or CSV (RFC 4180). The export of operators and the
// downloads of members write the same. Pure functions; any Thread.
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

// What stands above the rows; empty for NDJSON.
std::string head_line(LineForm form, std::span<const char* const> columns);
// CSV has no objects: a correction becomes columns.
std::string line_of(LineForm form, std::span<const char* const> columns,
                    const nlohmann::ordered_json& row);

// A row of the account API with its account in front.
nlohmann::ordered_json line_json(const ledger::UsageRow& usage);

// A field of a CSV row, in quotes where RFC 4180 section 2 wants them.
std::string csv_field(std::string_view text);

}  // namespace turnpike::hosts
