// Commands that plugins bring: `turnpike <word> ...`. They run in a process of their own,
// beside a running gateway or without one, with the plugin's store and settings.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>

#include "app/binding_check.h"
#include "app/command_line.h"
#include "app/plugin_set.h"
#include "app/secrets.h"
#include "app/stores.h"
#include "base/sources.h"
#include "records/durable_stores.h"
#include "registry/settings_tree.h"
#include "runtime/runtime.h"
#include "wire/client.h"

namespace turnpike::app {
namespace {

class Terminal final : public Console {
 public:
  void out(std::string_view text) override { std::cout << text; }
  void error(std::string_view text) override {
    std::cerr << text << (text.ends_with('\n') ? "" : "\n");
  }
};

// Help is what was asked for, wherever the plugin prints it.
class HelpTerminal final : public Console {
 public:
  void out(std::string_view text) override { std::cout << text; }
  void error(std::string_view text) override { out(text); }
};

// What plugins stand on, as far as commands need it.
class PluginProcess {
 public:
  PluginProcess(const Config& config, const CommonOptions& options)
      : config_(config), options_(options) {}

  // Nothing: no plugin has this command.
  std::optional<int> run(std::string_view word, std::span<const std::string_view> words) {
    auto node = open_node(config_, storage::Role::tool, clock_, random_);
    if (!node.ok()) return print_failure(options_, node.error());
    runtime::RuntimeOptions runtime_options;
    runtime_options.loops = 1;
    runtime::Runtime runtime(std::move(runtime_options));
    const auto client = wire::make_client(runtime, {});
    records::DurableStores stores((*node)->records(),
                                  {clock_, random_, *log_, *metrics_, runtime.pool(), [](auto) {}});
    if (auto started = stores.start(); !started.ok()) {
      return print_failure(options_, "the database does not answer: " + started.error().text);
    }
    const plugin::HostResources resources{.log = *log_,
                                          .metrics = *metrics_,
                                          .clock = clock_,
                                          .random = random_,
                                          .http = *client,
                                          .pool = runtime.pool(),
                                          .stores = stores};
    const auto code = run_with(resources, word, words);
    stores.stop();
    client->stop();
    return code;
  }

 private:
  std::optional<int> run_with(const plugin::HostResources& resources, std::string_view word,
                              std::span<const std::string_view> words) {
    const auto plugins = PluginSet::load(config_, resources);
    if (!plugins.ok()) return print_failure(options_, plugins.error().front().text());
    const auto place = plugins->catalog().find_command(word);
    if (place.plugin == nullptr) return std::nullopt;
    return run_command(place, words);
  }

  int run_command(const plugin::Catalog::CommandPlace& place,
                  std::span<const std::string_view> words) {
    const auto configured = config_.lanes.find(place.plugin->info().name);
    const Settings settings = configured == config_.lanes.end()
                                  ? Settings{}
                                  : registry::resolve_secrets(configured->second, &read_secret);
    const std::string origin =
        config_.api.base_url.empty() ? "http://" + config_.api.listen : config_.api.base_url;
    Terminal terminal;
    return place.object->command(place.command.word,
                                 {words, options_.json, settings, origin, config_.data_dir},
                                 terminal, place.plugin->host());
  }

  const Config& config_;
  const CommonOptions& options_;
  base::SystemClock clock_;
  base::SystemRandom random_;
  const std::unique_ptr<base::Log> log_ =
      base::make_process_log(clock_, {.minimum = Severity::warning});
  const std::unique_ptr<base::Metrics> metrics_ = base::make_metrics();
};

}  // namespace

std::optional<int> run_plugin_command(const std::string& word,
                                      const std::vector<std::string>& arguments) {
  CLI::App app;
  app.set_help_flag("");
  app.allow_extras();
  CommonOptions options;
  add_common_options(app, options);
  std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
  app.parse(reversed);
  const auto config = load_config(options);
  if (!config) return exit_failed;
  const std::vector<std::string> rest = app.remaining();
  const bool wants_help = std::any_of(rest.begin(), rest.end(), [](const std::string& each) {
    return each == "--help" || each == "-h";
  });
  HelpTerminal help;
  // Before the database is opened, which may migrate it: the word may be misspelt.
  const auto is_known = CheckedPlugins(*config).find_command(word, wants_help ? &help : nullptr);
  if (!is_known.ok()) return print_failure(options, is_known.error());
  if (!*is_known) return std::nullopt;
  if (wants_help) return exit_done;
  const std::vector<std::string_view> words(rest.begin(), rest.end());
  return PluginProcess(*config, options).run(word, words);
}

}  // namespace turnpike::app
