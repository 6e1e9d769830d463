// What a deployment may have and hardly means: `check` notes it, a start writes it to the log.
// Reads the data directory's names and rights, writes nothing. Any plain Thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/config.h"

namespace turnpike::app {

struct Warning {
  std::string_view event;  // of the log: "data_open_to_others"
  std::string text;        // one sentence: what, where, how to mend it
};

std::vector<Warning> warnings_of(const Config& config);

}  // namespace turnpike::app
