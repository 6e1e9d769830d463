#include "plugin/catalog.h"

#include <algorithm>
#include <set>
#include <system_error>

namespace turnpike::plugin {

namespace {

namespace fs = std::filesystem;

Result<std::vector<fs::path>, LoadError> files_of(const fs::path& directory) {
  std::vector<fs::path> files;
  std::error_code problem;
  const fs::file_status status = fs::status(directory, problem);
  if (fs::exists(status) && (status.permissions() & fs::perms::others_write) != fs::perms::none) {
    return LoadError{directory.string(),
                     "may be written by every user of this machine, who could then run code in the "
                     "gateway; take that right away (chmod o-w)"};
  }
  fs::directory_iterator entry(directory, problem);
  for (; !problem && entry != fs::directory_iterator(); entry.increment(problem)) {
    if (entry->path().extension() == ".so") files.push_back(entry->path());
  }
  if (problem) {
    return LoadError{directory.string(), "the plugin directory cannot be read: " +
                                             problem.message() + "; see `plugins.directory`"};
  }
  std::sort(files.begin(), files.end());
  return files;
}

// What the pinned list says against the files, one entry a difference.
void compare_with_pins(const CatalogOptions& options, const std::vector<PluginInfo>& found,
                       std::vector<LoadError>& problems) {
  if (options.pinned_sha256.empty()) return;
  std::set<std::string> present;
  for (const PluginInfo& info : found) {
    const std::string name = fs::path(info.file).filename().string();
    present.insert(name);
    const auto pin = options.pinned_sha256.find(name);
    if (pin == options.pinned_sha256.end()) {
      problems.push_back({info.file, "is not among the pinned plugins; add its SHA-256 " +
                                         info.sha256 + " to `plugins.sha256` or remove the file"});
    } else if (pin->second != info.sha256) {
      problems.push_back({info.file, "has the SHA-256 " + info.sha256 + ", pinned is " +
                                         pin->second + "; restore the file or change the pin"});
    }
  }
  for (const auto& [name, digest] : options.pinned_sha256) {
    if (present.contains(name)) continue;
    problems.push_back({(options.directory / name).string(),
                        "is pinned in `plugins.sha256`, but is no plugin of this directory"});
  }
}

void refuse_equal_names(const std::vector<PluginInfo>& found, std::vector<LoadError>& problems) {
  std::map<std::string_view, const PluginInfo*> by_name;
  for (const PluginInfo& info : found) {
    const auto [first, is_new] = by_name.try_emplace(info.name, &info);
    if (is_new) continue;
    problems.push_back({info.file, "is named \"" + info.name + "\", as is " + first->second->file +
                                       "; remove one of them"});
  }
}

}  // namespace

LoadedPlugin::LoadedPlugin(std::unique_ptr<Library> library, std::uint32_t number,
                           const HostResources& resources, const GuardOptions& options)
    : library_(std::move(library)),
      host_(info().name, resources),
      guard_(info().name, number, info().execution,
             {resources.pool, resources.log, resources.metrics}, options) {
  if (library_->provider() != nullptr) provider_ = guard_.wrap(*library_->provider());
  if (library_->lane() != nullptr) lane_ = guard_.wrap(*library_->lane());
}

Result<std::vector<PluginInfo>, std::vector<LoadError>> Catalog::check(
    const CatalogOptions& options) {
  const auto files = files_of(options.directory);
  if (!files.ok()) return std::vector<LoadError>{files.error()};
  std::vector<LoadError> problems;
  std::vector<PluginInfo> found;
  for (const fs::path& file : *files) {
    auto info = inspect(file);
    if (!info.ok()) {
      problems.push_back(std::move(info).error());
    } else if (auto other = built_like_us(*info)) {
      problems.push_back(*std::move(other));
    } else {
      found.push_back(*std::move(info));
    }
  }
  refuse_equal_names(found, problems);
  compare_with_pins(options, found, problems);
  if (!problems.empty()) return problems;
  return found;
}

Result<Catalog, std::vector<LoadError>> Catalog::load(const CatalogOptions& options,
                                                      const HostResources& resources) {
  auto found = check(options);
  if (!found.ok()) return std::move(found).error();  // no code of any plugin has run
  Catalog catalog;
  std::vector<LoadError> problems;
  for (PluginInfo& info : *found) {
    auto library = Library::open(std::move(info));
    if (library.ok()) {
      const auto number = static_cast<std::uint32_t>(catalog.plugins_.size() + 1);
      catalog.plugins_.push_back(
          std::make_unique<LoadedPlugin>(*std::move(library), number, resources, options.guard));
    } else {
      problems.push_back(std::move(library).error());
    }
  }
  if (!problems.empty()) return problems;
  return catalog;
}

std::string_view Catalog::note_stall(std::uint32_t tag, std::int64_t now_ns) const noexcept {
  for (const auto& plugin : plugins_) {
    if (plugin->guard().number() != tag) continue;
    plugin->guard().note_stall(now_ns);
    return plugin->info().name;
  }
  return {};
}

LoadedPlugin* Catalog::find(std::string_view name) const noexcept {
  for (const auto& plugin : plugins_) {
    if (plugin->info().name == name) return plugin.get();
  }
  return nullptr;
}

}  // namespace turnpike::plugin
