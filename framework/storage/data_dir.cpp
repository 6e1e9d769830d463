#include "storage/data_dir.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "storage/engine/connection.h"
#include "text/encoding.h"

namespace turnpike::storage {
namespace {

[[noreturn]] void refuse(const std::string& what) {
  throw StoreError(StoreError::Kind::fatal, what);
}

std::string read_whole(int file) {
  std::array<char, 64> bytes{};
  const ssize_t size = ::pread(file, bytes.data(), bytes.size(), 0);
  return size <= 0 ? std::string() : std::string(bytes.data(), static_cast<std::size_t>(size));
}

}  // namespace

DataDir::DataDir(const std::string& directory, Random& random) {
  std::error_code failed;
  std::filesystem::create_directories(directory, failed);
  if (failed) refuse("data_dir " + directory + ": " + failed.message());
  const std::string path = (std::filesystem::path(directory) / "node").string();
  lock_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (lock_ < 0) refuse(path + ": " + std::strerror(errno));
  if (::flock(lock_, LOCK_EX | LOCK_NB) != 0) {
    ::close(lock_);
    refuse("data_dir " + directory + " is in use by another running gateway");
  }
  node_name_ = read_whole(lock_);
  if (!node_name_.empty()) return;
  std::array<std::uint8_t, 16> bytes{};
  random.fill(bytes);
  node_name_ = "node_" + text::base62(bytes, 22);
  const auto size = static_cast<ssize_t>(node_name_.size());
  if (::pwrite(lock_, node_name_.data(), node_name_.size(), 0) != size || ::fsync(lock_) != 0) {
    ::close(lock_);
    refuse(path + ": " + std::strerror(errno));
  }
}

DataDir::~DataDir() { ::close(lock_); }

}  // namespace turnpike::storage
