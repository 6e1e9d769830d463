// Catalog: the plugins of this process. Reads a directory once at start, refuses it whole when any
// file in it is no plugin of this gateway (all problems at once), and hands the plugins out by
// name.
//
// Owned by app/, made by the main Thread before the first listener opens and destroyed after the
// last user of a plugin; reading it is safe from any Thread.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "plugin/guard.h"
#include "plugin/host.h"
#include "plugin/library.h"

namespace turnpike::plugin {

// One plugin with all that belongs to it. `provider` and `lane` are guarded (guard.h), as are all
// objects that they give out; the one that is not of the plugin's slot is null.
class LoadedPlugin {
 public:
  LoadedPlugin(std::unique_ptr<Library> library, std::uint32_t number,
               const HostResources& resources, const GuardOptions& options);
  [[nodiscard]] const PluginInfo& info() const noexcept { return library_->info(); }
  [[nodiscard]] Provider* provider() const noexcept { return provider_.get(); }
  [[nodiscard]] Lane* lane() const noexcept { return lane_.get(); }
  [[nodiscard]] Host& host() noexcept { return host_; }  // to pass to bind()
  [[nodiscard]] Guard& guard() noexcept { return guard_; }

 private:
  std::unique_ptr<Library> library_;  // before everything that is made of its code
  PluginHost host_;
  Guard guard_;
  std::unique_ptr<Provider> provider_;
  std::unique_ptr<Lane> lane_;
};

struct CatalogOptions {
  std::filesystem::path directory;  // every *.so in it, in the order of their names
  // File name -> SHA-256 in hex. When not empty, exactly these files must be there.
  std::map<std::string, std::string> pinned_sha256 = {};
  GuardOptions guard = {};
};

class Catalog {
 public:
  // The first two gates for the whole directory: what load() would say without running anything.
  static Result<std::vector<PluginInfo>, std::vector<LoadError>> check(
      const CatalogOptions& options);

  // `resources` outlives the catalog.
  static Result<Catalog, std::vector<LoadError>> load(const CatalogOptions& options,
                                                      const HostResources& resources);

  // The plugin of this name, or null.
  [[nodiscard]] LoadedPlugin* find(std::string_view name) const noexcept;
  // In the order of their files' names.
  [[nodiscard]] const std::vector<std::unique_ptr<LoadedPlugin>>& plugins() const noexcept {
    return plugins_;
  }
  // For the watchdog's report: a fiber with this tag held up its loop. Whose tag it is; empty: no
  // plugin's.
  std::string_view note_stall(std::uint32_t tag, std::int64_t now_ns) const noexcept;

 private:
  std::vector<std::unique_ptr<LoadedPlugin>> plugins_;
};

}  // namespace turnpike::plugin
