// Binds plugins as serving does, but over a host without a store and a network, so that nothing is
// written, requested or signed. Plugins check their settings and the operations of a program before
// they use either, so their problems appear here. Also lists the commands that plugins bring.
//
// The registry is compiled with these plugins, since a lane may have terms in the registry.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "app/config/config.h"
#include "exchange/service.h"

namespace turnpike::app {

struct BindingFindings : exchange::Checked {
  std::vector<std::string> warnings;  // "plugin http: ...", as in the log
};

// Leaves out the keys that no lane claims: without plugins it is not known whether one would.
std::vector<registry::Problem> without_unclaimed(std::vector<registry::Problem> problems);

// The plugins of a deployment, loaded for a check. Used by the Thread that made the object.
class CheckedPlugins {
 public:
  explicit CheckedPlugins(const Config& config);
  ~CheckedPlugins();

  // Why no plugins are loaded; empty: all are.
  [[nodiscard]] const std::vector<registry::Problem>& problems() const noexcept;
  // The problems of a registry that was compiled with these plugins. Where no plugins are loaded,
  // the reasons for that come first, and keys that a lane may claim are not problems.
  [[nodiscard]] std::vector<registry::Problem> explain(
      std::vector<registry::Problem> problems) const;
  // Returns the lane with terms in the registry, or null. Lives as long as this object.
  [[nodiscard]] const Lane* lane_with_terms() const;
  [[nodiscard]] BindingFindings bind(std::shared_ptr<const registry::Program> program);
  // Whether a plugin brings this command. Prints the command's usage to `help`, if given. The error
  // is a sentence.
  [[nodiscard]] Result<bool, std::string> find_command(std::string_view word, Console* help);

 private:
  struct Surroundings;
  const Config& config_;
  const std::unique_ptr<Surroundings> surroundings_;
};

}  // namespace turnpike::app
