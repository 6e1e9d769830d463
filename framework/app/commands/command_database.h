// The code that all database commands share: opening the database, beside a running gateway or
// without one, and printing results. Used by main()'s Thread.
#pragma once

#include <functional>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "app/commands/command_line.h"
#include "base/error.h"
#include "storage/node.h"

namespace turnpike::app {

// The objects that a command uses: opened before it, closed after it.
struct Tools {
  const Config& config;
  storage::Node& node;
  const Clock& clock;
  Random& random;
};

int with_database(const CommonOptions& options, const std::function<int(Tools&)>& work,
                  storage::Role role = storage::Role::tool);

nlohmann::json time_or_null(const std::optional<std::int64_t>& time_ms);

// Prints a result as JSON, or as the text that `describe` returns.
template <class T, class Encode, class Describe>
int print(const CommonOptions& options, const Result<T, base::Error>& result, Encode&& encode,
          Describe&& describe) {
  if (!result.ok()) return print_failure(options, result.error().message);
  std::cout << (options.json ? encode(*result).dump() : describe(*result)) << '\n';
  return exit_done;
}

}  // namespace turnpike::app
