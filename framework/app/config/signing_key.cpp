#include "app/config/signing_key.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "text/encoding.h"

namespace turnpike::app {
namespace {

std::string path_in(const std::string& data_dir) {
  return (std::filesystem::path(data_dir) / "signing_key").string();
}

template <class Bytes>
std::optional<Bytes> parse(const std::string& text) {
  const auto decoded = text::from_base64url(text);
  Bytes bytes;
  if (!decoded || decoded->size() != bytes.size()) return std::nullopt;
  std::copy(decoded->begin(), decoded->end(), bytes.begin());
  return bytes;
}

// Creates the file atomically: writes a temporary file, then links it, which fails if another
// process was faster.
bool write_once(const std::string& path, const std::string& text) {
  const std::string aside = path + "." + std::to_string(::getpid());
  const int file = ::open(aside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0) return false;
  const bool is_written =
      ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
      ::fsync(file) == 0;
  ::close(file);
  const bool is_there = is_written && (::link(aside.c_str(), path.c_str()) == 0 || errno == EEXIST);
  const int error = errno;
  ::unlink(aside.c_str());
  errno = error;
  return is_there;
}

}  // namespace

Result<std::optional<crypto::Ed25519Seed>, std::string> read_signing_key(
    const std::string& data_dir) {
  const std::string path = path_in(data_dir);
  if (!std::filesystem::exists(path)) return std::optional<crypto::Ed25519Seed>();
  std::ifstream file(path);
  std::string text;
  std::getline(file, text);
  const auto seed = parse<crypto::Ed25519Seed>(text);
  if (!seed) return path + " is not readable or holds no key";
  return seed;
}

Result<crypto::Ed25519Seed, std::string> signing_key(const std::string& data_dir, Random& random) {
  auto known = read_signing_key(data_dir);
  if (!known.ok()) return std::move(known).error();
  if (known->has_value()) return **known;
  std::string bytes(crypto::Ed25519Seed().size(), '\0');
  random.fill({reinterpret_cast<std::uint8_t*>(bytes.data()), bytes.size()});
  std::error_code failed;
  std::filesystem::create_directories(data_dir, failed);
  if (!write_once(path_in(data_dir), text::base64url(bytes) + "\n")) {
    return path_in(data_dir) + ": " + std::strerror(errno);
  }
  known = read_signing_key(data_dir);
  if (!known.ok()) return std::move(known).error();
  if (!known->has_value()) return path_in(data_dir) + " went away while it was made";
  return **known;
}

std::optional<crypto::Ed25519PublicKey> parse_public_key(const std::string& text) {
  return parse<crypto::Ed25519PublicKey>(text);
}

}  // namespace turnpike::app
