#include "plugin/library.h"

#include <dlfcn.h>

#include <cstring>
#include <exception>

#include <boost/dll/shared_library.hpp>

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
  // Boost knows no name for "keep mapped"; it passes the system's flags through.
  const auto mode = boost::dll::load_mode::rtld_now | boost::dll::load_mode::rtld_local |
                    static_cast<boost::dll::load_mode::type>(RTLD_NODELETE);
  const Descriptor* descriptor = nullptr;
  try {
    // The overloads with an error code lose the loader's own words.
    mapping_->file.load(std::filesystem::absolute(info_.file), mode);
    descriptor = &mapping_->file.get<const Descriptor>(std::string(descriptor_symbol));
  } catch (const std::exception& error) {
    return LoadError{info_.file, std::string("cannot be loaded: ") + error.what()};
  }
  const bool is_what_was_inspected =
      descriptor->magic.view() == Descriptor().magic.view() && descriptor->abi == info_.abi &&
      descriptor->size == info_.descriptor_size && descriptor->slot == info_.slot &&
      descriptor->execution == info_.execution && descriptor->name.view() == info_.name &&
      descriptor->version.view() == info_.version &&
      descriptor->fingerprint.view() == info_.fingerprint;
  if (!is_what_was_inspected) {
    return LoadError{info_.file, "changed while it was loaded; start again"};
  }
  return make(*descriptor);
}

std::optional<LoadError> Library::make(const Descriptor& descriptor) {
  FactoryError error;
  const bool is_provider = descriptor.slot == Slot::provider;
  if (is_provider ? descriptor.make_provider == nullptr : descriptor.make_lane == nullptr) {
    return LoadError{info_.file, "has no factory for its slot; use the slot's TURNPIKE_ macro"};
  }
  if (is_provider) {
    provider_.reset(descriptor.make_provider(error));
  } else {
    lane_.reset(descriptor.make_lane(error));
  }
  if (provider_ != nullptr || lane_ != nullptr) return std::nullopt;
  const std::string reason(error.text, strnlen(error.text, sizeof(error.text)));
  return LoadError{info_.file, "could not start: " + reason};
}

}  // namespace turnpike::plugin
