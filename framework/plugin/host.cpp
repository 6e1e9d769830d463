#include "plugin/host.h"

#include <algorithm>
#include <utility>

namespace turnpike::plugin {

namespace {

bool is_snake_case(std::string_view name) noexcept {
  constexpr std::size_t name_max = 100;  // room for a chain's name and an asset's address
  return !name.empty() && name.size() <= name_max && name[0] >= 'a' && name[0] <= 'z' &&
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
    base::Counter* counter = resolve(counters_, name, [this](const std::string& full_name) {
      return &metrics_.counter(full_name + "_total", "Counted by a plugin itself.",
                               {{"plugin", plugin_}});
    });
    if (counter != nullptr) counter->add(increment);
  } catch (...) {  // a count is not worth failing the call
  }
}

void PluginReport::set(std::string_view name, double value) noexcept {
  if (name.ends_with("_total")) return;  // that suffix is reserved for counters
  try {
    base::Gauge* gauge = resolve(gauges_, name, [this](const std::string& full_name) {
      return &metrics_.gauge(full_name, "Set by a plugin itself.", {{"plugin", plugin_}});
    });
    if (gauge != nullptr) gauge->set(value);
  } catch (...) {  // as above
  }
}

template <class Metric, class Make>
Metric* PluginReport::resolve(std::map<std::string, Metric*, std::less<>>& known,
                              std::string_view name, Make&& make) {
  const std::lock_guard lock(mutex_);
  if (const auto found = known.find(name); found != known.end()) return found->second;
  if (known.size() == metrics_max || !is_snake_case(name)) {
    if (!std::exchange(has_told_refusal_, true)) {
      log_.write(Severity::warning, "plugin_metric_refused",
                 {{"plugin", plugin_},
                  {"name", name.substr(0, text_bytes_max)},
                  {"reason", is_snake_case(name) ? "the plugin has too many metrics"
                                                 : "it is no name in snake case, or too long"}});
    }
    return nullptr;
  }
  return known.emplace(name, make("turnpike_plugin_" + std::string(name))).first->second;
}

Done PoolOffload::run(void (*work)(void*) noexcept, void* argument) noexcept {
  try {
    if (pool_.run_to_end(user_, [work, argument] { work(argument); })) return Unit{};
  } catch (...) {  // out of memory, before the work was accepted
  }
  return Failure{FailureKind::unavailable, "the pool for blocking work is full", {}, false};
}

PluginHost::PluginHost(const std::string& plugin, const HostResources& resources)
    : resources_(resources),
      report_(plugin, resources.log, resources.metrics),
      offload_(resources.pool,
               resources.pool.add_user("offload of " + plugin, resources.offload_threads_max,
                                       resources.offload_queued_max)),
      store_(resources.stores.store_of(plugin)) {}

}  // namespace turnpike::plugin
