#include "app/plugins/binding_check.h"

#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "app/config/secrets.h"
#include "app/plugins/bound_processors.h"
#include "app/plugins/plugin_set.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/sources.h"
#include "exchange/service.h"
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

class NoHttp final : public Http {
 public:
  Done call(const HttpRequest&, const HttpOptions&, HttpSink&, Call&) noexcept override {
    return away();
  }
};

// Collects the warnings of plugins. Written by main()'s Thread and the pool's, one after the other.
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
      if (field.key.text() == "plugin") plugin = *words;
      if (field.key.text() == "text") text = *words;
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

}  // namespace

std::vector<registry::Problem> without_unclaimed(std::vector<registry::Problem> problems) {
  std::erase_if(problems, [](const auto& problem) { return problem.rule == "unclaimed_key"; });
  return problems;
}

// A host for plugins that are only asked for their descriptors and their problems.
struct CheckedPlugins::Surroundings {
  base::SystemClock clock;
  base::SystemRandom random;
  KeptWarnings log;
  const std::unique_ptr<base::Metrics> metrics = base::make_metrics();
  runtime::BlockingPool pool{1, 16};
  NoHttp http;
  NoStores stores;
  std::optional<PluginSet> plugins;
  std::vector<registry::Problem> problems;

  void load(const Config& config) {
    auto loaded = PluginSet::load(config, {.log = log,
                                           .metrics = *metrics,
                                           .clock = clock,
                                           .random = random,
                                           .http = http,
                                           .pool = pool,
                                           .stores = stores});
    if (loaded.ok()) {
      plugins.emplace(*std::move(loaded));
    } else {
      problems = std::move(loaded).error();
    }
  }

  static void print_help(const plugin::Catalog::CommandPlace& place, Console& console) {
    const auto& [loaded, object, command] = place;
    console.out("turnpike " + std::string(command.word) + ": " + std::string(command.summary) +
                "\n");
    constexpr std::string_view words[] = {"--help"};
    const Settings no_settings;
    (void)object->command(command.word, {words, false, no_settings, {}, {}}, console,
                          loaded->host());
  }
};

CheckedPlugins::CheckedPlugins(const Config& config)
    : config_(config), surroundings_(std::make_unique<Surroundings>()) {
  surroundings_->load(config);
}

CheckedPlugins::~CheckedPlugins() = default;

const std::vector<registry::Problem>& CheckedPlugins::problems() const noexcept {
  return surroundings_->problems;
}

std::vector<registry::Problem> CheckedPlugins::explain(
    std::vector<registry::Problem> problems) const {
  if (surroundings_->plugins) return problems;
  problems = without_unclaimed(std::move(problems));
  problems.insert(problems.begin(), this->problems().begin(), this->problems().end());
  return problems;
}

const Lane* CheckedPlugins::lane_with_terms() const {
  if (!surroundings_->plugins) return nullptr;
  return exchange::lane_with_terms(surroundings_->plugins->lanes());
}

Result<bool, std::string> CheckedPlugins::find_command(std::string_view word, Console* help) {
  if (!surroundings_->plugins) return problems().front().text();
  const auto place = surroundings_->plugins->catalog().find_command(word);
  if (place.plugin != nullptr && help != nullptr) Surroundings::print_help(place, *help);
  return place.plugin != nullptr;
}

BindingFindings CheckedPlugins::bind(std::shared_ptr<const registry::Program> program) {
  if (!surroundings_->plugins) return {{problems(), {}, {}}, {}};
  const PluginSet& plugins = *surroundings_->plugins;
  const auto providers = plugins.providers();
  const auto unclaimed = plugins.unclaimed_settings();
  const registry::SecretResolver secrets = &read_secret;
  // Without a configured URL the origin is where the gateway will listen, which is not known yet.
  const std::string origin =
      config_.api.base_url.empty() ? "http://localhost" : config_.api.base_url;
  exchange::BindInput input;
  input.installed.program = std::move(program);
  input.providers = providers;
  input.lanes = plugins.lanes();
  input.secrets = &secrets;
  input.public_origin = origin;
  input.data_dir = config_.data_dir;
  BindingFindings found{exchange::check_binding(input), surroundings_->log.take()};
  found.problems.insert(found.problems.begin(), unclaimed.begin(), unclaimed.end());
  const BoundProcessors processors(config_, plugins, origin, "");
  const auto append = [](auto& all, const auto& some) {
    all.insert(all.end(), some.begin(), some.end());
  };
  append(found.problems, processors.problems());
  append(found.missing_secrets, processors.missing_secrets());
  append(found.notes, processors.notes());
  return found;
}

}  // namespace turnpike::app
