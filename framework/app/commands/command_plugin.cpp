// Commands that plugins bring: `turnpike <word> ...`. Each runs in a process of its own, beside a
// running gateway or without one, with the plugin's store and settings.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>

#include "app/commands/command_line.h"
#include "app/config/secrets.h"
#include "app/plugins/binding_check.h"
#include "app/plugins/plugin_process.h"
#include "registry/settings_tree.h"

namespace turnpike::app {
namespace {

class Terminal final : public Console {
 public:
  void out(std::string_view text) override { std::cout << text; }
  void error(std::string_view text) override {
    std::cerr << text << (text.ends_with('\n') ? "" : "\n");
  }
};

// Prints to standard output whatever the plugin prints, since help was requested.
class HelpTerminal final : public Console {
 public:
  void out(std::string_view text) override { std::cout << text; }
  void error(std::string_view text) override { out(text); }
};

int run_command(const PluginProcess& process, const plugin::Catalog::CommandPlace& place,
                std::span<const std::string_view> words) {
  const Config& config = process.config();
  const auto configured = config.lanes.find(place.plugin->info().name);
  const Settings settings = configured == config.lanes.end()
                                ? Settings{}
                                : registry::resolve_secrets(configured->second, &read_secret);
  Terminal terminal;
  return place.object->command(
      place.command.word,
      {words, process.options().json, settings, api_origin(config), config.data_dir}, terminal,
      place.plugin->host());
}

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
  // Checked before the database is opened, which may migrate it: the word may be misspelt.
  const auto is_known = CheckedPlugins(*config).find_command(word, wants_help ? &help : nullptr);
  if (!is_known.ok()) return print_failure(options, is_known.error());
  if (!*is_known) return std::nullopt;
  if (wants_help) return exit_done;
  const std::vector<std::string_view> words(rest.begin(), rest.end());
  PluginProcess process(*config, options);
  return process.run([&](const PluginSet& plugins, storage::Node&) {
    return run_command(process, plugins.catalog().find_command(word), words);
  });
}

}  // namespace turnpike::app
