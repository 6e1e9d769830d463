// `turnpike status verify`: its arguments, and its registration in the group `turnpike status`.
// Used by main()'s Thread.
#pragma once

#include <string>
#include <vector>

#include "app/commands/command_line.h"

namespace turnpike::app {

struct StatusVerifyWords {
  std::string source;  // a file, "-", or a URL
  std::vector<std::string> public_keys;
  std::string published;  // a file; empty: with a URL the gateway's own, else no comparison
};

int run_status_verify(const CommonOptions& options, const StatusVerifyWords& words);

// Adds the command to the group; `code` receives its exit code.
void add_status_verify(CLI::App& group, CommonOptions& options, StatusVerifyWords& words,
                       int& code);

}  // namespace turnpike::app
