// TemporaryDirectory: a directory under $TMPDIR. The destructor removes it with its contents. One
// Thread.
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
  // The path of a file or directory in it.
  [[nodiscard]] std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace turnpike::support
