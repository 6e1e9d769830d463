#include "plugin/library.h"

#include <dlfcn.h>

#include <exception>

#include <boost/dll/shared_library.hpp>

#include "plugin/contained.h"
#include "plugin/offers.h"

namespace turnpike::plugin {

class Library::Mapping {
 public:
  boost::dll::shared_library file;
};

Library::Library(PluginInfo info) : info_(std::move(info)), mapping_(std::make_unique<Mapping>()) {}

Library::~Library() = default;

Result<std::unique_ptr<Library>, LoadError> Library::open(PluginInfo info) {
  std::unique_ptr<Library> library(new Library(std::move(info)));
  if (auto problem = library->load()) return *std::move(problem);
  return library;
}

std::optional<LoadError> Library::load() {
  // Boost has no name for "keep mapped"; it passes the system's flags through.
  const auto mode = boost::dll::load_mode::rtld_now | boost::dll::load_mode::rtld_local |
                    static_cast<boost::dll::load_mode::type>(RTLD_NODELETE);
  const Descriptor* descriptor = nullptr;
  try {
    // The overloads with an error code lose the loader's error text.
    mapping_->file.load(std::filesystem::absolute(info_.file), mode);
    descriptor = &mapping_->file.get<const Descriptor>(std::string(descriptor_symbol));
  } catch (const std::exception& error) {
    return LoadError{info_.file, std::string("cannot be loaded: ") + error.what()};
  }
  const bool is_what_was_inspected =
      descriptor->magic.view() == Descriptor().magic.view() && descriptor->abi == info_.abi &&
      descriptor->size == info_.descriptor_size && slots_of(*descriptor) == info_.slots &&
      descriptor->execution == info_.execution && descriptor->name.view() == info_.name &&
      descriptor->version.view() == info_.version &&
      descriptor->fingerprint.view() == info_.fingerprint;
  if (!is_what_was_inspected) {
    return LoadError{info_.file, "changed while it was loaded; start again"};
  }
  for (std::size_t at = 0; at < info_.slots.size(); ++at) {
    if (auto problem = make(descriptor->slots[at])) return problem;
  }
  return std::nullopt;
}

std::optional<LoadError> Library::make(const FilledSlot& filled) {
  const std::string slot(name_of(filled.slot));
  const auto refused = [&](const std::string& problem) { return LoadError{info_.file, problem}; };
  if (filled.make == nullptr) {
    return refused("has no factory for its slot " + slot + "; use the slot's TURNPIKE_ macro");
  }
  const auto made = contained([&]() -> Result<SlotObject*> { return filled.make(); });
  if (!made.ok()) return refused("could not make its " + slot + ": " + made.error().message);
  if (*made == nullptr) return refused("could not make its " + slot + ": it made nothing");
  if (filled.slot == Slot::provider) provider_.reset(static_cast<Provider*>(*made));
  if (filled.slot == Slot::lane) lane_.reset(static_cast<Lane*>(*made));
  if (filled.slot == Slot::processor) processor_.reset(static_cast<Processor*>(*made));
  const std::string problem = problem_of_offers((*made)->offers());
  if (!problem.empty()) return refused(problem);
  return std::nullopt;
}

}  // namespace turnpike::plugin
