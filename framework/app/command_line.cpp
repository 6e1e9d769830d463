#include "app/command_line.h"

#include <filesystem>
#include <iostream>

namespace turnpike::app {

std::optional<Config> load_config(const CommonOptions& options) {
  std::string path = options.config_path;
  if (path.empty() && std::filesystem::exists("config/turnpike.yaml"))
    path = "config/turnpike.yaml";
  auto config = read_config(path, options.settings);
  if (config.ok()) return *std::move(config);
  print_problems(config.error(), options.json);
  return std::nullopt;
}

std::string json_text(const nlohmann::json& value) {
  return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

nlohmann::json to_json(const std::vector<registry::Problem>& problems) {
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
    std::cout << json_text({{"ok", false}, {"problems", to_json(problems)}}) << '\n';
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
