#include "govdata/import/input.h"

#include <zlib.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace turnpike::govdata {
namespace {

constexpr std::size_t look_ahead_bytes = 1 << 20;
constexpr std::size_t chunk_bytes = 64 << 10;

class FileSource final : public ByteSource {
 public:
  explicit FileSource(std::FILE* file, bool owned) : file_(file), owned_(owned) {
    if (owned && std::fseek(file, 0, SEEK_END) == 0) {
      const long size = std::ftell(file);
      total_ = size > 0 ? static_cast<std::uint64_t>(size) : 0;
      std::rewind(file);
    }
  }
  FileSource(const FileSource&) = delete;
  FileSource& operator=(const FileSource&) = delete;
  ~FileSource() override {
    if (owned_) std::fclose(file_);
  }
  std::size_t read(char* into, std::size_t size) override {
    const std::size_t got = std::fread(into, 1, size, file_);
    if (got == 0 && std::ferror(file_) != 0) throw ImportError("the input could not be read");
    return got;
  }
  [[nodiscard]] std::uint64_t total_bytes() const override { return total_; }

 private:
  std::FILE* file_;
  bool owned_;
  std::uint64_t total_ = 0;
};

class MemorySource final : public ByteSource {
 public:
  explicit MemorySource(std::string_view bytes) : rest_(bytes), total_(bytes.size()) {}
  std::size_t read(char* into, std::size_t size) override {
    const std::size_t taken = std::min(size, rest_.size());
    std::memcpy(into, rest_.data(), taken);
    rest_.remove_prefix(taken);
    return taken;
  }
  [[nodiscard]] std::uint64_t total_bytes() const override { return total_; }

 private:
  std::string_view rest_;
  std::uint64_t total_;
};

}  // namespace

std::unique_ptr<ByteSource> open_file(const std::string& path) {
  if (path == "-") return std::make_unique<FileSource>(stdin, false);
  std::FILE* file = std::fopen(path.c_str(), "rb");
  if (file == nullptr) throw ImportError("cannot open " + path + ": " + strerror(errno));
  return std::make_unique<FileSource>(file, true);
}

std::unique_ptr<ByteSource> open_memory(std::string_view bytes) {
  return std::make_unique<MemorySource>(bytes);
}

struct Input::Unzip {
  Unzip() {
    // 15 window bits, plus 16 for gzip only.
    if (inflateInit2(&stream, 15 + 16) != Z_OK) throw ImportError("gzip: out of memory");
  }
  Unzip(const Unzip&) = delete;
  Unzip& operator=(const Unzip&) = delete;
  ~Unzip() { inflateEnd(&stream); }
  z_stream stream{};
  std::vector<char> raw = std::vector<char>(chunk_bytes);
  bool member_ended = false;
};

Input::Input(std::unique_ptr<ByteSource> source, Progress progress)
    : source_(std::move(source)), progress_(std::move(progress)) {
  try {
    read_ahead();
  } catch (const ImportError& error) {
    problem_ = error.what();
  }
}

void Input::read_ahead() {
  char head[2];
  std::size_t got = 0;
  while (got < sizeof(head)) {
    const std::size_t more = source_->read(head + got, sizeof(head) - got);
    if (more == 0) break;
    got += more;
  }
  raw_head_.assign(head, got);
  if (raw_head_ == "\x1f\x8b") unzip_ = std::make_unique<Unzip>();
  buffer_.resize(look_ahead_bytes);
  std::size_t filled = 0;
  while (filled < buffer_.size()) {
    const std::size_t more = fill(buffer_.data() + filled, buffer_.size() - filled);
    if (more == 0) break;
    filled += more;
  }
  setg(buffer_.data(), buffer_.data(), buffer_.data() + filled);
  if (std::string_view(buffer_.data(), filled).substr(0, 3) == "\xEF\xBB\xBF") gbump(3);
  begin_record();
}

Input::~Input() = default;

std::string_view Input::look_ahead() const {
  if (!problem_.empty()) throw ImportError(problem_);
  return {gptr(), static_cast<std::size_t>(egptr() - gptr())};
}

std::uint64_t Input::position() const {
  return buffer_start_ + static_cast<std::uint64_t>(gptr() - eback());
}

void Input::begin_record() { record_start_ = position(); }

Input::int_type Input::underflow() {
  if (gptr() < egptr()) return traits_type::to_int_type(*gptr());
  if (!problem_.empty()) throw ImportError(problem_);
  const std::uint64_t here = position();
  if (here - record_start_ > record_bytes_max) {
    throw ImportError("the record that begins at byte " + std::to_string(record_start_) +
                      " is larger than 64 MiB");
  }
  if (here > input_bytes_max) throw ImportError("the input is larger than 16 GiB");
  buffer_start_ = here;
  const std::size_t filled = fill(buffer_.data(), chunk_bytes);
  setg(buffer_.data(), buffer_.data(), buffer_.data() + filled);
  return filled == 0 ? traits_type::eof() : traits_type::to_int_type(*gptr());
}

bool Input::line(std::string& into) {
  into.clear();
  begin_record();
  if (sgetc() == traits_type::eof()) return false;
  while (sgetc() != traits_type::eof()) {
    const auto* end = static_cast<const char*>(
        std::memchr(gptr(), '\n', static_cast<std::size_t>(egptr() - gptr())));
    const char* stop = end != nullptr ? end : egptr();
    into.append(gptr(), static_cast<std::size_t>(stop - gptr()));
    gbump(static_cast<int>(stop - gptr()) + (end != nullptr ? 1 : 0));
    if (end != nullptr) break;
  }
  if (!into.empty() && into.back() == '\r') into.pop_back();
  return true;
}

std::size_t Input::read_raw(char* into, std::size_t size) {
  std::size_t got = 0;
  if (!raw_head_.empty()) {
    got = std::min(size, raw_head_.size());
    std::memcpy(into, raw_head_.data(), got);
    raw_head_.erase(0, got);
  } else {
    got = source_->read(into, size);
  }
  hash_.update({into, got});
  raw_bytes_ += got;
  if (progress_) progress_(raw_bytes_, source_->total_bytes());
  return got;
}

std::size_t Input::fill(char* into, std::size_t size) {
  return unzip_ ? unzip(into, size) : read_raw(into, size);
}

std::size_t Input::unzip(char* into, std::size_t size) {
  z_stream& stream = unzip_->stream;
  stream.next_out = reinterpret_cast<Bytef*>(into);
  stream.avail_out = static_cast<uInt>(size);
  while (stream.avail_out == size) {
    if (stream.avail_in == 0) {
      const std::size_t got = read_raw(unzip_->raw.data(), unzip_->raw.size());
      if (got == 0) {
        if (unzip_->member_ended) return 0;
        throw ImportError("the gzip data ends too early");
      }
      stream.next_in = reinterpret_cast<Bytef*>(unzip_->raw.data());
      stream.avail_in = static_cast<uInt>(got);
    }
    // A gzip file may have several members, one after the other.
    if (unzip_->member_ended && inflateReset(&stream) != Z_OK) throw ImportError("gzip: reset");
    unzip_->member_ended = false;
    const int code = inflate(&stream, Z_NO_FLUSH);
    if (code == Z_STREAM_END) {
      unzip_->member_ended = true;
    } else if (code != Z_OK && code != Z_BUF_ERROR) {
      throw ImportError("the gzip data is damaged");
    }
  }
  return size - stream.avail_out;
}

std::string Input::finish_sha256() {
  std::vector<char> rest(chunk_bytes);
  while (read_raw(rest.data(), rest.size()) > 0) {
  }
  return hash_.finish_hex();
}

}  // namespace turnpike::govdata
