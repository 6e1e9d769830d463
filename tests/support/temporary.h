// TemporaryDirectory: made under $TMPDIR, removed with all that is in it when it ends. One Thread.
#pragma once

#include <string>

namespace turnpike::support {

class TemporaryDirectory {
 public:
  TemporaryDirectory();
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;
};

}  // namespace turnpike::support
