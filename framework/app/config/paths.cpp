#include "app/config/paths.h"

#include <filesystem>

namespace turnpike::app {
namespace {

namespace fs = std::filesystem;

fs::path binary_directory() { return fs::read_symlink("/proc/self/exe").parent_path(); }

}  // namespace

std::vector<std::string> plugin_directories(const Config& config) {
  if (!config.plugins_directories.empty()) return config.plugins_directories;
  const fs::path beside = binary_directory() / "plugins";
  if (fs::is_directory(beside)) return {beside};
  return {(binary_directory() / "../lib/turnpike/plugins").lexically_normal()};
}

plugin::CatalogOptions catalog_options(const Config& config) {
  plugin::CatalogOptions options;
  for (const std::string& directory : plugin_directories(config)) {
    options.directories.emplace_back(directory);
  }
  options.pinned_sha256 = config.plugins_sha256;
  return options;
}

std::string reference_directory(const Config& config) {
  if (fs::is_directory(config.reference_directory)) return config.reference_directory;
  const fs::path installed =
      (binary_directory() / "../share/turnpike/reference").lexically_normal();
  return fs::is_directory(installed) ? installed.string() : "";
}

site::SiteSettings site_settings(const Config& config) {
  site::SiteSettings settings = config.site;
  if (!settings.directory.empty()) return settings;
  const fs::path installed = (binary_directory() / "../share/turnpike/site").lexically_normal();
  const fs::path beside = binary_directory() / "site";
  settings.directory = (fs::is_directory(installed) ? installed : beside).string();
  return settings;
}

std::string control_socket(const Config& config) { return config.data_dir + "/control.sock"; }

}  // namespace turnpike::app
