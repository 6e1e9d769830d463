// PluginHost: the SDK's Host for one plugin: its log lines and metrics carry the plugin's name, its
// HTTP uses the gateway's client, its heavy work the gateway's pool, and its Store contains its own
// records only. It gives a plugin no access to the configuration, to other plugins or to secrets
// that are not in its own settings.
//
// One per plugin, owned by app/, outlives the plugin's objects. Any fiber, any Thread.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include <turnpike/host.h>

#include "base/log.h"
#include "base/metrics.h"
#include "records/stores.h"
#include "runtime/pool.h"

namespace turnpike::plugin {

// The parts of the gateway that all plugins share; they outlive every PluginHost.
struct HostResources {
  base::Log& log;
  base::Metrics& metrics;
  Clock& clock;
  Random& random;
  Http& http;  // wire's client
  runtime::BlockingPool& pool;
  records::Stores& stores;
  std::uint32_t offload_threads_max = 2;  // pool threads for one plugin
  std::uint32_t offload_queued_max = 256;
};

class PluginReport final : public Report {
 public:
  // Limit per kind, for a plugin that invents names without end.
  static constexpr std::size_t metrics_max = 64;
  static constexpr std::size_t text_bytes_max = 1024;

  PluginReport(std::string plugin, base::Log& log, base::Metrics& metrics);
  void log(Severity severity, std::string_view text) noexcept override;
  void count(std::string_view name, std::uint64_t increment) noexcept override;
  void set(std::string_view name, double value) noexcept override;

 private:
  // Null: the plugin has too many, or the name is invalid, which is logged once.
  template <class Metric, class Make>
  Metric* resolve(std::map<std::string, Metric*, std::less<>>& known, std::string_view name,
                  Make&& make);

  const std::string plugin_;
  base::Log& log_;
  base::Metrics& metrics_;
  std::mutex mutex_;
  std::map<std::string, base::Counter*, std::less<>> counters_;
  std::map<std::string, base::Gauge*, std::less<>> gauges_;
  bool has_told_refusal_ = false;
};

class PoolOffload final : public Offload {
 public:
  PoolOffload(runtime::BlockingPool& pool, runtime::PoolUser user)
      : pool_(pool), user_(std::move(user)) {}
  Done run(void (*work)(void*) noexcept, void* argument) noexcept override;

 private:
  runtime::BlockingPool& pool_;
  const runtime::PoolUser user_;
};

class PluginHost final : public Host {
 public:
  PluginHost(const std::string& plugin, const HostResources& resources);
  [[nodiscard]] Report& report() noexcept override { return report_; }
  [[nodiscard]] Clock& clock() noexcept override { return resources_.clock; }
  [[nodiscard]] Random& random() noexcept override { return resources_.random; }
  [[nodiscard]] Http& http() noexcept override { return resources_.http; }
  [[nodiscard]] Offload& offload() noexcept override { return offload_; }
  [[nodiscard]] Store& store() noexcept override { return *store_; }

 private:
  const HostResources resources_;
  PluginReport report_;
  PoolOffload offload_;
  const std::unique_ptr<Store> store_;
};

}  // namespace turnpike::plugin
