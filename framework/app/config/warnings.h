// Settings and file permissions that are permitted but probably not intended. `check` prints them
// as notes, and a start writes them to the log. Reads names and permissions in the data directory,
// writes nothing. Any plain Thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/config/config.h"

namespace turnpike::app {

struct Warning {
  std::string_view event;  // name in the log: "data_open_to_others"
  std::string text;        // one sentence: what, where, the fix
};

std::vector<Warning> warnings_of(const Config& config);

}  // namespace turnpike::app
