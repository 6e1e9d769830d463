// Export: usage facts and allocations as lines, for people's own tools. Rows are read page by page
// from the newest to the oldest of each account, so no long snapshot holds the books' old versions,
// and calls go on meanwhile; what is committed after an account was begun is not in it.
//
//   ndjson  one JSON object a line, the row of the account routes with its billingAccountId
//   csv     RFC 4180: a header, CRLF, fields as turnpike/helpers/csv.h writes them
//
// Both hold rows alone, so that whoever sums a column counts none twice: the totals are told beside
// them.
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
  std::int64_t from_ms = 0;           // usage that occurred, Credits effective, from here ...
  std::optional<std::int64_t> to_ms;  // ... to before here
};

struct ExportTotals {
  std::string json;  // {"totals": {...}}
};

// The error is a sentence for the operator; what was written before it stands.
using Exported = Result<ExportTotals, std::string>;
Exported write_export(storage::Node& node, const ExportRequest& request, std::ostream& out);

}  // namespace turnpike::app
