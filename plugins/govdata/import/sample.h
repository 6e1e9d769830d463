// The sample data set: a folder with a manifest that names files, their formats and an anchor time.
// All times are shifted so that the anchor becomes now, which makes the samples look current.
// Within a day the same shift is used again, so loading twice changes nothing. One Thread.
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

// Throws ImportError if the manifest is missing or wrong, and SqliteError if the store fails.
// `on_rejected` gets positions that begin with the file's name.
std::vector<SampleResult> load_sample(Database& database, const std::string& directory,
                                      std::int64_t now_ms, const OnRejected& on_rejected);

}  // namespace turnpike::govdata
