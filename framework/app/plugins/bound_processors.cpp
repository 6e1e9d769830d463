#include "app/plugins/bound_processors.h"

#include <optional>
#include <utility>

#include <turnpike/helpers/mistakes.h>

#include "app/config/secrets.h"
#include "registry/settings_tree.h"

namespace turnpike::app {
namespace {

registry::Problem problem_at(const Settings& settings, const std::string& subject,
                             const std::string& where, const std::string& message) {
  const Settings& node = registry::nearest_node(settings, where);
  return {"binding_refused", node.file, node.line, node.column,
          where.empty() ? subject : subject + "." + where, message};
}

}  // namespace

BoundProcessors::BoundProcessors(const Config& config, const PluginSet& plugins,
                                 std::string public_origin, std::string deployment_id)
    : public_origin_(std::move(public_origin)), deployment_id_(std::move(deployment_id)) {
  std::vector<commerce::ProcessorInService> list;
  for (const ProcessorSlot& slot : plugins.processors()) {
    auto bound = bind(config, slot);
    if (bound == nullptr) continue;
    const ProcessorTraits traits = slot.processor->traits();
    list.push_back({slot.name, std::string(traits.title.empty() ? traits.name : traits.title),
                    traits, bound.get()});
    slots_.push_back(slot.processor);
    bound_.push_back(std::move(bound));
  }
  processors_ = commerce::Processors(std::move(list));
}

BoundProcessors::~BoundProcessors() = default;

std::unique_ptr<BoundProcessor> BoundProcessors::bind(const Config& config,
                                                      const ProcessorSlot& slot) {
  const std::string subject = "processors." + slot.name;
  const Settings settings = registry::resolve_secrets(
      *slot.settings, [&](const registry::SecretReference& reference) {
        auto value = read_secret(reference);
        if (!value) {
          missing_secrets_.push_back({"secret_missing", reference.file, reference.line,
                                      reference.column, subject,
                                      registry::why_missing(reference)});
        }
        return value;
      });
  // Missing secrets of the lane are reported where the lane is bound.
  std::optional<Settings> of_lane;
  if (slot.lane_settings != nullptr) {
    of_lane = registry::resolve_secrets(*slot.lane_settings, &read_secret);
  }
  std::vector<Note> notes;
  auto bound = slot.processor->bind({.settings = settings,
                                     .public_origin = public_origin_,
                                     .environment = name_of(config.environment),
                                     .deployment_id = deployment_id_,
                                     .data_dir = config.data_dir,
                                     .notes = &notes,
                                     .lane_settings = of_lane ? &*of_lane : nullptr},
                                    *slot.host);
  for (const Note& note : notes) {
    notes_.push_back(problem_at(settings, subject, note.where, note.message));
  }
  if (bound.ok()) return *std::move(bound);
  for (const Mistake& mistake : split_mistakes(bound.error())) {
    problems_.push_back(problem_at(settings, subject, mistake.where, mistake.message));
  }
  return nullptr;
}

}  // namespace turnpike::app
