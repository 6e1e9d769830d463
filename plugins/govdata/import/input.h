// Input: the bytes of one import, from a file, standard input or memory. It unzips them if they
// begin with gzip's magic bytes, and hashes and counts the raw bytes. It keeps at most one chunk in
// memory after the first look-ahead, and throws if a record grows too large. It is a streambuf so
// that the JSON parser can read from it. Owned by the importer; used by one Thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <streambuf>
#include <string>
#include <string_view>
#include <vector>

#include "govdata/store/digest.h"

namespace turnpike::govdata {

inline constexpr std::uint64_t record_bytes_max = 64u << 20;
inline constexpr std::uint64_t input_bytes_max = std::uint64_t{16} << 30;

// A problem with the input as a whole: reading cannot continue.
class ImportError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  // Reads up to `size` bytes into `into`; returns 0 at the end. Throws ImportError.
  virtual std::size_t read(char* into, std::size_t size) = 0;
  // 0 if not known.
  [[nodiscard]] virtual std::uint64_t total_bytes() const { return 0; }
};

// "-" is standard input. Throws ImportError if the file cannot be opened.
std::unique_ptr<ByteSource> open_file(const std::string& path);
// `bytes` must outlive the source.
std::unique_ptr<ByteSource> open_memory(std::string_view bytes);

class Input final : public std::streambuf {
 public:
  using Progress = std::function<void(std::uint64_t read, std::uint64_t total)>;

  explicit Input(std::unique_ptr<ByteSource> source, Progress progress = {});
  ~Input() override;

  // The next bytes, up to 1 MiB, after a byte order mark. Throws ImportError.
  [[nodiscard]] std::string_view look_ahead() const;
  // Reads the next line without its line break; false at the end of the input. Throws ImportError.
  bool line(std::string& into);
  // The next byte, or -1 at the end.
  int byte() { return sbumpc(); }
  // The limit of 64 MiB for a record counts from here.
  void begin_record();
  [[nodiscard]] std::uint64_t position() const;
  // The hash of all raw bytes, in hex. Reads the rest of the source first.
  std::string finish_sha256();

 protected:
  int_type underflow() override;

 private:
  struct Unzip;
  void read_ahead();
  std::size_t fill(char* into, std::size_t size);
  std::size_t read_raw(char* into, std::size_t size);
  std::size_t unzip(char* into, std::size_t size);

  std::unique_ptr<ByteSource> source_;
  Progress progress_;
  Sha256 hash_;
  std::unique_ptr<Unzip> unzip_;
  std::vector<char> buffer_;
  std::uint64_t buffer_start_ = 0;  // position of the buffer's first byte
  std::uint64_t record_start_ = 0;
  std::uint64_t raw_bytes_ = 0;
  std::string problem_;   // error of the look-ahead; thrown by the first use of the bytes
  std::string raw_head_;  // the first raw bytes, which were read to recognize gzip
};

}  // namespace turnpike::govdata
