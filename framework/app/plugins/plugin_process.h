// PluginProcess: what plugins stand on in a command, as far as commands need it: the database, with
// a running gateway beside it or without, outbound HTTP, the plugins' stores. Used by main()'s
// Thread.
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
  // Both outlive it.
  PluginProcess(const Config& config, const CommonOptions& options)
      : config_(config), options_(options) {}

  // Runs `work` with everything open, and returns its exit code, or prints why it cannot be run.
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

// hosts.api.base_url, or what goes without saying.
std::string api_origin(const Config& config);

}  // namespace turnpike::app
