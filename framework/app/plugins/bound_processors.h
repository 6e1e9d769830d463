// BoundProcessors: the processors that the configuration names, bound to their settings. They stay
// in service until the process ends.
//
// Owned by the code that bound them: the gateway, `turnpike check`, commands. The plugins and the
// configuration outlive it. Immutable once bound; any Thread.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "app/config/config.h"
#include "app/plugins/plugin_set.h"
#include "commerce/processors.h"
#include "registry/compile.h"

namespace turnpike::app {

class BoundProcessors {
 public:
  // Keeps the problems, the notes for the operator, and the missing secrets. `deployment_id`: of
  // the database; empty where the database is not open.
  BoundProcessors(const Config& config, const PluginSet& plugins, std::string public_origin,
                  std::string deployment_id);
  ~BoundProcessors();
  BoundProcessors(const BoundProcessors&) = delete;
  BoundProcessors& operator=(const BoundProcessors&) = delete;

  [[nodiscard]] const std::vector<registry::Problem>& problems() const noexcept {
    return problems_;
  }
  [[nodiscard]] const std::vector<registry::Problem>& notes() const noexcept { return notes_; }
  [[nodiscard]] const std::vector<registry::Problem>& missing_secrets() const noexcept {
    return missing_secrets_;
  }
  [[nodiscard]] const commerce::Processors& processors() const noexcept { return processors_; }
  // Parallel to processors().list().
  [[nodiscard]] std::span<Processor* const> slot_objects() const noexcept { return slots_; }

 private:
  std::unique_ptr<BoundProcessor> bind(const Config& config, const ProcessorSlot& slot);

  const std::string public_origin_;
  const std::string deployment_id_;
  std::vector<Processor*> slots_;
  std::vector<std::unique_ptr<BoundProcessor>> bound_;
  commerce::Processors processors_;
  std::vector<registry::Problem> problems_;
  std::vector<registry::Problem> notes_;
  std::vector<registry::Problem> missing_secrets_;
};

}  // namespace turnpike::app
