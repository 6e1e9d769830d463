// Export: usage facts and allocations as lines, for other tools. The rows of each account are read
// page by page from the newest to the oldest. No long snapshot keeps old row versions alive, and
// calls continue meanwhile; rows that are committed after the export of their account began are
// left out.
//
//   ndjson  one JSON object a line, the row of the account routes with its billingAccountId
//   csv     RFC 4180: a header, CRLF, fields as turnpike/helpers/csv.h writes them
//
// Both formats hold rows only, so that the sum of a column counts nothing twice; the totals are
// printed separately.
//
// Free functions; called by main()'s Thread; they block.
#pragma once

#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>

#include <turnpike/result.h>

#include "storage/node.h"

namespace turnpike::app {

enum class ExportCollection : std::uint8_t { usage, allocations };
enum class ExportFormat : std::uint8_t { ndjson, csv };

struct ExportRequest {
  std::optional<std::string> account_id;  // nothing: all accounts
  ExportCollection collection = ExportCollection::usage;
  ExportFormat format = ExportFormat::ndjson;
  std::int64_t from_ms = 0;           // from this time (usage: occurred, Credits: effective) ...
  std::optional<std::int64_t> to_ms;  // ... until before this time
};

struct ExportTotals {
  std::string json;  // {"totals": {...}}
};

// The error is a sentence for the operator; rows written before it stay in the output.
using Exported = Result<ExportTotals, std::string>;
Exported write_export(storage::Node& node, const ExportRequest& request, std::ostream& out);

}  // namespace turnpike::app
