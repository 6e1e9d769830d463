#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include "base/limits.h"
#include "registry/compile.h"
#include "registry/problems.h"

namespace turnpike::registry {
namespace {

namespace files = std::filesystem;

Problem problem_with(Rule rule, const std::string& file,
                     std::initializer_list<std::string_view> arguments) {
  const RuleInfo& info = rule_infos[static_cast<std::size_t>(rule)];
  Problem problem;
  problem.rule = info.name;
  problem.file = file;
  problem.message = fill(info.sentence, arguments);
  return problem;
}

// The *.yaml files below `directory`, and files with similar names that are probably meant as such;
// a leading dot hides a file or a folder (such as the target of a Kubernetes volume's links).
struct FileNames {
  std::vector<std::string> yaml;
  std::vector<std::string> misnamed;
};
FileNames names_below(const std::string& directory, std::error_code& failure) {
  FileNames names;
  files::recursive_directory_iterator at(directory, failure);
  const files::recursive_directory_iterator end;
  while (!failure && at != end) {
    const files::path& path = at->path();
    const bool is_hidden = path.filename().native().starts_with('.');
    if (is_hidden) at.disable_recursion_pending();
    const bool is_file = !is_hidden && at->is_regular_file(failure);
    if (is_file && path.extension() == ".yaml") names.yaml.push_back(path.string());
    if (is_file && path.extension() == ".yml") names.misnamed.push_back(path.string());
    if (names.yaml.size() > base::limits::registry_files_max) break;
    if (!failure) at.increment(failure);
  }
  std::sort(names.yaml.begin(), names.yaml.end());
  return names;
}

}  // namespace

Result<std::vector<Source>, std::vector<Problem>> read_sources(const std::string& directory) {
  constexpr std::size_t bytes_max = base::limits::registry_file_bytes_max;
  std::error_code failure;
  const auto [names, misnamed] = names_below(directory, failure);
  std::vector<Problem> problems;
  if (failure) {
    problems.push_back(problem_with(Rule::file_unreadable, directory, {failure.message()}));
    return problems;
  }
  for (const std::string& name : misnamed) {
    problems.push_back(problem_with(Rule::file_misnamed, name, {}));
  }
  // A folder that is not mounted must not take every route out of service.
  if (names.empty() && misnamed.empty()) {
    problems.push_back(problem_with(Rule::no_files, directory, {}));
  }
  if (names.size() > base::limits::registry_files_max) {
    problems.push_back(problem_with(Rule::too_many_files, directory,
                                    {"more than " + std::to_string(names.size() - 1),
                                     std::to_string(base::limits::registry_files_max)}));
    return problems;
  }
  std::vector<Source> sources;
  std::size_t bytes_in_all = 0;
  for (const std::string& name : names) {
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(name.c_str(), "rb"),
                                                               std::fclose);
    if (!file) {
      problems.push_back(problem_with(Rule::file_unreadable, name, {std::strerror(errno)}));
      continue;
    }
    Source source;
    source.name = name;
    char piece[16 * 1024];
    std::size_t taken = 0;
    while (source.text.size() <= bytes_max &&
           (taken = std::fread(piece, 1, sizeof(piece), file.get())) > 0) {
      source.text.append(piece, taken);
    }
    if (std::ferror(file.get()) != 0) {
      problems.push_back(problem_with(Rule::file_unreadable, name, {std::strerror(errno)}));
    } else if (source.text.size() > bytes_max) {
      problems.push_back(
          problem_with(Rule::file_too_large, name,
                       {"more than " + std::to_string(bytes_max), std::to_string(bytes_max)}));
    } else {
      bytes_in_all += source.text.size();
      sources.push_back(std::move(source));
    }
    if (bytes_in_all > base::limits::registry_bytes_max) {
      problems.push_back(problem_with(Rule::program_too_large, directory,
                                      {std::to_string(base::limits::registry_bytes_max)}));
      break;
    }
  }
  if (!problems.empty()) return problems;
  return sources;
}

std::vector<Source> without_directory(std::vector<Source> sources, const std::string& directory) {
  for (Source& source : sources) {
    source.name = files::path(source.name).lexically_relative(directory).string();
  }
  return sources;
}

std::vector<Source> within_directory(std::vector<Source> sources, const std::string& directory) {
  for (Source& source : sources) source.name = (files::path(directory) / source.name).string();
  return sources;
}

}  // namespace turnpike::registry
