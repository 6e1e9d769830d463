#include "plugin/host.h"

#include <algorithm>
#include <utility>

namespace turnpike::plugin {

namespace {

bool is_snake_case(std::string_view name) noexcept {
  return !name.empty() && name.size() <= 48 && name[0] >= 'a' && name[0] <= 'z' &&
         std::all_of(name.begin(), name.end(), [](char letter) {
           return (letter >= 'a' && letter <= 'z') || (letter >= '0' && letter <= '9') ||
                  letter == '_';
         });
}

}  // namespace

PluginReport::PluginReport(std::string plugin, base::Log& log, base::Metrics& metrics)
    : plugin_(std::move(plugin)), log_(log), metrics_(metrics) {}

void PluginReport::log(Severity severity, std::string_view text) noexcept {
  log_.write(severity, "plugin", {{"plugin", plugin_}, {"text", text.substr(0, text_bytes_max)}});
}

void PluginReport::count(std::string_view name, std::uint64_t increment) noexcept {
  try {
    if (base::Counter* counter = resolve(name)) counter->add(increment);
  } catch (...) {  // a count is not worth more than the call that it counts
  }
}

base::Counter* PluginReport::resolve(std::string_view name) {
  const std::lock_guard lock(mutex_);
  const auto known = counters_.find(name);
  if (known != counters_.end()) return known->second;
  if (counters_.size() == counters_max || !is_snake_case(name)) return nullptr;
  base::Counter& counter = metrics_.counter("turnpike_plugin_" + std::string(name) + "_total",
                                            "Counted by a plugin itself.", {{"plugin", plugin_}});
  counters_.emplace(name, &counter);
  return &counter;
}

Done PoolOffload::run(void (*work)(void*) noexcept, void* argument) noexcept {
  try {
    if (pool_.run_to_end(user_, [work, argument] { work(argument); })) return Unit{};
  } catch (...) {  // memory exhaustion, before the work was accepted
  }
  return Failure{FailureKind::unavailable, "the pool for blocking work is full", {}, false};
}

PluginHost::PluginHost(const std::string& plugin, const HostResources& resources)
    : resources_(resources),
      report_(plugin, resources.log, resources.metrics),
      offload_(resources.pool,
               resources.pool.add_user("offload of " + plugin, resources.offload_threads_max,
                                       resources.offload_queued_max)) {}

}  // namespace turnpike::plugin
