#include "app/binding_check.h"

#include <string>
#include <utility>

#include "app/paths.h"
#include "app/secrets.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/sources.h"
#include "exchange/service.h"
#include "plugin/catalog.h"
#include "records/stores.h"
#include "runtime/pool.h"

namespace turnpike::app {
namespace {

Failure away() { return {FailureKind::unavailable, "this is a check", {}, false}; }

class NoStore final : public Store {
 public:
  StoreApplied apply(std::span<const StoreCheck>, std::span<const StoreWrite>,
                     Call&) noexcept override {
    return {};
  }
  Result<std::optional<StoreRecord>> get(std::string_view, Call&) noexcept override {
    return away();
  }
  Result<std::vector<StoreRecord>> scan(std::string_view, std::string_view, std::uint32_t,
                                        Call&) noexcept override {
    return away();
  }
  [[nodiscard]] std::int64_t now_ms() const noexcept override { return 0; }
};

class NoStores final : public records::Stores {
 public:
  std::unique_ptr<Store> store_of(std::string_view) override { return std::make_unique<NoStore>(); }
};

std::vector<registry::Problem> refusals(const std::vector<plugin::LoadError>& errors) {
  std::vector<registry::Problem> problems;
  for (const plugin::LoadError& error : errors) {
    problems.push_back({"plugin_refused", error.file, 0, 0, "", error.problem});
  }
  return problems;
}

class NoHttp final : public Http {
 public:
  Done call(const HttpRequest&, const HttpOptions&, HttpSink&, Call&) noexcept override {
    return away();
  }
};

// A host for plugins that are only asked what they are and what they refuse.
struct Surroundings {
  base::SystemClock clock;
  base::SystemRandom random;
  const std::unique_ptr<base::Log> log =
      base::make_process_log(clock, {.minimum = Severity::error});
  const std::unique_ptr<base::Metrics> metrics = base::make_metrics();
  runtime::BlockingPool pool{1, 16};
  NoHttp http;
  NoStores stores;

  auto load(const Config& config) {
    return plugin::Catalog::load(
        {.directory = plugin_directory(config), .pinned_sha256 = config.plugins_sha256},
        {.log = *log,
         .metrics = *metrics,
         .clock = clock,
         .random = random,
         .http = http,
         .pool = pool,
         .stores = stores});
  }
};

}  // namespace

Result<bool, std::string> has_lane_command(const Config& config, std::string_view word) {
  Surroundings surroundings;
  const auto catalog = surroundings.load(config);
  if (!catalog.ok()) return catalog.error().front().text();
  for (const auto& loaded : catalog->plugins()) {
    if (loaded->lane() == nullptr) continue;
    for (const LaneCommand& command : loaded->lane()->traits().commands) {
      if (command.word == word) return true;
    }
  }
  return false;
}

exchange::Checked check_binding(const Config& config,
                                std::shared_ptr<const registry::Program> program) {
  Surroundings surroundings;
  const std::string directory = plugin_directory(config);
  const auto catalog = surroundings.load(config);
  if (!catalog.ok()) return {refusals(catalog.error()), {}};
  std::vector<exchange::ProviderSlot> providers;
  std::vector<exchange::LaneSlot> lanes;
  std::vector<registry::Problem> problems;
  for (const auto& loaded : catalog->plugins()) {
    if (loaded->provider() != nullptr) {
      providers.push_back({loaded->info().name, loaded->provider(), &loaded->host()});
    }
    if (loaded->lane() == nullptr) continue;
    const auto settings = config.lanes.find(loaded->info().name);
    lanes.push_back({loaded->lane(), &loaded->host(),
                     settings == config.lanes.end() ? nullptr : &settings->second});
  }
  for (const auto& [name, settings] : config.lanes) {
    const plugin::LoadedPlugin* named = catalog->find(name);
    if (named != nullptr && named->lane() != nullptr) continue;
    problems.push_back({"plugin_missing", settings.file, settings.line, settings.column,
                        "lanes." + name, "no lane plugin of this name is in " + directory});
  }
  const registry::SecretResolver secrets = &read_secret;
  // Without one it is where the gateway will listen, which is not known yet.
  const std::string origin = config.api.base_url.empty() ? "http://localhost" : config.api.base_url;
  exchange::BindInput input;
  input.installed.program = std::move(program);
  input.providers = providers;
  input.lanes = lanes;
  input.secrets = &secrets;
  input.public_origin = origin;
  input.data_dir = config.data_dir;
  exchange::Checked checked = exchange::check_binding(input);
  checked.problems.insert(checked.problems.begin(), problems.begin(), problems.end());
  return checked;
}

}  // namespace turnpike::app
