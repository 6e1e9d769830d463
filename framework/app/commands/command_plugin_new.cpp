// `turnpike plugin new`: writes the project of a new plugin.
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "app/commands/command_line.h"
#include "app/plugins/plugin_project.h"

namespace turnpike::app {
namespace {

namespace fs = std::filesystem;

// Returns what failed, or nothing. Never overwrites an existing file.
std::string write_files(const fs::path& directory, const std::vector<ProjectFile>& files) {
  std::error_code problem;
  if (fs::exists(directory, problem) && !fs::is_empty(directory, problem)) {
    return directory.string() + " is there and not empty; name another with --directory";
  }
  fs::create_directories(directory, problem);
  if (problem) return directory.string() + " cannot be made: " + problem.message();
  for (const ProjectFile& file : files) {
    std::ofstream out(directory / file.name, std::ios::binary);
    out << file.text;
    out.close();
    if (!out) return (directory / file.name).string() + " cannot be written";
  }
  return {};
}

}  // namespace

int run_plugin_new(const CommonOptions& options, Slot slot, const std::string& name,
                   const std::string& directory) {
  std::string problem = problem_of_plugin_name(name);
  if (!problem.empty()) return print_failure(options, problem);
  const fs::path place = directory.empty() ? fs::path(name) : fs::path(directory);
  const auto files = plugin_project(slot, name);
  problem = write_files(place, files);
  if (!problem.empty()) return print_failure(options, problem);
  if (options.json) {
    nlohmann::json names = nlohmann::json::array();
    for (const ProjectFile& file : files) names.push_back(file.name);
    std::cout << nlohmann::json{{"directory", place.string()}, {"files", names}} << '\n';
    return exit_done;
  }
  std::cout << "wrote " << place.string() << ":";
  for (const ProjectFile& file : files) std::cout << ' ' << file.name;
  std::cout << "\nREADME.md says how to build and test it.\n";
  return exit_done;
}

}  // namespace turnpike::app
