// Imports arbitrary bytes twice into a store in memory. If the first import rejected nothing, the
// second must find nothing new or changed. One Thread.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "govdata/import/import.h"
#include "govdata/store/schema.h"

namespace turnpike::govdata {

inline void import_twice(Format format, const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto store = open_for_import(":memory:");
  ImportOptions options;
  options.format = format;
  options.dao.dao_id = "fuzz-dao";
  options.scope = "fuzz";
  options.base_url = "https://forum.example.org";
  options.proposal_id = "0x1";
  options.now_ms = 1'772'366'400'000;
  Input first(open_memory(bytes));
  const ImportSummary kept = run_import(*store, first, options, nullptr);
  if (kept.status == "failed") return;
  Input second(open_memory(bytes));
  const ImportSummary again = run_import(*store, second, options, nullptr);
  // If the first run rejected a record because its proposal came later, the second may find the
  // proposal.
  if (kept.rows_rejected == 0 && again.rows_new + again.rows_changed > 0) std::abort();
}

}  // namespace turnpike::govdata
