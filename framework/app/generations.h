// Generations: the way from the registry's files to the program in service. A reload reads,
// compiles, binds, installs and publishes a whole new program, or changes nothing and says why. A
// start whose files are refused serves the program that was installed last, and a rollback one that
// was installed before, both made of the files that the database keeps with them.
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
  std::optional<registry::Generation> generation;  // now in service; none: the old one is kept
  std::vector<registry::Problem> problems;         // why not
  std::vector<registry::Problem> missing_secrets;  // of the one in service: it lacks operations
  std::vector<std::string> notes;                  // what else the operator should know of it
};

// What the last start, reload or rollback came to, and when.
struct LastReload {
  std::int64_t at_ms = 0;
  Reloaded reloaded = {};
};

// The choice of what is served when a start finds files that are refused.
enum class RefusedStart : std::uint8_t { serve_last_installed, serve_nothing };

class Generations {
 public:
  struct Parts {
    std::string registry_path;
    std::string data_dir;  // for files of plugins
    registry::ManifestStore& manifest;
    PluginSet& plugins;  // looked at anew whenever the files are read
    std::span<const exchange::LaneSlot> lanes;
    registry::SecretResolver secrets;
    catalog::ViewOptions view;
    const McpTools& tools;
    Serving& serving;
    std::uint32_t calls_per_upstream_max;
    std::size_t loops;  // that count calls
    bool may_redefine;  // what an installed revision or version means: in development
    exchange::CallReports& reports;
    const Clock& clock;
    base::Log& log;
    base::Metrics& metrics;
  };

  explicit Generations(Parts parts) : parts_(std::move(parts)) {}

  // The first program. Where `refused_start` has the last installed one served, the problems are
  // those of the files all the same.
  Reloaded start(RefusedStart refused_start);
  // The registry's files as they are now.
  Reloaded reload();
  // A generation that was installed before.
  Reloaded rollback(const std::string& generation_id);
  // Any Thread, also meanwhile.
  [[nodiscard]] LastReload last() const;

 private:
  // Gives what is about to be served its place in the manifest.
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
  std::vector<exchange::ProviderSlot> providers_;  // those of the files that were read last
  std::vector<std::string> plugin_names_;          // parallel to them
  std::mutex reload_mutex_;
  mutable std::mutex last_mutex_;
  LastReload last_;
};

}  // namespace turnpike::app
