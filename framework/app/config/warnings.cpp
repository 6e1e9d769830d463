#include "app/config/warnings.h"

#include <algorithm>
#include <filesystem>

#include "app/config/config_section.h"
#include "app/stores.h"
#include "storage/engine/database.h"

namespace turnpike::app {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t named_max = 5;  // of paths that others can read

// Whether other users of the machine may read, write or enter `path`, or its group may write it.
bool is_open(const fs::path& path) {
  std::error_code gone;
  const fs::file_status status = fs::symlink_status(path, gone);
  if (gone || fs::is_symlink(status)) return false;
  return (status.permissions() & (fs::perms::others_all | fs::perms::group_write)) !=
         fs::perms::none;
}

bool has_database_elsewhere(const Config& config) {
  return config.engine == Engine::sqlite && fs::path(config.sqlite_path).is_absolute();
}

// All entries of the data directory, and the database with the files beside it.
std::vector<fs::path> data_of(const Config& config) {
  const fs::path data_dir = config.data_dir;
  std::vector<fs::path> paths = {data_dir};
  std::error_code problem;
  fs::recursive_directory_iterator entry(data_dir, fs::directory_options::skip_permission_denied,
                                         problem);
  for (; !problem && entry != fs::recursive_directory_iterator(); entry.increment(problem)) {
    paths.push_back(entry->path());
  }
  if (!has_database_elsewhere(config)) return paths;
  for (const char* suffix : {"", "-wal", "-shm", ".usage", ".usage-wal", ".usage-shm"}) {
    paths.emplace_back(storage::sqlite_file(storage_settings(config)) + suffix);
  }
  return paths;
}

void warn_of_open_data(const Config& config, std::vector<Warning>& warnings) {
  std::vector<fs::path> open = data_of(config);
  open.erase(
      std::remove_if(open.begin(), open.end(), [](const fs::path& path) { return !is_open(path); }),
      open.end());
  if (open.empty()) return;
  std::sort(open.begin(), open.end());
  const bool is_elsewhere = has_database_elsewhere(config);
  const std::string elsewhere = is_elsewhere ? " " + config.sqlite_path + "*" : "";
  std::string names;
  for (std::size_t at = 0; at < std::min(open.size(), named_max); ++at) {
    names += (names.empty() ? "" : ", ") + open[at].string();
  }
  if (open.size() > named_max) {
    names += " and " + std::to_string(open.size() - named_max) + " more";
  }
  warnings.push_back({"data_open_to_others",
                      "other users of this machine have rights to " + names +
                          ", where replies, keys and books are. Take them away: chmod -R g-w,o= " +
                          config.data_dir + elsewhere});
}

}  // namespace

std::vector<Warning> warnings_of(const Config& config) {
  std::vector<Warning> warnings;
  if (listens_everywhere(config.operator_listen)) {
    warnings.push_back({"operator_listener_exposed",
                        "hosts.operator.listen is " + config.operator_listen +
                            ", which is every address of this machine: metrics and fibers are "
                            "shown without a credential. Name the address of a network that only "
                            "you reach, such as 127.0.0.1"});
  }
  warn_of_open_data(config, warnings);
  return warnings;
}

}  // namespace turnpike::app
