// Catalog: the plugins of this process. Reads their directories at start and at each reload,
// rejects all files if any of them is not a plugin for this gateway (all problems at once), and
// provides the plugins by name. A loaded plugin stays mapped, at the same address, until the
// process ends.
//
// Owned by app/, made by the main Thread before the first listener opens and destroyed after the
// last user of a plugin. take_new() is called by one Thread at a time; the rest is safe from any.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "plugin/guard.h"
#include "plugin/host.h"
#include "plugin/library.h"

namespace turnpike::plugin {

// One plugin and all objects that belong to it. `provider`, `lane` and `processor` are guarded
// (guard.h), as are all objects that they return; those of slots that the plugin does not fill are
// null.
class LoadedPlugin {
 public:
  LoadedPlugin(std::unique_ptr<Library> library, std::uint32_t number,
               const HostResources& resources, const GuardOptions& options);
  [[nodiscard]] const PluginInfo& info() const noexcept { return library_->info(); }
  [[nodiscard]] Provider* provider() const noexcept { return provider_.get(); }
  [[nodiscard]] Lane* lane() const noexcept { return lane_.get(); }
  [[nodiscard]] Processor* processor() const noexcept { return processor_.get(); }
  // The plugin's objects, in the order of the slots' numbers.
  [[nodiscard]] std::vector<SlotObject*> slot_objects() const;
  [[nodiscard]] Host& host() noexcept { return host_; }  // to pass to bind()
  [[nodiscard]] Guard& guard() noexcept { return guard_; }

 private:
  std::unique_ptr<Library> library_;  // declared before everything made by its code
  PluginHost host_;
  Guard guard_;
  std::unique_ptr<Provider> provider_;
  std::unique_ptr<Lane> lane_;
  std::unique_ptr<Processor> processor_;
};

struct CatalogOptions {
  // All *.so files in these directories are loaded, ordered by name.
  std::vector<std::filesystem::path> directories;
  // File name -> SHA-256 in hex. If not empty, exactly these files must exist.
  std::map<std::string, std::string> pinned_sha256 = {};
  GuardOptions guard = {};
};

class Catalog {
 public:
  // Runs the first two gates for the whole directory: the problems that load() would find without
  // running plugin code.
  static Result<std::vector<PluginInfo>, std::vector<LoadError>> check(
      const CatalogOptions& options);

  // The objects that `resources` refers to outlive the catalog.
  static Result<Catalog, std::vector<LoadError>> load(const CatalogOptions& options,
                                                      const HostResources& resources);

  struct Taken {
    std::vector<LoadedPlugin*> added;
    std::vector<std::string> notes;  // changes that need a restart
  };
  // Reads the directories again and loads provider plugins that are new. If there are problems,
  // none of them is added.
  Result<Taken, std::vector<LoadError>> take_new();

  // The object that has the command `turnpike <word>`; null pointers: no plugin has it.
  struct CommandPlace {
    LoadedPlugin* plugin = nullptr;
    SlotObject* object = nullptr;
    Command command;
  };
  [[nodiscard]] CommandPlace find_command(std::string_view word) const;

  // The plugin of this name, or null.
  [[nodiscard]] LoadedPlugin* find(std::string_view name) const;
  // The plugins loaded now: first those of the start, ordered by file name.
  [[nodiscard]] std::vector<LoadedPlugin*> plugins() const;
  // Records the watchdog's report that a fiber with this tag held up its loop. Returns the name of
  // the plugin with this tag; empty when no plugin has it.
  std::string_view note_stall(std::uint32_t tag, std::int64_t now_ns) const;

 private:
  struct Shelf {  // separate, so that a Catalog can be moved
    std::mutex mutex;
    std::vector<std::unique_ptr<LoadedPlugin>> plugins;
  };

  Catalog(CatalogOptions options, const HostResources& resources)
      : options_(std::move(options)), resources_(resources), shelf_(std::make_unique<Shelf>()) {}
  // Adds all of `infos`, or none and returns the problems.
  Result<std::vector<LoadedPlugin*>, std::vector<LoadError>> add(std::vector<PluginInfo> infos);

  CatalogOptions options_;
  const HostResources resources_;
  std::unique_ptr<Shelf> shelf_;
};

}  // namespace turnpike::plugin
