// Library: one plugin file that passed the three gates (inspect.h) and the objects that its
// factories made, one for each slot.
// The file stays mapped until the process ends, even when the Library is destroyed: a call that was
// abandoned on the blocking pool may still be inside its code.
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
  // The second gate once more, now on the loaded descriptor, and the third. REQUIRES: `info` is
  // from inspect() and passed built_like_us().
  static Result<std::unique_ptr<Library>, LoadError> open(PluginInfo info);
  ~Library();
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  [[nodiscard]] const PluginInfo& info() const noexcept { return info_; }
  // Null where the plugin does not fill the slot.
  [[nodiscard]] Provider* provider() const noexcept { return provider_.get(); }
  [[nodiscard]] Lane* lane() const noexcept { return lane_.get(); }
  [[nodiscard]] Processor* processor() const noexcept { return processor_.get(); }

 private:
  class Mapping;  // boost::dll::shared_library
  explicit Library(PluginInfo info);
  std::optional<LoadError> load();
  std::optional<LoadError> make(const FilledSlot& filled);

  PluginInfo info_;
  std::unique_ptr<Mapping> mapping_;  // before the objects, whose code it is
  std::unique_ptr<Provider> provider_;
  std::unique_ptr<Lane> lane_;
  std::unique_ptr<Processor> processor_;
};

}  // namespace turnpike::plugin
