#include "x402/offers/keys.h"

#include <botan/hex.h>
#include <botan/mem_ops.h>
#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <tuple>
#include <utility>

#include "x402/protocol/digest.h"

namespace turnpike::x402 {
namespace {

constexpr std::string_view key_suffix = ".key";
constexpr std::string_view aside_suffix = ".tmp";

// Says what the system refused, and what to do about it.
std::string failed(const std::string& path, std::string_view what, std::string_view remedy) {
  const int error = errno;
  return path + ": cannot " + std::string(what) + ": " + std::generic_category().message(error) +
         "; " + std::string(remedy);
}

constexpr std::string_view free_folder =
    "let the user that this process runs as write there, or configure another data directory";
constexpr std::string_view free_key =
    "give it to the user that this process runs as with mode 0600, or move it out of the folder";

class File {
 public:
  explicit File(int descriptor) noexcept : descriptor_(descriptor) {}
  File(File&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  File& operator=(File&&) = delete;
  ~File() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  [[nodiscard]] bool is_open() const noexcept { return descriptor_ >= 0; }
  [[nodiscard]] int get() const noexcept { return descriptor_; }

 private:
  int descriptor_;
};

// The text of a key file, wiped on destruction.
class KeyText {
 public:
  KeyText() = default;
  KeyText(const KeyText&) = delete;
  KeyText& operator=(const KeyText&) = delete;
  ~KeyText() { Botan::secure_scrub_memory(bytes_.data(), bytes_.size()); }

  [[nodiscard]] std::string_view view() const noexcept { return {bytes_.data(), size_}; }

  // Makes room for `size` more bytes. REQUIRES: they fit; everything that is written has a bound.
  char* extend(std::size_t size) noexcept {
    char* const end = bytes_.data() + size_;
    size_ += size;
    return end;
  }
  void append(std::string_view text) noexcept { text.copy(extend(text.size()), text.size()); }
  void append_hex(std::span<const std::uint8_t> bytes) {
    Botan::hex_encode(extend(2 * bytes.size()), bytes.data(), bytes.size(), false);
  }
  // Returns false if the file cannot be read or is longer than any key.
  bool read(int file) noexcept {
    while (size_ < bytes_.size()) {
      const ssize_t got = ::read(file, bytes_.data() + size_, bytes_.size() - size_);
      if (got == 0) return true;
      if (got < 0 && errno != EINTR) return false;
      if (got > 0) size_ += static_cast<std::size_t>(got);
    }
    errno = EFBIG;
    return false;
  }

 private:
  std::array<char, 512> bytes_{};
  std::size_t size_ = 0;
};

template <std::size_t N>
bool read_hex(std::string_view text, std::array<std::uint8_t, N>& out, std::size_t size) {
  const auto is_digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  if (text.size() != 2 * size || !std::all_of(text.begin(), text.end(), is_digit)) return false;
  Botan::hex_decode(out.data(), text.data(), text.size(), false);
  return true;
}

std::optional<std::int64_t> read_time(std::string_view text) noexcept {
  std::int64_t time_ms = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), time_ms);
  if (problem != std::errc() || end != text.data() + text.size() || time_ms < 0) {
    return std::nullopt;
  }
  return time_ms;
}

constexpr std::size_t public_bytes(Algorithm algorithm) noexcept {
  return algorithm == Algorithm::es256k ? 64 : 32;
}

// A key as its file holds it.
struct StoredKey {
  PublishedKey published;
  std::optional<PrivateKey> private_key;  // nullopt: it is retired
};

void write_text(const StoredKey& key, KeyText& text) {
  const PublishedKey& known = key.published;
  text.append("alg: ");
  text.append(name_of(known.key.algorithm));
  text.append("\ncreated: ");
  text.append(std::to_string(known.created_ms));
  if (key.private_key) {
    text.append("\nprivate: ");
    text.append_hex(key.private_key->secret());
  } else {
    text.append("\nretired: ");
    text.append(std::to_string(known.retired_ms.value_or(0)));
    text.append("\npublic: ");
    text.append_hex({known.key.bytes.data(), public_bytes(known.key.algorithm)});
  }
  text.append("\n");
}

// Takes the next line, which must begin with `name`, and returns its value.
std::optional<std::string_view> take_line(std::string_view& text, std::string_view name) {
  const std::size_t end = text.find('\n');
  if (end == text.npos || !text.starts_with(name)) return std::nullopt;
  const std::string_view value = text.substr(name.size(), end - name.size());
  text.remove_prefix(end + 1);
  return value;
}

std::optional<StoredKey> read_text(std::string_view text, Random& random) {
  const auto name = take_line(text, "alg: ");
  const auto algorithm = name ? algorithm_named(*name) : std::nullopt;
  const auto created = take_line(text, "created: ");
  const auto created_ms = created ? read_time(*created) : std::nullopt;
  if (!algorithm || !created_ms) return std::nullopt;
  StoredKey key;
  key.published.created_ms = *created_ms;
  if (const auto hex = take_line(text, "private: ")) {
    PrivateKey::Secret secret;
    if (read_hex(*hex, secret, secret.size())) {
      key.private_key = PrivateKey::from_secret(*algorithm, secret, random);
    }
    Botan::secure_scrub_memory(secret.data(), secret.size());
    if (!key.private_key || !text.empty()) return std::nullopt;
    key.published.key = key.private_key->public_key();
    return key;
  }
  const auto retired = take_line(text, "retired: ");
  const auto point = take_line(text, "public: ");
  key.published.key.algorithm = *algorithm;
  key.published.retired_ms = retired ? read_time(*retired) : std::nullopt;
  if (!key.published.retired_ms || !point || !text.empty() ||
      !read_hex(*point, key.published.key.bytes, public_bytes(*algorithm))) {
    return std::nullopt;
  }
  return key;
}

// offer-<yyyy-mm-dd>-<8 hex>: the day is for people, the digest keeps names unique.
std::string fragment_of(const PublicKey& key, std::int64_t created_ms) {
  const std::chrono::year_month_day day(std::chrono::floor<std::chrono::days>(
      std::chrono::sys_time<std::chrono::milliseconds>(std::chrono::milliseconds(created_ms))));
  const Word digest = sha256(bytes_of(key.bytes));
  char name[64];
  std::snprintf(name, sizeof name, "offer-%04d-%02u-%02u-%02x%02x%02x%02x", int{day.year()},
                unsigned{day.month()}, unsigned{day.day()}, digest[0], digest[1], digest[2],
                digest[3]);
  return name;
}

// Checks that other users can do nothing with a file of ours. The error says how to mend it.
std::optional<std::string> exposed(const std::string& path, const struct stat& status,
                                   mode_t mode_max) {
  if (status.st_uid != ::geteuid()) {
    return path + ": belongs to user id " + std::to_string(status.st_uid) +
           ", this process runs as " + std::to_string(::geteuid()) +
           "; run it as the owner, or chown the key folder";
  }
  if ((status.st_mode & 0777 & ~mode_max) != 0) {
    char text[200];
    std::snprintf(text, sizeof text,
                  ": others can use it (mode %04o); run chmod %04o on it, and rotate the keys if "
                  "somebody may have read it",
                  status.st_mode & 0777u, mode_max);
    return path + text;
  }
  return std::nullopt;
}

// The folder, locked against other processes and rings as long as this object lives.
class Folder {
 public:
  static Result<Folder, std::string> lock(const std::string& path) {
    std::error_code problem;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path(), problem);
    if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST)
      return failed(path, "make the folder", free_folder);
    File folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!folder.is_open()) return failed(path, "open the folder", free_folder);
    struct stat status {};
    if (::fstat(folder.get(), &status) != 0) return failed(path, "look at the folder", free_folder);
    if (auto fault = exposed(path, status, 0700)) return std::move(*fault);
    while (::flock(folder.get(), LOCK_EX) != 0) {
      if (errno != EINTR) return failed(path, "lock the folder", free_folder);
    }
    return Folder(path, std::move(folder));
  }

  // Returns the keys, newest first. Removes files that a crash left aside, since they may hold a
  // private key.
  Result<std::vector<StoredKey>, std::string> read(Random& random) const {
    std::vector<std::string> names;
    std::error_code problem;
    for (std::filesystem::directory_iterator entry(path_, problem), end; !problem && entry != end;
         entry.increment(problem)) {
      names.push_back(entry->path().filename());
    }
    if (problem)
      return path_ + ": cannot list the folder: " + problem.message() + "; " +
             std::string(free_folder);
    std::vector<StoredKey> keys;
    for (const std::string& name : names) {
      if (name.starts_with('.') && name.ends_with(aside_suffix)) {
        ::unlinkat(file_.get(), name.c_str(), 0);
      }
      if (name.starts_with('.') || !name.ends_with(key_suffix)) continue;
      auto key = read_key(name, random);
      if (!key.ok()) return std::move(key).error();
      keys.push_back(std::move(*key));
    }
    std::sort(keys.begin(), keys.end(), [](const StoredKey& left, const StoredKey& right) {
      return std::tie(left.published.created_ms, left.published.fragment) >
             std::tie(right.published.created_ms, right.published.fragment);
    });
    return keys;
  }

  // Writes the key under its name, whole and durably or not at all. Replaces a file of that name.
  Result<Unit, std::string> write(const StoredKey& key) const {
    const std::string name = key.published.fragment + std::string(key_suffix);
    const std::string aside = "." + name + std::string(aside_suffix);
    KeyText text;
    write_text(key, text);
    const File file(::openat(file_.get(), aside.c_str(),
                             O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!file.is_open()) return failed(path_ + "/" + aside, "make the file", free_folder);
    const std::string_view all = text.view();
    const bool is_written =
        ::write(file.get(), all.data(), all.size()) == static_cast<ssize_t>(all.size()) &&
        ::fsync(file.get()) == 0 &&
        ::renameat(file_.get(), aside.c_str(), file_.get(), name.c_str()) == 0 &&
        ::fsync(file_.get()) == 0;
    if (is_written) return Unit();
    std::string error = failed(path_ + "/" + name, "write the key",
                               "make room on its disk; what was there is kept");
    ::unlinkat(file_.get(), aside.c_str(), 0);
    return error;
  }

 private:
  Folder(std::string path, File file) : path_(std::move(path)), file_(std::move(file)) {}

  Result<StoredKey, std::string> read_key(const std::string& name, Random& random) const {
    const std::string path = path_ + "/" + name;
    const File file(
        ::openat(file_.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    struct stat status {};
    if (!file.is_open() || ::fstat(file.get(), &status) != 0)
      return failed(path, "open the key", free_key);
    if (!S_ISREG(status.st_mode)) return path + ": is no file; move it out of the folder";
    if (auto fault = exposed(path, status, 0600)) return std::move(*fault);
    KeyText text;
    if (!text.read(file.get())) return failed(path, "read the key", free_key);
    auto key = read_text(text.view(), random);
    if (!key) {
      return path +
             ": is no key of this program; put it back from a backup, or move it out of the "
             "folder (receipts signed with it then verify no longer)";
    }
    key->published.fragment = name.substr(0, name.size() - key_suffix.size());
    return std::move(*key);
  }

  std::string path_;
  File file_;
};

}  // namespace

// The keys of a locked folder.
struct KeyRing::Keys {
  const Folder& folder;
  Random& random;
  std::vector<StoredKey> all;  // newest first

  Result<Unit, std::string> read() {
    auto stored = folder.read(random);
    if (!stored.ok()) return std::move(stored).error();
    all = std::move(*stored);
    return Unit();
  }

  [[nodiscard]] bool can_sign() const { return !all.empty() && all.front().private_key; }

  // Writes a new key, which becomes the first of all.
  Result<Unit, std::string> add(Algorithm algorithm, std::int64_t now_ms) {
    if (!all.empty()) now_ms = std::max(now_ms, all.front().published.created_ms + 1);
    StoredKey key;
    key.private_key = PrivateKey::make(algorithm, random);
    if (!key.private_key) {
      return std::string(
          "cannot make a signing key: this machine's source of randomness is broken");
    }
    const PublicKey& point = key.private_key->public_key();
    key.published = {fragment_of(point, now_ms), point, now_ms, std::nullopt};
    auto written = folder.write(key);
    if (written.ok()) all.insert(all.begin(), std::move(key));
    return written;
  }

  // Only the first key keeps its private half.
  Result<Unit, std::string> retire_others() {
    for (std::size_t at = 1; at < all.size(); ++at) {
      if (!all[at].private_key) continue;
      all[at].published.retired_ms = all[at - 1].published.created_ms;
      all[at].private_key.reset();
      if (auto written = folder.write(all[at]); !written.ok()) return written;
    }
    return Unit();
  }
};

KeyRing::KeyRing(std::string folder, Random& random, const Clock& clock)
    : folder_(std::move(folder)), random_(random), clock_(clock) {}
KeyRing::~KeyRing() = default;

Result<std::unique_ptr<KeyRing>, std::string> KeyRing::open(std::string folder, Random& random,
                                                            const Clock& clock, Algorithm first) {
  while (folder.size() > 1 && folder.back() == '/') folder.pop_back();
  std::unique_ptr<KeyRing> ring(new KeyRing(std::move(folder), random, clock));
  if (auto updated = ring->update(first, When::none_can_sign); !updated.ok()) {
    return std::move(updated).error();
  }
  return ring;
}

Result<Unit, std::string> KeyRing::rotate(Algorithm algorithm) {
  return update(algorithm, When::always);
}

Result<Unit, std::string> KeyRing::refresh() { return update(Algorithm::es256k, When::never); }

Result<Unit, std::string> KeyRing::update(Algorithm algorithm, When add) {
  const auto folder = Folder::lock(folder_);
  if (!folder.ok()) return folder.error();
  Keys keys{*folder, random_, {}};
  if (auto read = keys.read(); !read.ok()) return read;
  if (add == When::always || (add == When::none_can_sign && !keys.can_sign())) {
    if (auto added = keys.add(algorithm, clock_.now_ms()); !added.ok()) return added;
  }
  if (!keys.can_sign()) {
    return folder_ +
           ": no key can sign any more; the one in memory does until the next start, "
           "which makes a new one";
  }
  // The first key is on disk, so it signs, whatever becomes of the other files.
  auto retired = keys.retire_others();
  install(std::move(keys));
  if (!retired.ok() && add == When::always) {
    return "the new key signs, so do not rotate again; the file of an older key could not be "
           "written, and the next start tries it again: " +
           retired.error();
  }
  return retired;
}

void KeyRing::install(Keys keys) {
  std::vector<PublishedKey> published;
  for (const StoredKey& key : keys.all) published.push_back(key.published);
  StoredKey& first = keys.all.front();
  const auto active = std::make_shared<const SigningKey>(SigningKey{
      first.published.fragment, first.published.created_ms, std::move(*first.private_key)});
  const std::lock_guard lock(mutex_);
  active_ = active;
  published_ = std::move(published);
}

std::shared_ptr<const SigningKey> KeyRing::active() const {
  const std::lock_guard lock(mutex_);
  return active_;
}

std::vector<PublishedKey> KeyRing::published() const {
  const std::lock_guard lock(mutex_);
  return published_;
}

}  // namespace turnpike::x402
