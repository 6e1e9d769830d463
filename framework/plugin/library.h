// Library: one plugin file that passed the three gates (inspect.h) and the objects that its
// factories made, one per slot. The file stays mapped until the process ends, even when the Library
// is destroyed: an abandoned call on the blocking pool may still be inside its code.
//
// Opened at start by the main Thread; afterwards immutable.
#pragma once

#include <memory>

#include <turnpike/lane.h>
#include <turnpike/processor.h>
#include <turnpike/provider.h>

#include "plugin/inspect.h"

namespace turnpike::plugin {

class Library {
 public:
  // Repeats the second gate on the loaded descriptor, and runs the third. REQUIRES: `info` is from
  // inspect() and passed built_like_us().
  static Result<std::unique_ptr<Library>, LoadError> open(PluginInfo info);
  ~Library();
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  [[nodiscard]] const PluginInfo& info() const noexcept { return info_; }
  // Null if the plugin does not fill the slot.
  [[nodiscard]] Provider* provider() const noexcept { return provider_.get(); }
  [[nodiscard]] Lane* lane() const noexcept { return lane_.get(); }
  [[nodiscard]] Processor* processor() const noexcept { return processor_.get(); }

 private:
  class Mapping;  // boost::dll::shared_library
  explicit Library(PluginInfo info);
  std::optional<LoadError> load();
  std::optional<LoadError> make(const FilledSlot& filled);

  PluginInfo info_;
  std::unique_ptr<Mapping> mapping_;  // declared before the objects, whose code it holds
  std::unique_ptr<Provider> provider_;
  std::unique_ptr<Lane> lane_;
  std::unique_ptr<Processor> processor_;
};

}  // namespace turnpike::plugin
