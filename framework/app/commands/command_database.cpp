#include "app/commands/command_database.h"

#include "app/stores.h"
#include "base/sources.h"
#include "text/time_text.h"

namespace turnpike::app {

int with_database(const CommonOptions& options, const std::function<int(Tools&)>& work,
                  storage::Role role) {
  const auto config = load_config(options);
  if (!config) return exit_failed;
  const base::SystemClock clock;
  base::SystemRandom random;
  auto node = open_node(*config, role, clock, random);
  if (!node.ok()) return print_failure(options, node.error());
  Tools tools{*config, **node, clock, random};
  return work(tools);
}

nlohmann::json time_or_null(const std::optional<std::int64_t>& time_ms) {
  return time_ms ? nlohmann::json(text::rfc3339(*time_ms)) : nlohmann::json(nullptr);
}

}  // namespace turnpike::app
