#include "app/binding_check.h"

#include <mutex>
#include <string>
#include <utility>
#include <variant>

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

// Keeps what plugins warn of. Written by main()'s Thread and that of the pool, one after the other.
class KeptWarnings final : public base::Log {
 public:
  using base::Log::write;
  void write(Severity severity, std::string_view event,
             std::initializer_list<base::LogField> fields) noexcept override {
    if (severity < Severity::warning || event != "plugin") return;
    std::string plugin;
    std::string text;
    for (const base::LogField& field : fields) {
      const auto* words = std::get_if<std::string_view>(&field.value);
      if (words == nullptr) continue;
      if (field.key == "plugin") plugin = *words;
      if (field.key == "text") text = *words;
    }
    const std::lock_guard lock(mutex_);
    texts_.push_back("plugin " + plugin + ": " + text);
  }
  std::vector<std::string> take() {
    const std::lock_guard lock(mutex_);
    return std::move(texts_);
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> texts_;
};

// A host for plugins that are only asked what they are and what they refuse.
struct Surroundings {
  base::SystemClock clock;
  base::SystemRandom random;
  KeptWarnings log;
  const std::unique_ptr<base::Metrics> metrics = base::make_metrics();
  runtime::BlockingPool pool{1, 16};
  NoHttp http;
  NoStores stores;

  auto load(const Config& config) {
    return plugin::Catalog::load(catalog_options(config), {.log = log,
                                                           .metrics = *metrics,
                                                           .clock = clock,
                                                           .random = random,
                                                           .http = http,
                                                           .pool = pool,
                                                           .stores = stores});
  }

  void print_help(plugin::LoadedPlugin& loaded, const LaneCommand& command, Console& console) {
    console.out("turnpike " + std::string(command.word) + ": " + std::string(command.summary) +
                "\n");
    constexpr std::string_view words[] = {"--help"};
    const Settings no_settings;
    (void)loaded.lane()->command(command.word, {words, false, no_settings, {}, {}}, console,
                                 loaded.host());
  }
};

}  // namespace

Result<bool, std::string> find_lane_command(const Config& config, std::string_view word,
                                            Console* help) {
  Surroundings surroundings;
  const auto catalog = surroundings.load(config);
  if (!catalog.ok()) return catalog.error().front().text();
  for (const auto& loaded : catalog->plugins()) {
    if (loaded->lane() == nullptr) continue;
    for (const LaneCommand& command : loaded->lane()->traits().commands) {
      if (command.word != word) continue;
      if (help != nullptr) surroundings.print_help(*loaded, command, *help);
      return true;
    }
  }
  return false;
}

BindingFindings check_binding(const Config& config,
                              std::shared_ptr<const registry::Program> program) {
  Surroundings surroundings;
  const auto catalog = surroundings.load(config);
  if (!catalog.ok()) return {{refusals(catalog.error()), {}, {}}, {}};
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
                        "lanes." + name, "no lane plugin of this name is in a plugin directory"});
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
  BindingFindings found{exchange::check_binding(input), surroundings.log.take()};
  found.problems.insert(found.problems.begin(), problems.begin(), problems.end());
  return found;
}

}  // namespace turnpike::app
