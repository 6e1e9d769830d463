// Generations: the way from the registry's files to the program in service. A reload reads,
// compiles, binds, installs and publishes a whole new program, or changes nothing and says why. A
// start whose files are refused serves the program that was installed last, and a rollback one that
// was installed before, both made of the files that the database keeps with them.
//
// Owned by the gateway; must outlive the loops that view its programs. start(), reload() and
// rollback() block and may be called from any plain Thread, one after the other; the rest is for
// any Thread. Programs that went out of service end on a Thread of their own, never on a loop.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "app/kept_programs.h"
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
  std::vector<std::string> notes;                  // what else the operator should know of it
};

// What is served when a start finds files that are refused.
enum class RefusedStart : std::uint8_t { serve_last_installed, serve_nothing };

class Generations {
 public:
  // The provider plugins that a reload may use, or why it may not.
  struct Plugins {
    std::vector<exchange::ProviderSlot> providers;
    std::vector<std::string> notes;  // what only a restart would take
    std::vector<registry::Problem> problems;
  };
  struct Parts {
    std::string registry_path;
    std::string data_dir;  // for files of plugins
    registry::ManifestStore& manifest;
    std::function<Plugins()> plugins;  // called whenever the files are read
    std::span<const exchange::LaneSlot> lanes;
    registry::SecretResolver secrets;
    catalog::ViewOptions view;
    // Of a program that is being installed.
    std::function<std::shared_ptr<const hosts::mcp::Toolset>(const registry::Installed&)> toolset;
    std::uint32_t calls_per_upstream_max;
    bool may_redefine;  // what an installed revision or version means: in development
    exchange::CallReports& reports;
    const Clock& clock;
    base::Log& log;
    base::Metrics& metrics;
  };

  explicit Generations(Parts parts);
  ~Generations();  // REQUIRES: no loop views its programs any more
  Generations(const Generations&) = delete;
  Generations& operator=(const Generations&) = delete;

  // The first program. Where `refused_start` has the last installed one served, the problems are
  // those of the files all the same.
  Reloaded start(RefusedStart refused_start);
  // The registry's files as they are now.
  Reloaded reload();
  // A generation that was installed before.
  Reloaded rollback(const std::string& generation_id);

  [[nodiscard]] const base::Published<InService>& published() const noexcept { return published_; }
  // What is out of the ordinary with the program in service, as a sentence without places and
  // secrets; empty: it is that of the files.
  [[nodiscard]] std::string standing() const;

 private:
  // Programs in service or still used by calls that began under them.
  static constexpr std::uint32_t programs_alive_max = 4;
  // Gives what is about to be served its place in the manifest.
  using Record = std::function<Result<registry::Generation, base::Error>()>;

  Kept compile_files(std::vector<std::string>& notes);
  Reloaded put_in_service(const KeptProgram& what, const Record& record);
  Reloaded install(const KeptProgram& what);
  Reloaded serve_again(const KeptProgram& what);
  Reloaded serve_last_installed(std::vector<registry::Problem> problems);
  Kept rollback_that_holds(const KeptProgram& files);
  void report(const Reloaded& reloaded, std::string standing);
  std::shared_ptr<const InService> own(InService program);
  void bury();

  const Parts parts_;
  std::vector<exchange::ProviderSlot> providers_;  // those of the files that were read last
  std::vector<std::string> plugin_names_;          // parallel to them
  std::mutex reload_mutex_;
  mutable std::mutex standing_mutex_;
  std::string standing_;
  bool was_refused_ = false;  // the last reload or rollback
  base::Published<InService> published_;
  std::atomic<std::uint32_t> programs_alive_{0};
  runtime::BatchQueue<InService*> dead_{1024};
  std::thread undertaker_;
};

}  // namespace turnpike::app
