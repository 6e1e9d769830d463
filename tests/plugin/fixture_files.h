// The path of the fixture plugins, and a test's own directory with some of them. One Thread.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "support/paths.h"
#include "support/temporary.h"

namespace turnpike::plugin {

// `name` is, for example, "good/echo.so".
inline std::filesystem::path fixture(std::string_view name) {
  return support::build_path("tests/fixtures/plugins/" + std::string(name));
}

class PluginDirectory {
 public:
  std::filesystem::path add(std::string_view fixture_name) const {
    const auto source = fixture(fixture_name);
    const auto target = path_ / source.filename();
    std::filesystem::create_symlink(source, target);
    return target;
  }
  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

 private:
  const support::TemporaryDirectory directory_;
  const std::filesystem::path path_ = directory_.path();
};

}  // namespace turnpike::plugin
