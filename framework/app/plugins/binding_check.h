// Binds plugins as serving does, but over a host without a store and a network, so that nothing is
// written, requested or signed. Plugins check their settings and the operations of a program before
// they use either, so their problems show here. Also lists the commands that plugins bring.
//
// A registry is compiled with them, since a lane may have terms in it.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "app/config/config.h"
#include "exchange/service.h"

namespace turnpike::app {

struct BindingFindings : exchange::Checked {
  std::vector<std::string> warnings;  // "plugin http: ...", as plugins would log them
};

// Leaves out the keys that no lane claims: without plugins nothing tells whether one does.
std::vector<registry::Problem> without_unclaimed(std::vector<registry::Problem> problems);

// The plugins of a deployment in these surroundings. For the Thread that made it.
class CheckedPlugins {
 public:
  explicit CheckedPlugins(const Config& config);
  ~CheckedPlugins();

  // Why none is loaded; empty: all are.
  [[nodiscard]] const std::vector<registry::Problem>& problems() const noexcept;
  // The problems of a registry that was compiled with these plugins. Where none is loaded, the
  // reasons for that come first, and keys that a lane may claim are no problem.
  [[nodiscard]] std::vector<registry::Problem> explain(
      std::vector<registry::Problem> problems) const;
  // The one with terms in the registry, or null. As long-lived as this.
  [[nodiscard]] const Lane* lane_with_terms() const;
  [[nodiscard]] BindingFindings bind(std::shared_ptr<const registry::Program> program);
  // Whether a plugin brings this command, whose usage is printed to `help`, where that is
  // given. The error is a sentence.
  [[nodiscard]] Result<bool, std::string> find_command(std::string_view word, Console* help);

 private:
  struct Surroundings;
  const Config& config_;
  const std::unique_ptr<Surroundings> surroundings_;
};

}  // namespace turnpike::app
