// Generations: the way from the registry's files to the program in service. A reload reads,
// compiles, installs, binds and publishes a whole new program, or changes nothing and says why.
//
// Owned by the gateway; must outlive the loops that view its programs. reload() blocks and may be
// called from any plain Thread, one after the other; the rest is for any Thread. Programs that went
// out of service end on a Thread of their own, never on a loop.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/log.h"
#include "base/metrics.h"
#include "base/published.h"
#include "catalog/view.h"
#include "exchange/service.h"
#include "hosts/mcp/toolset.h"
#include "registry/compile.h"
#include "registry/generation.h"
#include "runtime/wait.h"

namespace turnpike::app {

// What is published: the calls' side and the public sides of one generation.
struct InService {
  std::shared_ptr<const exchange::Service> service;
  std::shared_ptr<const catalog::View> view;
  std::shared_ptr<const hosts::mcp::Toolset> toolset;
};

struct Reloaded {
  std::optional<registry::Generation> generation;  // now in service; none: the old one is kept
  std::vector<registry::Problem> problems;         // why not
  std::vector<registry::Problem> missing_secrets;  // of the one in service: it lacks operations
};

class Generations {
 public:
  struct Parts {
    std::string registry_path;
    std::string data_dir;  // for files of plugins
    registry::ManifestStore& manifest;
    std::span<const exchange::ProviderSlot> providers;
    std::span<const exchange::LaneSlot> lanes;
    registry::SecretResolver secrets;
    catalog::ViewOptions view;
    // Of a program that is being installed.
    std::function<std::shared_ptr<const hosts::mcp::Toolset>(const registry::Installed&)> toolset;
    std::uint32_t calls_per_upstream_max;
    const Clock& clock;
    base::Log& log;
    base::Metrics& metrics;
  };

  explicit Generations(Parts parts);
  ~Generations();  // REQUIRES: no loop views its programs any more
  Generations(const Generations&) = delete;
  Generations& operator=(const Generations&) = delete;

  Reloaded reload();

  [[nodiscard]] const base::Published<InService>& published() const noexcept { return published_; }
  // Why the last reload failed; empty when it did not.
  [[nodiscard]] std::string last_refusal() const;

 private:
  // Programs in service or still used by calls that began under them.
  static constexpr std::uint32_t programs_alive_max = 4;

  Reloaded try_reload();
  void report(const Reloaded& reloaded);
  std::shared_ptr<const InService> own(InService program);
  void bury();

  const Parts parts_;
  std::vector<std::string> plugin_names_;
  std::mutex reload_mutex_;
  mutable std::mutex refusal_mutex_;
  std::string last_refusal_;
  base::Published<InService> published_;
  std::atomic<std::uint32_t> programs_alive_{0};
  runtime::BatchQueue<InService*> dead_{1024};
  std::thread undertaker_;
};

}  // namespace turnpike::app
