// Generations: turns the registry's files into the program in service. A reload reads, compiles,
// binds, installs and publishes a whole new program, or changes nothing and reports why. A start
// with refused files serves the program that was installed last; a rollback serves one that was
// installed before. Both are compiled from the files that the database keeps with each
// installation.
//
// Owned by the gateway. Its members block and may be called from any plain Thread, one after the
// other.
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "app/kept_programs.h"
#include "app/plugins/plugin_set.h"
#include "app/services/mcp_tools.h"
#include "app/serving.h"
#include "base/log.h"
#include "base/metrics.h"
#include "registry/compile.h"
#include "registry/generation.h"

namespace turnpike::app {

struct Reloaded {
  std::optional<registry::Generation> generation;  // now in service; none: the old one stays
  std::vector<registry::Problem> problems;         // why it was refused
  std::vector<registry::Problem> missing_secrets;  // of the program in service
  std::vector<std::string> notes;                  // further notes for the operator
};

// The outcome of the last start, reload or rollback, and its time.
struct LastReload {
  std::int64_t at_ms = 0;
  Reloaded reloaded = {};
};

// The program that a start serves when the files are refused.
enum class RefusedStart : std::uint8_t { serve_last_installed, serve_nothing };

class Generations {
 public:
  struct Parts {
    std::string registry_path;
    std::string data_dir;  // for files of plugins
    registry::ManifestStore& manifest;
    PluginSet& plugins;  // scanned again whenever the files are read
    std::span<const exchange::LaneSlot> lanes;
    registry::SecretResolver secrets;
    catalog::ViewOptions view;
    const McpTools& tools;
    Serving& serving;
    std::uint32_t calls_per_upstream_max;
    std::size_t loops;  // loops that count calls
    bool may_redefine;  // whether an installed revision or version may change: in development
    exchange::CallReports& reports;
    const Clock& clock;
    base::Log& log;
    base::Metrics& metrics;
  };

  explicit Generations(Parts parts) : parts_(std::move(parts)) {}

  // Serves the first program. If `refused_start` is serve_last_installed, the problems of the files
  // are reported all the same.
  Reloaded start(RefusedStart refused_start);
  // Serves the registry's current files.
  Reloaded reload();
  // Serves a generation that was installed before.
  Reloaded rollback(const std::string& generation_id);
  // Any Thread, also during a reload.
  [[nodiscard]] LastReload last() const;

 private:
  // Records a program in the manifest before it is served.
  using Record = std::function<Result<registry::Generation, base::Error>()>;

  Kept compile_files(std::vector<std::string>& notes);
  Reloaded put_in_service(const KeptProgram& what, const Record& record);
  Reloaded install(const KeptProgram& what);
  Reloaded serve_again(const KeptProgram& what);
  Reloaded serve_last_installed(std::vector<registry::Problem> problems);
  [[nodiscard]] LoadedPlugins loaded() const {
    return {plugin_names_, exchange::lane_with_terms(parts_.lanes)};
  }
  Kept rollback_that_holds(const KeptProgram& files);
  void report(const Reloaded& reloaded, std::string standing);
  void keep_last(const Reloaded& reloaded);

  const Parts parts_;
  std::vector<exchange::ProviderSlot> providers_;  // of the files that were read last
  std::vector<std::string> plugin_names_;          // parallel to providers_
  std::mutex reload_mutex_;
  mutable std::mutex last_mutex_;
  LastReload last_;
};

}  // namespace turnpike::app
