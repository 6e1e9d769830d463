#include "app/plugins/plugin_set.h"

#include <utility>

#include "app/config/paths.h"

namespace turnpike::app {
namespace {

PluginSet::Problems problems_of(const std::vector<plugin::LoadError>& errors) {
  PluginSet::Problems problems;
  for (const plugin::LoadError& error : errors) {
    problems.push_back({"plugin_refused", error.file, 0, 0, "", error.problem});
  }
  return problems;
}

void note_loaded(base::Log& log, const plugin::PluginInfo& info) {
  log.write(Severity::info, "plugin_loaded",
            {{"name", info.name}, {"version", info.version}, {"sha256", info.sha256}});
}

}  // namespace

Result<PluginSet, PluginSet::Problems> PluginSet::load(const Config& config,
                                                       plugin::HostResources resources,
                                                       const plugin::GuardOptions& guard) {
  plugin::CatalogOptions options = catalog_options(config);
  options.guard = guard;
  auto catalog = plugin::Catalog::load(options, resources);
  if (!catalog.ok()) return problems_of(catalog.error());
  return PluginSet(config, resources.log, *std::move(catalog));
}

PluginSet::PluginSet(const Config& config, base::Log& log, plugin::Catalog catalog)
    : config_(&config), log_(&log), catalog_(std::move(catalog)) {
  for (plugin::LoadedPlugin* const loaded : catalog_.plugins()) {
    note_loaded(log, loaded->info());
    if (loaded->lane() == nullptr) continue;
    const auto settings = config.lanes.find(loaded->info().name);
    lanes_.push_back({loaded->lane(), &loaded->host(),
                      settings == config.lanes.end() ? nullptr : &settings->second});
  }
}

Result<plugin::Catalog::Taken, PluginSet::Problems> PluginSet::take_new() {
  auto taken = catalog_.take_new();
  if (!taken.ok()) return problems_of(taken.error());
  for (const plugin::LoadedPlugin* const loaded : taken->added) note_loaded(*log_, loaded->info());
  return *std::move(taken);
}

std::vector<exchange::ProviderSlot> PluginSet::providers() const {
  std::vector<exchange::ProviderSlot> providers;
  for (plugin::LoadedPlugin* const loaded : catalog_.plugins()) {
    if (loaded->provider() == nullptr) continue;
    providers.push_back({loaded->info().name, loaded->provider(), &loaded->host()});
  }
  return providers;
}

std::vector<ProcessorSlot> PluginSet::processors() const {
  std::vector<ProcessorSlot> processors;
  for (const auto& [name, settings] : config_->processors) {
    plugin::LoadedPlugin* const loaded = catalog_.find(name);
    if (loaded == nullptr || loaded->processor() == nullptr) continue;
    const auto of_lane = config_->lanes.find(name);
    const bool has_lane = loaded->lane() != nullptr && of_lane != config_->lanes.end();
    processors.push_back({name, loaded->processor(), &loaded->host(), &settings,
                          has_lane ? &of_lane->second : nullptr});
  }
  return processors;
}

PluginSet::Problems PluginSet::unclaimed_settings() const {
  Problems problems;
  for (const auto& [name, settings] : config_->processors) {
    const plugin::LoadedPlugin* const named = catalog_.find(name);
    if (named != nullptr && named->processor() != nullptr) continue;
    problems.push_back({"plugin_missing", settings.file, settings.line, settings.column,
                        "processors." + name,
                        "no processor plugin of this name is in a plugin directory"});
  }
  for (const auto& [name, settings] : config_->lanes) {
    const plugin::LoadedPlugin* const named = catalog_.find(name);
    if (named != nullptr && named->lane() != nullptr) continue;
    problems.push_back({"plugin_missing", settings.file, settings.line, settings.column,
                        "lanes." + name, "no lane plugin of this name is in a plugin directory"});
  }
  return problems;
}

}  // namespace turnpike::app
