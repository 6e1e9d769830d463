#include "app/commands/command_line.h"

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <filesystem>
#include <iostream>

namespace turnpike::app {

// CLI11's own way of reading the environment does not fit: it sets the shared value again for each
// command that was not chosen, and so overwrites the value of --config.
void add_common_options(CLI::App& command, CommonOptions& options) {
  const auto is_named = [](const std::string& path) {
    // An empty path, as from an unset variable of a script, must not select the deployment that the
    // environment names.
    return path.empty() ? std::string("names no file") : std::string();
  };
  command
      .add_option("--config", options.config_path,
                  "Configuration file; else the one that TURNPIKE_CONFIG names, else "
                  "config/turnpike.yaml")
      ->check(CLI::Validator(is_named, "FILE"));
  command.add_option("--set", options.settings, "Override: path.to.key=value; may be repeated")
      ->allow_extra_args(false);
  command.add_flag("--json", options.json, "Print one JSON value on standard output");
}

std::optional<Config> load_config(const CommonOptions& options) {
  std::string path = options.config_path;
  const char* named = std::getenv("TURNPIKE_CONFIG");
  if (path.empty() && named != nullptr) path = named;
  if (path.empty() && std::filesystem::exists("config/turnpike.yaml")) {
    path = "config/turnpike.yaml";
  }
  auto config = read_config(path, options.settings);
  if (config.ok()) return *std::move(config);
  print_problems(config.error(), options.json);
  return std::nullopt;
}

std::ofstream open_private(const std::string& path) {
  namespace fs = std::filesystem;
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  std::error_code problem;
  if (fs::is_regular_file(path, problem)) {
    fs::permissions(path, fs::perms::owner_read | fs::perms::owner_write, problem);
  }
  return file;
}

std::string json_text(const nlohmann::json& value) {
  return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

nlohmann::json problems_json(const std::vector<registry::Problem>& problems) {
  nlohmann::json list = nlohmann::json::array();
  for (const registry::Problem& problem : problems) {
    list.push_back({{"file", problem.file},
                    {"line", problem.line},
                    {"column", problem.column},
                    {"path", problem.path},
                    {"message", problem.message}});
  }
  return list;
}

void print_problems(const std::vector<registry::Problem>& problems, bool json) {
  if (json) {
    std::cout << json_text({{"ok", false}, {"problems", problems_json(problems)}}) << '\n';
    return;
  }
  for (const registry::Problem& problem : problems) std::cerr << problem.text() << '\n';
}

int print_failure(const CommonOptions& options, const std::string& message) {
  if (options.json) {
    std::cout << json_text({{"ok", false}, {"message", message}}) << '\n';
  } else {
    std::cerr << "turnpike: " << message << '\n';
  }
  return exit_failed;
}

}  // namespace turnpike::app
