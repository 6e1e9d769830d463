// Gate: a FIFO at which the `faulty` fixture waits. wait_for_plugin() returns once the plugin has
// reached it, so a test knows without sleeping that the call is inside. open() lets the plugin
// continue. One Thread.
#pragma once

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

namespace turnpike::plugin {

class Gate {
 public:
  Gate() {
    std::string pattern = (std::filesystem::temp_directory_path() / "turnpike-XXXXXX").string();
    directory_ = mkdtemp(pattern.data());
    path_ = directory_ / "gate";
    mkfifo(path_.c_str(), 0600);
  }
  ~Gate() {
    open();
    std::filesystem::remove_all(directory_);
  }
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  [[nodiscard]] std::string path() const { return path_.string(); }
  // Opening a FIFO for writing waits until it is opened for reading.
  void wait_for_plugin() { writer_ = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC); }
  void open() {
    if (writer_ >= 0) ::close(writer_);
    writer_ = -1;
  }

 private:
  std::filesystem::path directory_;
  std::filesystem::path path_;
  int writer_ = -1;
};

}  // namespace turnpike::plugin
