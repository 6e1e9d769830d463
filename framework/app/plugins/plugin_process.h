// PluginProcess: the environment of plugins in a command: the database, beside a running gateway or
// without one, outbound HTTP, the plugins' stores. Used by main()'s Thread.
#pragma once

#include <functional>
#include <memory>

#include "app/commands/command_line.h"
#include "app/plugins/plugin_set.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/sources.h"
#include "storage/node.h"

namespace turnpike::app {

class PluginProcess {
 public:
  // `config` and `options` outlive the object.
  PluginProcess(const Config& config, const CommonOptions& options)
      : config_(config), options_(options) {}

  // Runs `work` with everything open, and returns its exit code; prints the error if opening fails.
  int run(const std::function<int(const PluginSet& plugins, storage::Node& node)>& work);

  [[nodiscard]] const Config& config() const noexcept { return config_; }
  [[nodiscard]] const CommonOptions& options() const noexcept { return options_; }

 private:
  const Config& config_;
  const CommonOptions& options_;
  base::SystemClock clock_;
  base::SystemRandom random_;
  const std::unique_ptr<base::Log> log_ =
      base::make_process_log(clock_, {.minimum = Severity::warning});
  const std::unique_ptr<base::Metrics> metrics_ = base::make_metrics();
};

// hosts.api.base_url, or its default.
std::string api_origin(const Config& config);

}  // namespace turnpike::app
