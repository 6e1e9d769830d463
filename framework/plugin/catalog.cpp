#include "plugin/catalog.h"

#include <algorithm>
#include <set>
#include <system_error>

#include "base/error.h"
#include "text/json_text.h"

namespace turnpike::plugin {

namespace {

namespace fs = std::filesystem;

Result<std::vector<fs::path>, LoadError> files_in(const fs::path& directory) {
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
  return files;
}

std::vector<fs::path> files_of(const CatalogOptions& options, std::vector<LoadError>& problems) {
  std::vector<fs::path> files;
  for (const fs::path& directory : options.directories) {
    auto found = files_in(directory);
    if (found.ok()) {
      files.insert(files.end(), found->begin(), found->end());
    } else {
      problems.push_back(std::move(found).error());
    }
  }
  std::sort(files.begin(), files.end(), [](const fs::path& left, const fs::path& right) {
    return left.filename() < right.filename();
  });
  return files;
}

// Compares the files with the pinned list; one problem per difference.
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
    problems.push_back(
        {name, "is pinned in `plugins.sha256`, but is in none of the plugin directories"});
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

// Offered names that must be unique in the process, and the plugin file that took each.
using OffersTaken = std::map<std::string, std::string>;

void take_offers(const LoadedPlugin& plugin, OffersTaken& taken, std::vector<LoadError>& problems) {
  const auto take = [&](std::string name) {
    const auto [first, is_new] = taken.try_emplace(std::move(name), plugin.info().file);
    if (is_new) return;
    problems.push_back({plugin.info().file, "offers the " + first->first + ", as does " +
                                                first->second + "; remove one of them"});
  };
  for (const SlotObject* const object : plugin.slot_objects()) {
    const Offers offers = object->offers();
    for (const Command& command : offers.commands) take("command " + std::string(command.word));
    for (const std::string_view path : offers.documents) take("document " + std::string(path));
  }
}

// Returns the library if its processor, if any, has the plugin's name.
Result<std::unique_ptr<Library>, LoadError> with_processor(std::unique_ptr<Library> library) {
  if (library->processor() == nullptr) return library;
  const ProcessorTraits traits = library->processor()->traits();
  if (traits.name == library->info().name) return library;
  return LoadError{library->info().file, "its processor has another name than the plugin: " +
                                             std::string(traits.name)};
}

// Returns the library once the error codes of its lane, if any, are registered.
Result<std::unique_ptr<Library>, LoadError> with_codes(std::unique_ptr<Library> library) {
  if (library->lane() == nullptr) return library;
  const LaneTraits traits = library->lane()->traits();
  const auto refused = [&](std::string problem) {
    return LoadError{library->info().file, std::move(problem)};
  };
  const auto has = [&traits](CodeRole role) {
    return std::any_of(traits.codes.begin(), traits.codes.end(),
                       [role](const LaneCode& code) { return code.role == role; });
  };
  for (const CodeRole role : {CodeRole::not_payable, CodeRole::unavailable}) {
    if (has(role) != traits.has_terms) {
      return refused(
          "a lane has codes for what is not payable and for what is unavailable if, and "
          "only if, it has terms in the registry");
    }
  }
  if (traits.has_terms && (traits.terms_documents == nullptr ||
                           !text::parse_json(traits.terms_documents->payment_header).is_object())) {
    return refused(
        "a lane with terms in the registry describes them in `terms_documents`, with an "
        "OpenAPI parameter as `payment_header`");
  }
  if (traits.name != library->info().name) {
    return refused("its lane has another name than the plugin: " + std::string(traits.name));
  }
  auto added = base::add_lane_codes(library->info().name, traits.codes);
  if (!added.ok()) return refused(std::move(added).error());
  return library;
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
  if (library_->processor() != nullptr) processor_ = guard_.wrap(*library_->processor());
}

std::vector<SlotObject*> LoadedPlugin::slot_objects() const {
  std::vector<SlotObject*> objects;
  if (provider_ != nullptr) objects.push_back(provider_.get());
  if (lane_ != nullptr) objects.push_back(lane_.get());
  if (processor_ != nullptr) objects.push_back(processor_.get());
  return objects;
}

Result<std::vector<PluginInfo>, std::vector<LoadError>> Catalog::check(
    const CatalogOptions& options) {
  std::vector<LoadError> problems;
  std::vector<PluginInfo> found;
  for (const fs::path& file : files_of(options, problems)) {
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
  if (!found.ok()) return std::move(found).error();  // at this point no plugin code has run
  Catalog catalog(options, resources);
  auto added = catalog.add(*std::move(found));
  if (!added.ok()) return std::move(added).error();
  return catalog;
}

Result<std::vector<LoadedPlugin*>, std::vector<LoadError>> Catalog::add(
    std::vector<PluginInfo> infos) {
  std::vector<LoadError> problems;
  std::vector<std::unique_ptr<LoadedPlugin>> made;
  std::size_t number = plugins().size();
  for (PluginInfo& info : infos) {
    auto library = Library::open(std::move(info));
    if (library.ok()) library = with_processor(*std::move(library));
    if (library.ok()) library = with_codes(*std::move(library));
    if (library.ok()) {
      made.push_back(std::make_unique<LoadedPlugin>(
          *std::move(library), static_cast<std::uint32_t>(++number), resources_, options_.guard));
    } else {
      problems.push_back(std::move(library).error());
    }
  }
  OffersTaken taken;
  for (const LoadedPlugin* const known : plugins()) take_offers(*known, taken, problems);
  for (const auto& each : made) take_offers(*each, taken, problems);
  if (!problems.empty()) return problems;
  std::vector<LoadedPlugin*> added;
  const std::lock_guard lock(shelf_->mutex);
  for (std::unique_ptr<LoadedPlugin>& each : made) {
    added.push_back(each.get());
    shelf_->plugins.push_back(std::move(each));
  }
  return added;
}

Result<Catalog::Taken, std::vector<LoadError>> Catalog::take_new() {
  auto found = check(options_);
  if (!found.ok()) return std::move(found).error();
  Taken taken;
  std::vector<PluginInfo> fresh;
  for (PluginInfo& info : *found) {
    const LoadedPlugin* const known = find(info.name);
    if (known != nullptr && known->info().sha256 != info.sha256) {
      taken.notes.push_back(info.file + ": the plugin " + info.name +
                            " is another one than at the start; the one of then serves until a "
                            "restart");
    } else if (known == nullptr && (fills(info, Slot::lane) || fills(info, Slot::processor))) {
      taken.notes.push_back(info.file + ": the " + names_of(info.slots) + " " + info.name +
                            " is new; lanes and processors, like their settings, are taken at a"
                            " start");
    } else if (known == nullptr) {
      fresh.push_back(std::move(info));
    }
  }
  auto added = add(std::move(fresh));
  if (!added.ok()) return std::move(added).error();
  taken.added = *std::move(added);
  return taken;
}

std::string_view Catalog::note_stall(std::uint32_t tag, std::int64_t now_ns) const {
  for (LoadedPlugin* const plugin : plugins()) {
    if (plugin->guard().number() != tag) continue;
    plugin->guard().note_stall(now_ns);
    return plugin->info().name;
  }
  return {};
}

Catalog::CommandPlace Catalog::find_command(std::string_view word) const {
  for (LoadedPlugin* const plugin : plugins()) {
    for (SlotObject* const object : plugin->slot_objects()) {
      for (const Command& command : object->offers().commands) {
        if (command.word == word) return {plugin, object, command};
      }
    }
  }
  return {};
}

LoadedPlugin* Catalog::find(std::string_view name) const {
  for (LoadedPlugin* const plugin : plugins()) {
    if (plugin->info().name == name) return plugin;
  }
  return nullptr;
}

std::vector<LoadedPlugin*> Catalog::plugins() const {
  std::vector<LoadedPlugin*> all;
  const std::lock_guard lock(shelf_->mutex);
  for (const auto& plugin : shelf_->plugins) all.push_back(plugin.get());
  return all;
}

}  // namespace turnpike::plugin
