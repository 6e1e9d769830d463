// The sample data set: a folder with a manifest that names files, their formats and an anchor time.
// Its times are moved so that the anchor becomes now, so the samples always look current; within a
// day the same move is used again, so that loading twice changes nothing. One Thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "govdata/import/import.h"

namespace turnpike::govdata {

struct SampleResult {
  std::string file;
  ImportSummary summary;
};

// Throws ImportError when the manifest is missing or wrong, SqliteError when the store fails.
// `on_rejected` gets positions that begin with the file's name.
std::vector<SampleResult> load_sample(Database& database, const std::string& directory,
                                      std::int64_t now_ms, const OnRejected& on_rejected);

}  // namespace turnpike::govdata
