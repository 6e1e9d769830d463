// Catalog: the plugins of this process. Reads a directory once at start, refuses it whole when any
// file in it is no plugin of this gateway (all problems at once), and hands the plugins out by name.
//
// Owned by app/, made by the main Thread before the first listener opens and destroyed after the
// last user of a plugin; reading it is safe from any Thread.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "plugin/library.h"

namespace turnpike::plugin {

struct CatalogOptions {
  std::filesystem::path directory;  // every *.so in it, in the order of their names
  // File name -> SHA-256 in hex. When not empty, exactly these files must be there.
  std::map<std::string, std::string> pinned_sha256;
};

class Catalog {
 public:
  static Result<Catalog, std::vector<LoadError>> load(const CatalogOptions& options);

  // The plugin of this name, or null.
  [[nodiscard]] const Library* find(std::string_view name) const noexcept;
  // In the order of their files' names.
  [[nodiscard]] const std::vector<std::unique_ptr<Library>>& plugins() const noexcept {
    return plugins_;
  }

 private:
  std::vector<std::unique_ptr<Library>> plugins_;
};

}  // namespace turnpike::plugin
