#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>

#include "storage/books/leases.h"
#include "storage/stores.h"

namespace turnpike::storage {
namespace {

using ledger::Stored;
using ledger::UnknownCall;

[[noreturn]] void refuse() {
  throw StoreError(StoreError::Kind::fatal,
                   std::string("notes of unknown calls: ") + std::strerror(errno));
}

// Parses "units account message"; a line that a crash cut off does not parse, or names no message.
std::optional<UnknownCall> call_of(std::string_view line) {
  const std::size_t first = line.find(' ');
  const std::size_t second = line.find(' ', first + 1);
  if (first == line.npos || second == line.npos) return std::nullopt;
  UnknownCall call;
  call.account_id = line.substr(first + 1, second - first - 1);
  call.message_id = line.substr(second + 1);
  const auto [rest, problem] = std::from_chars(line.data(), line.data() + first, call.units);
  if (problem != std::errc{} || rest != line.data() + first) return std::nullopt;
  return call;
}

// A new file's name is durable only once its directory is synchronised.
void synchronise_directory(const std::string& path) {
  const int directory =
      ::open(std::filesystem::path(path).parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) refuse();
  const int result = ::fsync(directory);
  ::close(directory);
  if (result != 0) refuse();
}

// An append-only file of lines, which is truncated when it is no longer needed.
class NoteFile final : public ledger::UnknownNotes {
 public:
  explicit NoteFile(const std::string& path)
      : file_(::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600)) {
    if (file_ < 0) refuse();
  }
  ~NoteFile() override { ::close(file_); }
  NoteFile(const NoteFile&) = delete;
  NoteFile& operator=(const NoteFile&) = delete;

  // One write, which first ends a line that a crash may have cut off.
  Stored<Unit> note(std::span<const UnknownCall> calls) override {
    return stored<Unit>([&] {
      std::string lines = "\n";
      for (const UnknownCall& call : calls) {
        lines += std::to_string(call.units) + ' ' + call.account_id + ' ' + call.message_id + '\n';
      }
      if (::write(file_, lines.data(), lines.size()) != static_cast<ssize_t>(lines.size()) ||
          ::fdatasync(file_) != 0) {
        refuse();
      }
      return Unit{};
    });
  }

  Stored<std::vector<UnknownCall>> noted() override {
    return stored<std::vector<UnknownCall>>([&] {
      const std::string text = read_whole();
      std::vector<UnknownCall> calls;
      for (std::string_view rest = text; !rest.empty();) {
        const std::string_view line = rest.substr(0, rest.find('\n'));
        rest.remove_prefix(std::min(rest.size(), line.size() + 1));
        if (auto call = call_of(line)) calls.push_back(*std::move(call));
      }
      return calls;
    });
  }

  // Not synchronised: notes that reappear after a crash do no harm.
  void drop() noexcept override { [[maybe_unused]] const int result = ::ftruncate(file_, 0); }

 private:
  // Up to its end, wherever that is by then: another process may drop the notes meanwhile.
  [[nodiscard]] std::string read_whole() const {
    std::string text;
    std::array<char, 4'096> part;
    while (true) {
      const ssize_t size =
          ::pread(file_, part.data(), part.size(), static_cast<off_t>(text.size()));
      if (size < 0) refuse();
      if (size == 0) return text;
      text.append(part.data(), static_cast<std::size_t>(size));
    }
  }

  const int file_;
};

}  // namespace

std::unique_ptr<ledger::UnknownNotes> open_notes(const std::string& path) {
  auto notes = std::make_unique<NoteFile>(path);
  synchronise_directory(path);
  return notes;
}

}  // namespace turnpike::storage
