// PluginSet: the plugins of a process, loaded from the configured directories over one set of
// resources, as the slots that a program is bound to.
//
// Owned by the code that loaded it: the gateway, `turnpike check`, a command of a plugin.
// take_new() is for one Thread at a time, find_command() and providers() for any.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <turnpike/processor.h>

#include "app/config/config.h"
#include "exchange/service.h"
#include "plugin/catalog.h"
#include "registry/problems.h"

namespace turnpike::app {

// A processor that the configuration names, with the host made for it.
struct ProcessorSlot {
  std::string name;
  Processor* processor = nullptr;
  Host* host = nullptr;
  const Settings* settings = nullptr;
  const Settings* lane_settings = nullptr;  // if the plugin is also a lane and has lane settings
};

class PluginSet {
 public:
  using Problems = std::vector<registry::Problem>;

  // `config` and what `resources` refers to outlive the set.
  static Result<PluginSet, Problems> load(const Config& config, plugin::HostResources resources,
                                          const plugin::GuardOptions& guard = {});

  // Loads providers that are new in the directories; takes none if there are problems.
  Result<plugin::Catalog::Taken, Problems> take_new();

  [[nodiscard]] const plugin::Catalog& catalog() const noexcept { return catalog_; }
  [[nodiscard]] std::vector<exchange::ProviderSlot> providers() const;
  // The lanes of the plugins, with their settings of the configuration.
  [[nodiscard]] const std::vector<exchange::LaneSlot>& lanes() const noexcept { return lanes_; }
  [[nodiscard]] std::vector<ProcessorSlot> processors() const;
  // Problems for settings of lanes and processors that no plugin provides.
  [[nodiscard]] Problems unclaimed_settings() const;

 private:
  PluginSet(const Config& config, base::Log& log, plugin::Catalog catalog);

  const Config* config_;
  base::Log* log_;
  plugin::Catalog catalog_;
  std::vector<exchange::LaneSlot> lanes_;
};

}  // namespace turnpike::app
